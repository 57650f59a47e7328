// The Q14 product on a device (docs/MACROS.md, PRODUCT): int8 tensor cores on the digits of
// the quantised operands, three products an element, all of a block of 1,024 exact in 32 bits.
#pragma once

#include <cstdint>
#include <optional>

#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/q14_product.hpp"

namespace gym::kernels::cuda {

/// Equal matrices side by side, item (o, i) at outer * o + inner * i floats: windows and heads.
struct Batch {
    int64_t count = 1;        // all items
    int64_t inner_count = 1;  // items of the inner loop
    int64_t outer = 0;
    int64_t inner = 0;
};

inline constexpr int32_t kDigitOffset = 64;

/// Vectors as digits: q = 128 * high + low, high in [-64, 64], low in [-64, 63]; those of a signed,
/// those of b with kDigitOffset added, so that they have no sign. Lies in scratch memory of a
/// device: valid until the same index is used again.
struct Digits {
    uint8_t* high;             // (items, vectors, pitch), bytes of 0 beyond `length`
    uint8_t* low;              // the same
    int32_t* block_exponents;  // (items, blocks, vectors)
    int32_t* block_sums;  // of a's q, (items, blocks, vectors), after the exponents; b: nullptr
    int32_t* exponents;   // (items, vectors)
    int64_t items;
    int64_t vectors;
    int64_t length;
    int64_t pitch;  // bytes a vector
    int64_t blocks;
    int64_t first_sum;  // on a device with checks: of four, one a buffer
};

/// Which scratch buffers hold an operand.
enum class OperandPlace { kA, kB };

/// @param fixed_exponent all blocks have this exponent, and an element that does not fit poisons
/// its block.
[[nodiscard]] Digits quantise(Device& device, OperandPlace place, MatrixView view, Along along,
                              Batch batch = {},
                              std::optional<int32_t> fixed_exponent = std::nullopt);

/// Where a product's results are.
struct ProductResults {
    MutableMatrixView out;
    Batch batch;
    int64_t items, rows, columns;
    Q14Zeros zeros;
    int64_t sum;  // Checks::Sum of what was to be stored; without checks nothing
};

/// out (a.vectors, b.vectors) = a * b^T for each item. `zeros` as in q14_product.hpp. On a device
/// with checks the operands, their dots and terms are checked; whoever reads the results asks
/// expect_unchanged() (checks.hpp) about them afterwards.
ProductResults multiply(Device& device, const Digits& a, const Digits& b, MutableMatrixView out,
                        Batch out_batch = {}, Q14Zeros zeros = Q14Zeros::kNone);

}  // namespace gym::kernels::cuda
