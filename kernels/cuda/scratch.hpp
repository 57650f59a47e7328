// Assignment of the scratch buffers of a Device. A macro may call a function of a lower line only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gym::kernels::cuda {

// 0 to 3 and 4 to 7 are the operands of products (quantise.cu).
inline constexpr int kScratchColumnMaxima = 8;  // column sums, embedding gradient
inline constexpr int kScratchColumnTotals = 9;  // the same
inline constexpr int kScratchMacro0 = 10;       // of the macro that is called
inline constexpr int kScratchMacro1 = 11;
inline constexpr int kScratchMacro2 = 12;
inline constexpr int kScratchMacro3 = 13;
inline constexpr int kScratchCheck =
    14;  // what a check needs of its own (checks.cu, product_check.cu)

/// Copies of what is checked lie one after the other, each as aligned as an allocation.
constexpr std::size_t padded_check_bytes(std::int64_t bytes) {
    constexpr std::int64_t kAlignment = 256;
    return static_cast<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace gym::kernels::cuda
