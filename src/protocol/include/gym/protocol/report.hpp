#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/commitment.hpp"

namespace gym::protocol {

/// Chunks of one step's trace that a report hashes. Their positions come from the verifier's own
/// deterministic signature on the beacon: a verifier that copies records cannot know them.
inline constexpr std::size_t kTracePositions = 64;

struct TraceChallenge {
    std::uint32_t step = 0;                                ///< trace_step()
    std::array<std::uint64_t, kTracePositions> positions;  ///< each below chunk_count
};

/// Message that a verifier signs to learn its positions: EIP-712 `TraceChallenge(bytes32
/// beacon,bytes32 unit)`.
[[nodiscard]] Digest trace_challenge_digest(const crypto::Eip712Domain& domain,
                                            const Digest& beacon, const Digest& unit);
/// `steps` and `chunk_count` are at least 1. Positions may repeat.
[[nodiscard]] TraceChallenge trace_challenge(const crypto::Signature& signature,
                                             std::uint32_t steps, std::uint64_t chunk_count);
/// The step whose trace a report hashes: the last one. After any other a verifier could stop, and
/// copy the rest of its report from the commitment; no audit of an honest unit would ever show it.
[[nodiscard]] std::uint32_t trace_step(std::uint32_t steps);
/// SHA-256 over a domain tag and the leaves at the challenge's positions, in their order.
[[nodiscard]] Digest trace_digest(std::span<const Digest> leaves_at_positions);
/// trace_digest() of the leaves at the signature's positions; of none where there are no leaves.
[[nodiscard]] Digest trace_at(const crypto::Signature& signature, std::uint32_t steps,
                              std::span<const Digest> leaves);

/// A verifier's results for a unit; hidden behind report_digest() until they are revealed.
struct Report {
    Digest unit;
    std::uint32_t draw = 0;
    Address verifier;
    Digest records_root;      ///< recomputed
    Digest final_state_root;  ///< recomputed
    Digest delta_root;        ///< recomputed
    Digest trace;             ///< trace_digest()
    crypto::Signature challenge_signature;
    Digest salt;  ///< random, so that the commitment cannot be searched

    friend bool operator==(const Report&, const Report&) = default;
};

[[nodiscard]] UnitRoots roots_of(const Report& report);

/// The commit half of commit-reveal: SHA-256 over a domain tag, the beacon and every field.
[[nodiscard]] Digest report_digest(const Digest& beacon, const Report& report);

/// @errors kMismatch if the report does not open `committed`, kUnauthenticated if the positions are
/// not the verifier's own.
Status check_reveal(const crypto::Eip712Domain& domain, const Digest& beacon,
                    const Digest& committed, const Report& report);

}  // namespace gym::protocol
