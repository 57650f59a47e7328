#include "gym/protocol/prefix.hpp"

#include <array>
#include <string>

#include "gym/commit/codec.hpp"

namespace gym::protocol {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::string_view kType =
    "UnitPrefix(bytes32 roundRecord,uint32 slot,uint32 attempt,uint32 steps,bytes32 link)";

constexpr std::array<std::string_view, kPrefixStateCount> kNames = {
    "kept", "drawn", "reported", "verified", "refuted", "unpaid"};

}  // namespace

Digest signing_digest(const crypto::Eip712Domain& domain, const UnitPrefix& prefix) {
    crypto::StructHasher hasher(kType);
    hasher.bytes32(prefix.round_record)
        .uint(prefix.slot)
        .uint(prefix.attempt)
        .uint(prefix.steps)
        .bytes32(prefix.link);
    return crypto::typed_data_digest(domain, hasher.finish());
}

SignedPrefix sign(const crypto::Eip712Domain& domain, const UnitPrefix& prefix,
                  const crypto::PrivateKey& key) {
    return {prefix, key.sign_digest(signing_digest(domain, prefix))};
}

Status verify_signature(const crypto::Eip712Domain& domain, const SignedPrefix& prefix,
                        const Address& signer) {
    return crypto::verify_signature(signing_digest(domain, prefix.prefix), prefix.signature,
                                    signer);
}

Bytes encode(const SignedPrefix& signed_prefix) {
    const UnitPrefix& prefix = signed_prefix.prefix;
    commit::Encoder out;
    out.u16(kFormat).fixed(prefix.round_record).u32(prefix.slot).u32(prefix.attempt);
    out.u32(prefix.steps).fixed(prefix.link).fixed(signed_prefix.signature);
    return out.take();
}

Result<SignedPrefix> decode_signed_prefix(ByteView bytes) {
    commit::Decoder in(bytes);
    SignedPrefix out;
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "prefix: unknown format " + std::to_string(format));
    GYM_TRY(out.prefix.round_record, in.digest());
    GYM_TRY(out.prefix.slot, in.u32());
    GYM_TRY(out.prefix.attempt, in.u32());
    GYM_TRY(out.prefix.steps, in.u32());
    GYM_TRY(out.prefix.link, in.digest());
    GYM_TRY(out.signature, in.fixed<crypto::Signature>());
    GYM_CHECK(in.expect_end());
    return out;
}

Status check_against_round(const UnitPrefix& prefix, const RoundRecord& record,
                           const Digest& record_hash, std::uint32_t attempt) {
    if (prefix.round_record != record_hash)
        return fail(ErrorCode::kConflict, "prefix: it names round record " +
                                              prefix.round_record.hex() + ", this round's is " +
                                              record_hash.hex());
    const SlotAssignment* const slot = record.find_slot(prefix.slot);
    if (slot == nullptr)
        return fail(ErrorCode::kNotFound,
                    "prefix: the round has no slot " + std::to_string(prefix.slot));
    if (prefix.attempt != attempt)
        return fail(ErrorCode::kMismatch, "prefix: attempt is " + std::to_string(prefix.attempt) +
                                              ", the round fixes " + std::to_string(attempt));
    if (prefix.steps == 0 || prefix.steps > slot->steps)
        return fail(ErrorCode::kOutOfRange, "prefix: " + std::to_string(prefix.steps) +
                                                " steps, the unit has 1 to " +
                                                std::to_string(slot->steps));
    if (prefix.link.is_zero()) return fail(ErrorCode::kMismatch, "prefix: its link is zero");
    return {};
}

std::string_view to_string(PrefixState state) noexcept {
    return kNames[static_cast<std::size_t>(state)];
}

Result<PrefixState> parse_prefix_state(std::string_view name) {
    for (std::size_t i = 0; i < kPrefixStateCount; ++i)
        if (kNames[i] == name) return static_cast<PrefixState>(i);
    return fail(ErrorCode::kMalformed, "no prefix state is called '" + std::string(name) + "'");
}

bool is_terminal(PrefixState state) noexcept {
    return state >= PrefixState::kVerified;
}

}  // namespace gym::protocol
