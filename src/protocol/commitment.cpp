#include "gym/protocol/commitment.hpp"

#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/protocol/unit_record.hpp"

namespace gym::protocol {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::string_view kType =
    "UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,"
    "bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,"
    "uint64 flops)";

Error wrong_field(std::string_view field, std::uint64_t given, std::uint64_t expected) {
    return fail(ErrorCode::kMismatch, "commitment: " + std::string(field) + " is " +
                                          std::to_string(given) + ", the round fixes " +
                                          std::to_string(expected));
}

Status check_counted_fields(const UnitCommitment& commitment, const RoundTerms& record,
                            std::uint32_t steps) {
    if (commitment.delta_codec != record.delta_codec)
        return wrong_field("delta codec", commitment.delta_codec, record.delta_codec);
    if (commitment.steps != steps) return wrong_field("steps", commitment.steps, steps);
    const std::uint64_t tokens = record.tokens_per_step * steps;
    if (commitment.tokens != tokens) return wrong_field("tokens", commitment.tokens, tokens);
    const std::uint64_t flops = record.flops_per_step * steps;
    if (commitment.flops != flops) return wrong_field("flops", commitment.flops, flops);
    return {};
}

Status check_roots(const UnitCommitment& commitment) {
    if (commitment.records_root.is_zero() || commitment.final_state_root.is_zero() ||
        commitment.delta_root.is_zero())
        return fail(ErrorCode::kMismatch, "commitment: a root is zero");
    return {};
}

}  // namespace

crypto::Eip712Domain signing_domain(std::uint64_t chain_id, const Address& commitment_log) {
    return {"Gym", "1", chain_id, commitment_log};
}

UnitRoots roots_of(const UnitCommitment& commitment) {
    return {commitment.records_root, commitment.final_state_root, commitment.delta_root};
}

Difference compare(const UnitRoots& claimed, const UnitRoots& computed) {
    if (claimed.records != computed.records) return Difference::kRecords;
    if (claimed.final_state != computed.final_state) return Difference::kFinalState;
    if (claimed.delta != computed.delta) return Difference::kDelta;
    return Difference::kNone;
}

Digest signing_digest(const crypto::Eip712Domain& domain, const UnitCommitment& commitment) {
    crypto::StructHasher hasher(kType);
    hasher.uint(static_cast<std::uint8_t>(commitment.kind))
        .bytes32(commitment.round_record)
        .uint(commitment.slot)
        .uint(commitment.attempt)
        .bytes32(commitment.records_root)
        .bytes32(commitment.final_state_root)
        .uint(commitment.delta_codec)
        .bytes32(commitment.delta_root)
        .uint(commitment.steps)
        .uint(commitment.tokens)
        .uint(commitment.flops);
    return crypto::typed_data_digest(domain, hasher.finish());
}

SignedCommitment sign(const crypto::Eip712Domain& domain, const UnitCommitment& commitment,
                      const crypto::PrivateKey& key) {
    return {commitment, key.sign_digest(signing_digest(domain, commitment))};
}

Status verify_signature(const crypto::Eip712Domain& domain, const SignedCommitment& commitment,
                        const Address& worker) {
    return crypto::verify_signature(signing_digest(domain, commitment.commitment),
                                    commitment.signature, worker);
}

Bytes encode(const SignedCommitment& signed_commitment) {
    const UnitCommitment& commitment = signed_commitment.commitment;
    commit::Encoder out;
    out.u16(kFormat).u8(static_cast<std::uint8_t>(commitment.kind));
    out.fixed(commitment.round_record).u32(commitment.slot).u32(commitment.attempt);
    out.fixed(commitment.records_root).fixed(commitment.final_state_root);
    out.u16(commitment.delta_codec).fixed(commitment.delta_root);
    out.u32(commitment.steps).u64(commitment.tokens).u64(commitment.flops);
    out.fixed(signed_commitment.signature);
    return out.take();
}

Result<SignedCommitment> decode_signed_commitment(ByteView bytes) {
    commit::Decoder in(bytes);
    SignedCommitment out;
    UnitCommitment& commitment = out.commitment;
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "commitment: unknown format " + std::to_string(format));
    GYM_TRY(const std::uint8_t kind, in.u8());
    GYM_TRY(commitment.kind, unit_kind_from_number(kind));
    GYM_TRY(commitment.round_record, in.digest());
    GYM_TRY(commitment.slot, in.u32());
    GYM_TRY(commitment.attempt, in.u32());
    GYM_TRY(commitment.records_root, in.digest());
    GYM_TRY(commitment.final_state_root, in.digest());
    GYM_TRY(commitment.delta_codec, in.u16());
    GYM_TRY(commitment.delta_root, in.digest());
    GYM_TRY(commitment.steps, in.u32());
    GYM_TRY(commitment.tokens, in.u64());
    GYM_TRY(commitment.flops, in.u64());
    GYM_TRY(out.signature, in.fixed<crypto::Signature>());
    GYM_CHECK(in.expect_end());
    return out;
}

Digest commitment_leaf(const SignedCommitment& commitment) {
    commit::Hasher hasher;
    return hasher.update(as_bytes("gym.commitment.v1")).update(encode(commitment)).finish();
}

namespace {

/// @param slot the terms of the commitment's slot; nullptr: the round has no such slot.
Status check_against_terms(const UnitCommitment& commitment, const RoundTerms& record,
                           const SlotAssignment* slot, const Digest& record_hash,
                           const Address& worker, std::uint32_t attempt) {
    if (commitment.kind != UnitKind::kTrain)
        return fail(ErrorCode::kPermissionDenied,
                    "commitment: workers commit to train units, not to " +
                        std::string(to_string(commitment.kind)) + " units");
    if (commitment.round_record != record_hash)
        return fail(ErrorCode::kConflict, "commitment: it names round record " +
                                              commitment.round_record.hex() + ", this round's is " +
                                              record_hash.hex());
    if (slot == nullptr)
        return fail(ErrorCode::kNotFound,
                    "commitment: the round has no slot " + std::to_string(commitment.slot));
    if (slot->worker != worker)
        return fail(ErrorCode::kPermissionDenied,
                    "commitment: slot " + std::to_string(commitment.slot) + " belongs to " +
                        slot->worker.hex() + ", not to " + worker.hex());
    if (commitment.attempt != attempt) return wrong_field("attempt", commitment.attempt, attempt);
    GYM_CHECK(check_counted_fields(commitment, record, slot->steps));
    return check_roots(commitment);
}

}  // namespace

Status check_against_round(const UnitCommitment& commitment, const RoundRecord& record,
                           const Digest& record_hash, const Address& worker,
                           std::uint32_t attempt) {
    return check_against_terms(commitment, record, record.find_slot(commitment.slot), record_hash,
                               worker, attempt);
}

Status check_against_round(const UnitCommitment& commitment, const UnitRecord& record,
                           const Address& worker, std::uint32_t attempt) {
    return check_against_terms(commitment, record, record.find_slot(commitment.slot), hash(record),
                               worker, attempt);
}

bool is_equivocation(const UnitCommitment& first, const UnitCommitment& second) {
    return first.round_record == second.round_record && first.slot == second.slot &&
           first.attempt == second.attempt && first != second;
}

}  // namespace gym::protocol
