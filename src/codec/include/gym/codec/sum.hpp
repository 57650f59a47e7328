#pragma once

#include <cstdint>

#include "gym/kernels/delta_code.h"

namespace gym::codec {

/// How often a delta counts in a sum: a late one half. An aggregate's sum of a tensor is
/// sum over deltas of share * clip weight * d, in units of 2^(g-9): SparseCode::add_to() with
/// this weight. Adding is associative and exact; a delta that is proven
/// faulty later is taken out with the negative weight.
enum class Share : std::int64_t { kLate = 1, kFull = 2 };

[[nodiscard]] constexpr std::int64_t sum_weight(Share share, std::int32_t clip_weight) {
    return static_cast<std::int64_t>(share) * clip_weight;
}

/// kernels::delta_mean(): the mean over the round's shares as an f32.
using kernels::delta_mean;

}  // namespace gym::codec
