#include <algorithm>

#include "calls.hpp"
#include "gym/crypto/key.hpp"
#include "gym/game/evidence.hpp"
#include "rules_common.hpp"

namespace gym::game {
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
                                    const protocol::RoundRecordHead& next) {
    const protocol::UnitCommitment& says = conflict.commitment.commitment;
    if (says.slot != protocol::kAggregateSlot || says.kind != protocol::UnitKind::kAggregate)
        return mismatch("the commitment is not an aggregate's");
    // As the contracts count: nothing comes after round 2^64 - 1.
    const bool follows = next.job_id == conflict.record.job_id && next.round != 0 &&
                         next.round - 1 == conflict.record.round &&
                         next.previous_record == says.round_record;
    if (!follows) return mismatch("the other record is not the next round's");
    if (next.base_state_root == says.final_state_root && next.momentum_root == says.delta_root)
        return no_conflict("the next round begins where the aggregate ends");
    GYM_TRY(const Signed by, read(domain, conflict.commitment));
    return ConflictFinding{unit_name(by.digest, by.signer), by.signer, kNextRecordField};
}

const chain::AbiSignature& conflict_signature() {
    static const auto signature = parsed_signature("openConflict(bytes,bytes,bytes,bytes32)");
    return signature;
}

Result<ConflictCall> conflict_call(const std::vector<chain::AbiValue>& values) {
    ConflictCall call;
    GYM_TRY(const Bytes commitment, values.at(0).bytes());
    GYM_TRY(call.conflict.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const Bytes record, values.at(1).bytes());
    GYM_TRY(call.conflict.record, protocol::decode_round_record(record));
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
    const auto next = protocol::read_round_record_head(other);
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
    return next_record(domain, conflict, std::get<protocol::RoundRecordHead>(other));
}

Bytes encode_conflict(const Conflict& conflict, const Digest& salt) {
    auto call =
        conflict_signature().encode_call({protocol::encode(conflict.commitment),
                                          protocol::encode(conflict.record), conflict.other, salt});
    GYM_ASSERT(call.ok(), "a conflict has the types of openConflict()");
    return std::move(call).value();
}

Result<ConflictCall> decode_conflict(ByteView calldata) {
    GYM_CHECK(check_selector(conflict_signature(), calldata));
    GYM_TRY(const auto values,
            chain::abi_decode(conflict_signature().inputs, calldata.subspan(kSelectorBytes)));
    return conflict_call(values);
}

Result<ConflictCall> read_conflict(ByteView calldata) {
    GYM_CHECK(check_selector(conflict_signature(), calldata));
    GYM_TRY(const auto values, chain::abi_read_calldata(conflict_signature().inputs, calldata));
    return conflict_call(values);
}

}  // namespace gym::game
