#pragma once

#include <cstdint>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/round_record.hpp"

/// Prefixes of train units: what the first steps of a unit give, so that a unit that ends without a
/// commitment is paid for them (docs/PROTOCOL.md, "Prefixes"; docs/adr/0022-prefixes.md).
namespace gym::protocol {

/// A statement about the first `steps` steps of a train unit. The EIP-712 struct is
/// `UnitPrefix(bytes32 roundRecord,uint32 slot,uint32 attempt,uint32 steps,bytes32 link)`. Its
/// worker signs it, and the verifier that runs those steps again signs what it computed: the same
/// statement, if both ran the unit.
struct UnitPrefix {
    Digest round_record;  ///< hash(RoundRecord)
    std::uint32_t slot = 0;
    std::uint32_t attempt = 0;
    std::uint32_t steps = 0;  ///< done: 1 to those of the slot
    /// The link of the record chain after the last of them: it commits to the records of all
    /// `steps` steps, and is leaf `steps` - 1 of the unit's records root.
    Digest link;

    friend bool operator==(const UnitPrefix&, const UnitPrefix&) = default;
};

struct SignedPrefix {
    UnitPrefix prefix;
    crypto::Signature signature;

    friend bool operator==(const SignedPrefix&, const SignedPrefix&) = default;
};

/// The signed digest (EIP-712), in the domain of commitments (signing_domain()).
[[nodiscard]] Digest signing_digest(const crypto::Eip712Domain& domain, const UnitPrefix& prefix);
[[nodiscard]] SignedPrefix sign(const crypto::Eip712Domain& domain, const UnitPrefix& prefix,
                                const crypto::PrivateKey& key);
/// @errors kUnauthenticated unless `signer` signed it.
Status verify_signature(const crypto::Eip712Domain& domain, const SignedPrefix& prefix,
                        const Address& signer);

/// Canonical bytes of a signed prefix: format 1 u16 | round record | slot u32 | attempt u32 | steps
/// u32 | link | signature.
[[nodiscard]] Bytes encode(const SignedPrefix& prefix);
/// @errors kMalformed.
[[nodiscard]] Result<SignedPrefix> decode_signed_prefix(ByteView bytes);

/// Whether the prefix is of a slot of this round: round record hash, attempt, 1 to all steps of the
/// slot, a link that is not zero. The signature is not checked.
/// @errors kConflict for another round record, kNotFound for a slot outside the round, kMismatch
/// for another attempt or a link of zero, kOutOfRange for its steps.
Status check_against_round(const UnitPrefix& prefix, const RoundRecord& record,
                           const Digest& record_hash, std::uint32_t attempt);

/// The state of a unit's newest prefix.
enum class PrefixState : std::uint8_t {
    kKept,      ///< its unit is not expired, or its beacon is not known yet
    kDrawn,     ///< a verifier runs it, or one is awaited
    kReported,  ///< the verifier reported, and the coordinator looks itself
    kVerified,  ///< terminal: re-execution gave the same link; the worker is paid for its steps
    kRefuted,   ///< terminal: the coordinator found another link; the worker is excluded
    kUnpaid,    ///< terminal: no verifier reported, or there is nothing that it could be paid by
};
inline constexpr std::size_t kPrefixStateCount = 6;
/// The stable lower-case name ("kept").
[[nodiscard]] std::string_view to_string(PrefixState state) noexcept;
/// @errors kMalformed for another name.
[[nodiscard]] Result<PrefixState> parse_prefix_state(std::string_view name);
[[nodiscard]] bool is_terminal(PrefixState state) noexcept;

/// So many prefixes of a worker in one job are paid from one commitment of it to the next: one that
/// never commits, and so never uploads and has nothing at stake, is not paid for long.
inline constexpr std::uint32_t kPrefixesInRowMax = 3;
/// A worker sends prefixes of one unit no more often than this.
inline constexpr std::int64_t kPrefixEveryMsMin = 1'000;

}  // namespace gym::protocol
