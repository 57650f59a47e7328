#pragma once

#include <cstdint>
#include <optional>

#include "gym/engine/delta.hpp"

namespace gym::engine {

/// The norm of a delta of codec 1 by its levels: an element k * 2^e has the square k * k * 2^(2 e),
/// and rows of one scale add up as integers. The bits are those of Delta::norm_bits() by elements.
/// @return nothing where a square may be no normal f32. @pre codec 1; the caller's thread rounds to
/// nearest even (kernels::ExactFloatEnvironment).
[[nodiscard]] std::optional<std::uint32_t> dense_norm_bits(const Delta& delta);

}  // namespace gym::engine
