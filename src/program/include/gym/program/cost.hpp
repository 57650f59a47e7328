#pragma once

#include <cstdint>

#include "gym/common/result.hpp"
#include "gym/program/delta_groups.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

/// Floating-point operations of one run, counted over the expansion: 2 per term of a product
/// (2*M*N*K each, recomputed and masked parts included), 1 per output element of an elementwise
/// primitive (exp, log, sigmoid, gelu, silu, sqrt and rsqrt too; fma: 2), 1 per element of an exact
/// sum; nothing for moving, quantising and scaling. Saturates at 2^64 - 1.
[[nodiscard]] std::uint64_t flops_per_step(const Program& program);

/// Of an evaluation of at most so many windows: whole batches, and one at least.
/// @param train may be the evaluation program as well. @errors as evaluation_program().
[[nodiscard]] Result<std::uint64_t> evaluation_flops(const Program& train, std::uint32_t windows);

/// Of the coordinator's own units of a round.
struct OwnFlops {
    std::uint64_t aggregate = 0, evaluation = 0;
    [[nodiscard]] std::uint64_t sum() const;  ///< saturates
};
/// @param deltas, groups of the aggregate. @param windows of the evaluation, at most.
/// @errors as aggregate_program() and above.
[[nodiscard]] Result<OwnFlops> own_flops(const Program& train, std::uint32_t deltas,
                                         const DeltaGroups& groups, std::uint32_t windows);

/// Elements of all param slots.
[[nodiscard]] std::uint64_t parameter_count(const Program& program);

/// Bytes of all param and state slots.
[[nodiscard]] std::uint64_t state_bytes(const Program& program);

}  // namespace gym::program
