#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gym/common/ppm.hpp"
#include "gym/common/result.hpp"
#include "gym/quality/sketch.hpp"

namespace gym::quality {

/// The most keys that one call of a lookup asks for.
inline constexpr std::size_t kLookupKeysMax = 16'384;
/// A sample of fewer chunks than this decides nothing (see novelty()).
inline constexpr std::size_t kEstimateChunksMin = 64;

/// The registered datasets, to compare with.
struct Registered {
    /// Returns those of `keys` that are registered, in any order, possibly repeated.
    /// @param keys at most kLookupKeysMax, ascending, each once.
    std::function<Result<std::vector<std::uint64_t>>(std::span<const std::uint64_t> keys)> known;
    std::uint32_t level_max = 0;  ///< the highest DatasetSketch::level of a registered dataset
};

struct Novelty {
    std::uint64_t tokens = 0;
    /// Tokens in sampled chunks that are like no chunk before them. Exact counts for a dataset
    /// whose level is 0.
    std::uint64_t novel_tokens = 0;
    std::uint32_t ppm = 0;  ///< floor(10^6 * estimated novel tokens / tokens)
};

/// The share of a dataset that was not there before. A chunk is a near-duplicate if it has a band
/// key of a registered chunk or of an earlier chunk of the same dataset; edges are compared with
/// nothing and count as not novel, because whoever splits a dataset makes edges.
///
/// So splitting a dataset of level 0 never makes more tokens novel in sum where chunks are alike
/// only if they are equal: every chunk of the parts is a chunk of the whole, and only chunks at the
/// cut are lost. In ppm the sum may exceed the whole's by the rounding, less than 1 ppm of the
/// tokens. Where chunks are merely similar, a cut can gain: the chunk that it destroys may be all
/// that made later ones duplicates, which may be longer, or several that are not like each other.
/// Each cut costs its edges, so that splitting loses on average; leaving the chunk out would gain
/// the same without.
///
/// Samples of different levels meet only in chunks of the higher one: of 8 chunks copied from a
/// dataset of level 3, seven are not registered. Therefore the share is estimated for every level
/// from the dataset's own to `level_max` that has at least kEstimateChunksMin sampled chunks, and
/// the least counts.
/// @return 0 ppm for no tokens. @errors those of the lookup. @determinism bitwise, whatever the
/// order of the lookup's answers.
[[nodiscard]] Result<Novelty> novelty(const DatasetSketch& sketch, const Registered& registered);

}  // namespace gym::quality
