// The scratch buffers of a Device: what each holds, and the units of their sizes. Host code, also
// of builds without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gym::kernels::cuda {

// A macro may call a function of a lower line only.
inline constexpr int kScratchA = 0;             // and the next three: an operand of products
inline constexpr int kScratchB = 4;             // the same
inline constexpr int kScratchColumnMaxima = 8;  // column sums, embedding gradient
inline constexpr int kScratchColumnTotals = 9;  // the same
inline constexpr int kScratchMacro0 = 10;       // of the macro that is called
inline constexpr int kScratchMacro1 = 11;
inline constexpr int kScratchMacro2 = 12;
inline constexpr int kScratchMacro3 = 13;
inline constexpr int kScratchCheck =
    14;  // what a check needs of its own (checks.cu, product_check.cu)
inline constexpr int kScratchExpansion = 15;  // temporaries of an op that runs as its primitives

/// The parts of a buffer lie one after the other, each as aligned as an allocation.
constexpr std::size_t padded_bytes(std::size_t bytes) {
    constexpr std::size_t kAlignment = 256;
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// What an allocation takes of a device: more than 1 MiB comes in pages of 2 MiB, and less from one
/// that is shared with others.
constexpr std::size_t allocated_bytes(std::size_t bytes) {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    return (bytes + kPage - 1) / kPage * kPage;
}
/// For what the driver takes of a device while a program runs, such as the code of its kernels,
/// which is loaded with their first launch. Not measured.
inline constexpr std::size_t kDriverBytes = std::size_t{256} << 20;

/// Bytes of a vector's digits of one kind. The product reads half of the unit at a time.
constexpr std::int64_t digit_pitch(std::int64_t length) {
    constexpr std::int64_t kUnit = 64;
    return (length + kUnit - 1) / kUnit * kUnit;
}

/// Vectors of b in a tile of a product, of which its check keeps the sum.
inline constexpr std::int64_t kCheckedTileVectors = 128;

}  // namespace gym::kernels::cuda
