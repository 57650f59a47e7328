#pragma once

#include <cstdint>
#include <vector>

#include "gym/kernels/delta_code.h"

namespace gym::codec {

/// The bound of a tensor that is not clipped: that of a job's first round.
inline constexpr std::uint64_t kNoBound = ~std::uint64_t{0};

/// The bound of the next round: the lower median of the squared norms of one tensor's deltas in
/// this round, before clipping (of clipped norms, it could never grow again). An order statistic,
/// so a proof of two counts shows it. No norms: kNoBound.
[[nodiscard]] std::uint64_t next_bound(std::vector<std::uint64_t> squared_norms);

/// A delta counts w / 256 of what it decodes to: kernels::clip_weight().
using kernels::clip_weight;

}  // namespace gym::codec
