#include "gym/game/evidence.hpp"

#include <algorithm>

#include "gym/chain/abi.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/crypto/key.hpp"

namespace gym::game {
namespace {

constexpr std::size_t kSelectorBytes = 4;

chain::AbiSignature parsed(const char* text) {
    auto signature = chain::AbiSignature::parse(text);
    GYM_ASSERT(signature.ok(), "a signature");
    return std::move(signature).value();
}

/// keccak256(abi.encode(values)).
Digest hash_values(const chain::AbiSignature& types, const std::vector<chain::AbiValue>& values) {
    const auto encoded = chain::abi_encode(types.inputs, values);
    GYM_ASSERT(encoded.ok(), "values of these types");
    return crypto::keccak256(*encoded);
}

const chain::AbiSignature& open_signature() {
    static const auto signature = parsed("open(bytes,bytes,uint32,bytes32[],bytes32)");
    return signature;
}

}  // namespace

Facts facts_of(const protocol::UnitCommitment& commitment, const protocol::RoundRecord& record) {
    Facts facts;
    facts.records_root = commitment.records_root;
    facts.final_state_root = commitment.final_state_root;
    facts.delta_root = commitment.delta_root;
    facts.job_seed = record.job_seed;
    facts.trace_root = record.trace_root;
    facts.initial_state_root = record.initial_state_root;
    facts.dataset_root = record.dataset_root;
    facts.round = record.round;
    facts.slot = commitment.slot;
    facts.steps = record.steps;
    facts.checkpoint_every = record.checkpoint_every;
    return facts;
}

Result<Digest> unit_of(const crypto::Eip712Domain& domain,
                       const protocol::SignedCommitment& commitment) {
    const Digest digest = protocol::signing_digest(domain, commitment.commitment);
    GYM_TRY(const Address signer, crypto::recover_address(digest, commitment.signature));
    static const auto types = parsed("_(bytes32,address)");
    return hash_values(types, {digest, signer});
}

Cursor start_of(const Digest& unit, const Facts& facts) {
    Cursor cursor;
    cursor.node = unit;
    cursor.frame = hash_of(facts);
    return cursor;
}

Result<std::optional<std::uint8_t>> contradiction(const protocol::UnitCommitment& commitment,
                                                  const protocol::RoundRecord& record,
                                                  const Address& signer) {
    using Field = std::optional<std::uint8_t>;
    if (commitment.slot >= protocol::kSlotsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "slot " + std::to_string(commitment.slot) +
                        " is no worker's: units of the coordinator are not disputed");
    if (commitment.kind != protocol::UnitKind::kTrain) return Field(0);
    const protocol::SlotAssignment* slot = record.find_slot(commitment.slot);
    if (slot == nullptr || slot->worker != signer) return Field(1);
    if (commitment.delta_codec != record.delta_codec) return Field(2);
    if (commitment.steps != record.steps) return Field(3);
    // The engine counts modulo 2^64.
    if (commitment.tokens != record.tokens_per_step * record.steps) return Field(4);
    if (commitment.flops != record.flops_per_step * record.steps) return Field(5);
    const bool zero = commitment.records_root.is_zero() || commitment.final_state_root.is_zero() ||
                      commitment.delta_root.is_zero();
    return zero ? Field(6) : Field();
}

Digest announcement_of(std::uint64_t chain_id, const Address& game_contract, const Address& sender,
                       const Digest& unit, const Digest& salt) {
    static const auto types = parsed("_(uint256,address,address,bytes32,bytes32)");
    return hash_values(types, {chain_id, game_contract, sender, unit, salt});
}

Bytes encode_open(const Evidence& evidence, const Digest& salt) {
    auto call = open_signature().encode_call(
        {protocol::encode(evidence.commitment), protocol::encode(evidence.record),
         std::uint64_t{evidence.index}, chain::AbiValue::array(evidence.path), salt});
    GYM_ASSERT(call.ok(), "evidence has the types of open()");
    return std::move(call).value();
}

namespace {

Status check_selector(ByteView calldata) {
    const auto selector = open_signature().selector();
    if (calldata.size() >= kSelectorBytes &&
        std::equal(selector.begin(), selector.end(), calldata.begin()))
        return {};
    return fail(ErrorCode::kNotFound, "the call opens no dispute");
}

Result<OpenCall> open_call(const std::vector<chain::AbiValue>& values) {
    OpenCall call;
    GYM_TRY(const Bytes commitment, values.at(0).bytes());
    GYM_TRY(call.evidence.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const Bytes record, values.at(1).bytes());
    GYM_TRY(call.evidence.record, protocol::decode_round_record(record));
    GYM_TRY(const std::uint64_t index, values.at(2).u64());
    call.evidence.index = static_cast<std::uint32_t>(index);  // the codec holds it to 32 bits
    GYM_TRY(const auto path, values.at(3).list());
    for (const chain::AbiValue& sibling : path) {
        GYM_TRY(const Digest digest, sibling.digest());
        call.evidence.path.push_back(digest);
    }
    GYM_TRY(call.salt, values.at(4).digest());
    return call;
}

}  // namespace

Result<OpenCall> decode_open(ByteView calldata) {
    GYM_CHECK(check_selector(calldata));
    GYM_TRY(const auto values,
            chain::abi_decode(open_signature().inputs, calldata.subspan(kSelectorBytes)));
    return open_call(values);
}

Result<OpenCall> read_open(ByteView calldata) {
    GYM_CHECK(check_selector(calldata));
    GYM_TRY(const auto values, chain::abi_read_calldata(open_signature().inputs, calldata));
    return open_call(values);
}

}  // namespace gym::game
