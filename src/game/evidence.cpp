#include "gym/game/evidence.hpp"

#include <algorithm>

#include "calls.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/crypto/key.hpp"
#include "rules_common.hpp"

namespace gym::game {
namespace {

/// keccak256(abi.encode(values)).
Digest hash_values(const chain::AbiSignature& types, const std::vector<chain::AbiValue>& values) {
    const auto encoded = chain::abi_encode(types.inputs, values);
    GYM_ASSERT(encoded.ok(), "values of these types");
    return crypto::keccak256(*encoded);
}

const chain::AbiSignature& open_signature() {
    static const auto signature = parsed_signature("open(bytes,bytes,uint32,bytes32[],bytes32)");
    return signature;
}

}  // namespace

chain::AbiSignature parsed_signature(const char* text) {
    auto signature = chain::AbiSignature::parse(text);
    GYM_ASSERT(signature.ok(), "a signature");
    return std::move(signature).value();
}

Status check_selector(const chain::AbiSignature& signature, ByteView calldata) {
    const auto selector = signature.selector();
    if (calldata.size() >= kSelectorBytes &&
        std::equal(selector.begin(), selector.end(), calldata.begin()))
        return {};
    return fail(ErrorCode::kNotFound, "the call is not " + signature.name + "()");
}

Digest unit_name(const Digest& digest, const Address& signer) {
    static const auto types = parsed_signature("_(bytes32,address)");
    return hash_values(types, {digest, signer});
}

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

OuterFacts outer_facts_of(const protocol::UnitCommitment& commitment,
                          const protocol::RoundRecord& record, const EpochRoot& epoch) {
    OuterFacts facts;
    facts.records_root = commitment.records_root;
    facts.final_state_root = commitment.final_state_root;
    facts.momentum_after = commitment.delta_root;
    facts.round_record = commitment.round_record;
    facts.trace_root = record.trace_root;
    facts.base_root = record.base_state_root;
    facts.momentum_root = record.momentum_root;
    facts.epoch_root = epoch.root;
    facts.epoch_leaves = epoch.leaves;
    return facts;
}

UnitFacts unit_facts_of(const protocol::UnitCommitment& commitment,
                        const protocol::RoundRecord& record, const EpochRoot& epoch) {
    if (commitment.slot == protocol::kAggregateSlot)
        return outer_facts_of(commitment, record, epoch);
    return facts_of(commitment, record);
}

Result<Digest> unit_of(const crypto::Eip712Domain& domain,
                       const protocol::SignedCommitment& commitment) {
    const Digest digest = protocol::signing_digest(domain, commitment.commitment);
    GYM_TRY(const Address signer, crypto::recover_address(digest, commitment.signature));
    return unit_name(digest, signer);
}

Cursor start_of(const Digest& unit, const UnitFacts& facts) {
    Cursor cursor;
    cursor.node = unit;
    cursor.frame = hash_of(facts);
    return cursor;
}

namespace {

using Field = std::optional<std::uint8_t>;

bool has_zero_root(const protocol::UnitCommitment& commitment) {
    return commitment.records_root.is_zero() || commitment.final_state_root.is_zero() ||
           commitment.delta_root.is_zero();
}

/// Whoever signs an aggregate stands for it, and the round record does not count its FLOPs.
Field outer_contradiction(const protocol::UnitCommitment& commitment,
                          const protocol::RoundRecord& record) {
    if (commitment.kind != protocol::UnitKind::kAggregate) return 0;
    if (commitment.delta_codec != record.delta_codec) return 2;
    if (commitment.steps != 1) return 3;
    if (commitment.tokens != 0) return 4;
    return has_zero_root(commitment) ? Field(6) : Field();
}

}  // namespace

Field rules::train_contradiction(const protocol::UnitCommitment& commitment,
                                 const protocol::RoundRecord& record, const Address& signer) {
    if (commitment.kind != protocol::UnitKind::kTrain) return 0;
    const protocol::SlotAssignment* slot = record.find_slot(commitment.slot);
    if (slot == nullptr || slot->worker != signer) return 1;
    if (commitment.delta_codec != record.delta_codec) return 2;
    if (commitment.steps != record.steps) return 3;
    // The engine counts modulo 2^64.
    if (commitment.tokens != record.tokens_per_step * record.steps) return 4;
    if (commitment.flops != record.flops_per_step * record.steps) return 5;
    return has_zero_root(commitment) ? Field(6) : Field();
}

Result<Field> contradiction(const protocol::UnitCommitment& commitment,
                            const protocol::RoundRecord& record, const Address& signer) {
    if (commitment.slot == protocol::kAggregateSlot) return outer_contradiction(commitment, record);
    if (commitment.slot >= protocol::kSlotsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "slot " + std::to_string(commitment.slot) +
                        " is neither a worker's nor the aggregate's: its unit is not disputed");
    return rules::train_contradiction(commitment, record, signer);
}

Digest announcement_of(std::uint64_t chain_id, const Address& game_contract, const Address& sender,
                       const Digest& unit, const Digest& salt) {
    static const auto types = parsed_signature("_(uint256,address,address,bytes32,bytes32)");
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
    GYM_CHECK(check_selector(open_signature(), calldata));
    GYM_TRY(const auto values,
            chain::abi_decode(open_signature().inputs, calldata.subspan(kSelectorBytes)));
    return open_call(values);
}

Result<OpenCall> read_open(ByteView calldata) {
    GYM_CHECK(check_selector(open_signature(), calldata));
    GYM_TRY(const auto values, chain::abi_read_calldata(open_signature().inputs, calldata));
    return open_call(values);
}

}  // namespace gym::game
