// Assignment of the scratch buffers of a Device. A macro may call a function of a lower line only.
#pragma once

namespace gym::kernels::cuda {

// 0 to 3 and 4 to 7 are the operands of products (quantise.cu).
inline constexpr int kScratchColumnMaxima = 8;  // column sums, embedding gradient
inline constexpr int kScratchColumnTotals = 9;  // the same
inline constexpr int kScratchMacro0 = 10;       // of the macro that is called
inline constexpr int kScratchMacro1 = 11;
inline constexpr int kScratchMacro2 = 12;
inline constexpr int kScratchMacro3 = 13;

}  // namespace gym::kernels::cuda
