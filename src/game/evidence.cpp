#include "gym/game/evidence.hpp"

#include <algorithm>

#include "abi_codec.hpp"
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

const chain::AbiSignature& open_signature(bool late) {
    static const auto timely =
        abi::parsed_signature("open(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)");
    static const auto of_late =
        abi::parsed_signature("openLate(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)");
    return late ? of_late : timely;
}

}  // namespace

Digest unit_name(const Digest& digest, const Address& signer) {
    static const auto types = abi::parsed_signature("_(bytes32,address)");
    return hash_values(types, {digest, signer});
}

PostedEvidence posted(const Evidence& evidence) {
    PostedEvidence out;
    out.commitment = evidence.commitment;
    out.record = evidence.record;
    out.slot = protocol::proof_of(evidence.record);
    out.index = evidence.index;
    out.path = evidence.path;
    out.late = evidence.late;
    return out;
}

Facts facts_of(const protocol::UnitCommitment& commitment, const protocol::RoundTerms& record,
               const protocol::SlotAssignment* slot) {
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
    facts.steps = slot == nullptr ? 0 : slot->steps;
    facts.checkpoint_every = record.checkpoint_every;
    return facts;
}

Facts facts_of(const protocol::UnitCommitment& commitment, const protocol::UnitRecord& record) {
    return facts_of(commitment, record, record.find_slot(commitment.slot));
}

OuterFacts outer_facts_of(const protocol::UnitCommitment& commitment,
                          const protocol::RoundTerms& record, const EpochRoots& epochs) {
    OuterFacts facts;
    facts.records_root = commitment.records_root;
    facts.final_state_root = commitment.final_state_root;
    facts.momentum_after = commitment.delta_root;
    facts.round_record = commitment.round_record;
    facts.trace_root = record.trace_root;
    facts.base_root = record.base_state_root;
    facts.momentum_root = record.momentum_root;
    facts.epoch_root = epochs.own.root;
    facts.epoch_leaves = epochs.own.leaves;
    if (!epochs.previous.root.is_zero()) facts.previous_record = record.previous_record;
    facts.previous_epoch_root = epochs.previous.root;
    facts.previous_epoch_leaves = epochs.previous.leaves;
    return facts;
}

UnitFacts unit_facts_of(const protocol::UnitCommitment& commitment,
                        const protocol::UnitRecord& record, const EpochRoots& epochs) {
    if (commitment.slot == protocol::kAggregateSlot)
        return outer_facts_of(commitment, record, epochs);
    return facts_of(commitment, record);
}

UnitFacts unit_facts_of(const PostedEvidence& evidence, const EpochRoots& epochs) {
    const protocol::UnitCommitment& commitment = evidence.commitment.commitment;
    if (commitment.slot == protocol::kAggregateSlot)
        return outer_facts_of(commitment, evidence.record, epochs);
    const auto slot = protocol::read_slot(commitment.slot, evidence.slot);
    return facts_of(commitment, evidence.record, slot.ok() && *slot ? &**slot : nullptr);
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
                          const protocol::UnitRecord& record) {
    if (commitment.kind != protocol::UnitKind::kAggregate) return 0;
    if (commitment.delta_codec != record.delta_codec) return 2;
    if (commitment.steps != 1) return 3;
    if (commitment.tokens != 0) return 4;
    return has_zero_root(commitment) ? Field(6) : Field();
}

}  // namespace

Field rules::train_contradiction(const protocol::UnitCommitment& commitment,
                                 const protocol::RoundTerms& record,
                                 const protocol::SlotAssignment* slot, const Address& signer) {
    if (commitment.kind != protocol::UnitKind::kTrain) return 0;
    if (slot == nullptr || slot->worker != signer) return 1;
    if (commitment.delta_codec != record.delta_codec) return 2;
    if (commitment.steps != slot->steps) return 3;
    // The engine counts modulo 2^64.
    if (commitment.tokens != record.tokens_per_step * slot->steps) return 4;
    if (commitment.flops != record.flops_per_step * slot->steps) return 5;
    return has_zero_root(commitment) ? Field(6) : Field();
}

Result<Field> contradiction(const protocol::UnitCommitment& commitment,
                            const protocol::UnitRecord& record, const Address& signer) {
    if (commitment.slot == protocol::kAggregateSlot) return outer_contradiction(commitment, record);
    if (commitment.slot >= protocol::kSlotsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "slot " + std::to_string(commitment.slot) +
                        " is neither a worker's nor the aggregate's: its unit is not disputed");
    return rules::train_contradiction(commitment, record, record.find_slot(commitment.slot),
                                      signer);
}

Digest announcement_of(std::uint64_t chain_id, const Address& game_contract, const Address& sender,
                       const Digest& unit, const Digest& salt) {
    static const auto types = abi::parsed_signature("_(uint256,address,address,bytes32,bytes32)");
    return hash_values(types, {chain_id, game_contract, sender, unit, salt});
}

Bytes encode_open(const Evidence& evidence, const Digest& salt) {
    const PostedEvidence shown = posted(evidence);
    auto call =
        open_signature(shown.late)
            .encode_call({protocol::encode(shown.commitment), protocol::encode(shown.record),
                          abi::Type<protocol::SlotProof>::value(shown.slot),
                          std::uint64_t{shown.index},
                          abi::Type<std::vector<Digest>>::value(shown.path), salt});
    GYM_ASSERT(call.ok(), "evidence has the types of open()");
    return std::move(call).value();
}

namespace {

Result<OpenCall> open_call(const std::vector<chain::AbiValue>& values) {
    OpenCall call;
    GYM_TRY(const Bytes commitment, values.at(0).bytes());
    GYM_TRY(call.evidence.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const Bytes record, values.at(1).bytes());
    GYM_TRY(call.evidence.record, protocol::decode_round_head(record));
    GYM_CHECK(abi::Type<protocol::SlotProof>::read(values.at(2), call.evidence.slot));
    GYM_TRY(const std::uint64_t index, values.at(3).u64());
    call.evidence.index = static_cast<std::uint32_t>(index);  // the codec holds it to 32 bits
    GYM_CHECK(abi::Type<std::vector<Digest>>::read(values.at(4), call.evidence.path));
    GYM_TRY(call.salt, values.at(5).digest());
    return call;
}

}  // namespace

Result<OpenCall> read_open(ByteView calldata) {
    const bool late = abi::check_selector(open_signature(true), calldata).ok();
    GYM_CHECK(abi::check_selector(open_signature(late), calldata));
    GYM_TRY(const auto values, chain::abi_read_calldata(open_signature(late).inputs, calldata));
    GYM_TRY(OpenCall call, open_call(values));
    call.evidence.late = late;
    return call;
}

// --- conflicts ---

namespace {

/// Bytes of a signed commitment.
constexpr std::size_t kCommitmentBytes = 226;

struct Signed {
    Digest digest;
    Address signer;
};

Result<Signed> read(const crypto::Eip712Domain& domain,
                    const protocol::SignedCommitment& commitment) {
    Signed out;
    out.digest = protocol::signing_digest(domain, commitment.commitment);
    GYM_TRY(out.signer, crypto::recover_address(out.digest, commitment.signature));
    return out;
}

Error mismatch(const char* what) {
    return fail(ErrorCode::kMismatch, what);
}

Error no_conflict(const char* what) {
    return fail(ErrorCode::kConflict, std::string("there is no fault: ") + what);
}

Result<ConflictFinding> equivocation(const crypto::Eip712Domain& domain, const Conflict& conflict,
                                     const protocol::SignedCommitment& other) {
    const protocol::UnitCommitment &a = conflict.commitment.commitment, &b = other.commitment;
    if (a.round_record != b.round_record || a.slot != b.slot || a.attempt != b.attempt)
        return mismatch("the commitments are to different units");
    GYM_TRY(const Signed first, read(domain, conflict.commitment));
    GYM_TRY(const Signed second, read(domain, other));
    if (first.signer != second.signer) return mismatch("the commitments are of different signers");
    if (first.digest == second.digest) return no_conflict("the same was signed twice");
    const Digest& lower = std::min(first.digest, second.digest);
    return ConflictFinding{unit_name(lower, first.signer), first.signer, kEquivocationField};
}

Result<ConflictFinding> next_record(const crypto::Eip712Domain& domain, const Conflict& conflict,
                                    const protocol::RoundHead& next) {
    const protocol::UnitCommitment& says = conflict.commitment.commitment;
    if (says.slot != protocol::kAggregateSlot || says.kind != protocol::UnitKind::kAggregate)
        return mismatch("the commitment is not an aggregate's");
    // As the contracts count: nothing comes after round 2^64 - 1.
    const bool follows = next.job_id == conflict.record.job_id && next.round != 0 &&
                         next.round - 1 == conflict.record.round;
    if (!follows) return mismatch("the other record is not the next round's");
    if (next.previous_record == says.round_record &&
        next.base_state_root == says.final_state_root && next.momentum_root == says.delta_root)
        return no_conflict("the next round begins where the aggregate ends");
    GYM_TRY(const Signed by, read(domain, conflict.commitment));
    return ConflictFinding{unit_name(by.digest, by.signer), by.signer, kNextRecordField};
}

const chain::AbiSignature& conflict_signature() {
    static const auto signature = abi::parsed_signature("openConflict(bytes,bytes,bytes,bytes32)");
    return signature;
}

Result<ConflictCall> conflict_call(const std::vector<chain::AbiValue>& values) {
    ConflictCall call;
    GYM_TRY(const Bytes commitment, values.at(0).bytes());
    GYM_TRY(call.conflict.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const Bytes record, values.at(1).bytes());
    GYM_TRY(call.conflict.record, protocol::decode_round_head(record));
    GYM_TRY(call.conflict.other, values.at(2).bytes());
    GYM_CHECK(read_conflict_other(call.conflict.other));
    GYM_TRY(call.salt, values.at(3).digest());
    return call;
}

}  // namespace

Result<ConflictOther> read_conflict_other(ByteView other) {
    if (other.size() == kCommitmentBytes) {
        GYM_TRY(const protocol::SignedCommitment commitment, rules::read_commitment(other));
        return ConflictOther(commitment);
    }
    const auto next = protocol::decode_round_head(other);
    if (!next.ok()) return next.error().in("neither a commitment nor a round record");
    return ConflictOther(*next);
}

Result<ConflictFinding> decide_conflict(const crypto::Eip712Domain& domain,
                                        const Conflict& conflict) {
    if (conflict.commitment.commitment.round_record != protocol::hash(conflict.record))
        return mismatch("the commitment names another round record");
    GYM_TRY(const ConflictOther other, read_conflict_other(conflict.other));
    if (const auto* commitment = std::get_if<protocol::SignedCommitment>(&other))
        return equivocation(domain, conflict, *commitment);
    return next_record(domain, conflict, std::get<protocol::RoundHead>(other));
}

Bytes encode_conflict(const Conflict& conflict, const Digest& salt) {
    auto call =
        conflict_signature().encode_call({protocol::encode(conflict.commitment),
                                          protocol::encode(conflict.record), conflict.other, salt});
    GYM_ASSERT(call.ok(), "a conflict has the types of openConflict()");
    return std::move(call).value();
}

Result<ConflictCall> read_conflict(ByteView calldata) {
    GYM_CHECK(abi::check_selector(conflict_signature(), calldata));
    GYM_TRY(const auto values, chain::abi_read_calldata(conflict_signature().inputs, calldata));
    return conflict_call(values);
}

}  // namespace gym::game
