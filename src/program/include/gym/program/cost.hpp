#pragma once

#include <cstdint>

#include "gym/program/program.hpp"

namespace gym::program {

/// Floating-point operations of one run, counted over the expansion: 2 per term of a product
/// (2*M*N*K each, recomputed and masked parts included), 1 per output element of an elementwise
/// primitive (exp, log, sigmoid, gelu, silu, sqrt and rsqrt too; fma: 2), 1 per element of an exact
/// sum; nothing for moving, quantising and scaling. Saturates at 2^64 - 1.
[[nodiscard]] std::uint64_t flops_per_step(const Program& program);

/// Elements of all param slots.
[[nodiscard]] std::uint64_t parameter_count(const Program& program);

/// Bytes of all param and state slots.
[[nodiscard]] std::uint64_t state_bytes(const Program& program);

}  // namespace gym::program
