#pragma once

#include <span>
#include <vector>

#include "gym/codec/residual.hpp"
#include "gym/codec/tensor_grid.hpp"
#include "gym/common/bytes.hpp"

/// The definition of codec 2 once more, element by element and slow, as a dispute would decide it:
/// each function computes one byte of a code or one level of a residual from one block of y and
/// scalars. Tests compare encode() with it.
namespace gym::codec::reference {

/// y of one element: fixed_point(x) + the incoming residual's level * 2^scale.
[[nodiscard]] std::int32_t fine_value(float x, std::int32_t grid, std::int32_t level,
                                      std::int32_t scale);

/// The number of elements of the block that come before element i.
[[nodiscard]] std::uint32_t rank(std::span<const std::int32_t> y, std::uint32_t i);

/// The indices that the block's code sends, ascending.
[[nodiscard]] std::vector<std::uint32_t> sparse_indices(std::span<const std::int32_t> y);
/// Byte `byte` (0 .. 24) of the sparse code of a block of y (1 .. 1,024).
/// @param indices sparse_indices(y).
[[nodiscard]] std::uint8_t sparse_byte(std::span<const std::int32_t> y,
                                       std::span<const std::uint32_t> indices, std::uint32_t byte);

/// The integer that element i of the block decodes to, in grid units.
[[nodiscard]] std::int32_t sparse_value(std::span<const std::int32_t> y, std::uint32_t i);

/// Scale and level i of the residual of a block of what is left (y - weight * d).
[[nodiscard]] std::uint8_t residual_scale(std::span<const std::int32_t> left);
[[nodiscard]] std::int8_t residual_level(std::span<const std::int32_t> left, std::uint32_t i);

}  // namespace gym::codec::reference
