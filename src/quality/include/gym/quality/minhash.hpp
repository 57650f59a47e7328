#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// MinHash (Broder, "On the resemblance and containment of documents", 1997) and its bands
/// (locality-sensitive hashing: Indyk, Motwani 1998): two chunks share a band key with a
/// probability that depends on J alone, the Jaccard similarity of their shingle sets.
///
/// With 16 bands of 8 rows that is 1 - (1 - J^8)^16, a step near (1/16)^(1/8) = 0.707:
///
///     J      0.3     0.5     0.6     0.7     0.8     0.857   0.9
///     hit    0.1 %   6 %     24 %    61 %    95 %    99.6 %  99.99 %
///
/// J = 0.857 is a copy with 1 % of its tokens changed, 0.74 one with 2 % (0.98^8 = 0.85 of the
/// shingles survive: s / (2 - s) of the union). Fewer rows would also find passages that merely
/// speak of the same thing; more rows would let a copy pass with one change in 200 tokens. Chunks
/// of unrelated English have J = 0.002 on average and below 0.02 in 99 of 100 pairs, one byte a
/// token; J = 0.02 is hit with a probability of 4e-13, J = 0.1 with 2e-7. So false hits do not come
/// from chance but from what all documents of a kind repeat.
///
/// Exact 64-bit integers; the seeds are SHA-256 of a name and a number: every machine has the same.
namespace gym::quality {

inline constexpr std::size_t kPermutations = 128;
inline constexpr std::size_t kBands = 16;
inline constexpr std::size_t kRows = 8;
static_assert(kBands * kRows == kPermutations);

using Signature = std::array<std::uint64_t, kPermutations>;
/// One per band: the first 8 bytes of SHA-256("gym.quality.band.v1" | band u8 | rows u64), so that
/// rows of different bands never meet. Keys of unlike chunks are equal with probability 2^-64.
using BandKeys = std::array<std::uint64_t, kBands>;

/// The least of every permutation over the set of `shingles`; order and repetition do not matter.
/// @param shingles at least one hash (Chunker). Permutations are x -> a x + b mod 2^64, a odd.
[[nodiscard]] Signature minhash(std::span<const std::uint64_t> shingles);

[[nodiscard]] BandKeys band_keys(const Signature& signature);

/// A number that similar chunks share with probability J: the sample must not depend on a
/// detail, or a copy's sample would miss the original's. Each further level has half of the chunks.
/// @return leading zero bits of a hash of one more permutation's least value, at most 64.
[[nodiscard]] std::uint32_t sample_level(std::span<const std::uint64_t> shingles);

}  // namespace gym::quality
