#pragma once

#include <cstdint>

#include "gym/common/result.hpp"
#include "gym/kernels/delta_code.h"

/// Compressed deltas. Codec 1 (docs/adr/0013-delta-codes-in-units.md): kernels/dense_row.h defines
/// rows, row_layout.hpp says where they lie. Codec 2 (docs/adr/0010-compressed-deltas.md), which no
/// job uses yet: a tensor's change in a round as integers on the tensor's grid.
/// kernels/delta_code.h defines every value; this module adds the byte form, which has one encoding
/// a value, and a strict decoder.
///
/// All results are the same bits on every machine, thread and instruction set.
namespace gym::codec {

inline constexpr std::uint64_t kBlock = kernels::kDeltaBlock;
/// So that no sum of squares of levels passes 2^64.
inline constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 30;

/// A tensor as codec 2 sees it: how many elements, and what the integers 1 of its deltas stand
/// for.
struct TensorGrid {
    std::uint64_t elements = 0;  ///< row-major; 1 .. kElementsMax
    std::int32_t exponent = 0;   ///< the grid is 2^exponent; kDeltaGridMin .. kDeltaGridMax

    friend bool operator==(const TensorGrid&, const TensorGrid&) = default;
};

/// @errors kOutOfRange: no elements or too many, or an exponent outside its bounds.
Status check(const TensorGrid& tensor);

/// Blocks of 1,024 elements; the last may be shorter.
[[nodiscard]] constexpr std::uint64_t blocks_of(std::uint64_t elements) {
    return (elements + kBlock - 1) / kBlock;
}
/// Elements of block `block`.
[[nodiscard]] constexpr std::uint64_t block_elements(std::uint64_t elements, std::uint64_t block) {
    const std::uint64_t left = elements - block * kBlock;
    return left < kBlock ? left : kBlock;
}

}  // namespace gym::codec
