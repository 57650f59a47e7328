// The exponents by which a product's dots become results, for the results and for their check.
#pragma once

#include "gym/kernels/cuda/product.hpp"
#include "launch.cuh"

namespace gym::kernels::cuda {

/// Where the exponents of an operand are.
struct Exponents {
    const int32_t* of_vectors;  ///< (items, vectors)
    const int32_t* of_blocks;   ///< (items, blocks, vectors)
    int64_t vectors, blocks;
};
inline Exponents exponents_of(const Digits& digits) {
    return {digits.exponents, digits.block_exponents, digits.vectors, digits.blocks};
}

/// For whom exponents are read. The check has them from arguments of its own, and past the cache of
/// its multiprocessor: so it agrees with nothing that a wrong argument or a wrong line of that
/// cache made.
enum class For { kResult, kCheck };
/// Those arguments.
template <bool kChecked>
struct ForCheck {
    Exponents a, b;
};
template <>
struct ForCheck<false> {};

}  // namespace gym::kernels::cuda
