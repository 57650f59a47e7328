// Blocks of a map that hold only ordinary numbers take the short program (programs.h), the others
// the full one. For sources compiled once a level (multiversion.hpp).
#pragma once

#include "cpu/multiversion.hpp"
#include "gym/kernels/f32.h"

namespace gym::kernels::GYM_KERNEL_ISA {

inline constexpr int64_t kOrdinaryBlock = 128;

/// Magnitudes from least to most.
struct OrdinaryRange {
    float least;
    float most;
};

/// Whether all of value(0) ... value(count - 1) have their magnitudes in `range`; a NaN has not.
template <typename Value>
static inline __attribute__((always_inline)) bool all_ordinary(int64_t count, OrdinaryRange range,
                                                               Value value) {
    uint32_t smallest = 0x7FFFFFFFu, largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = f32::to_bits(value(i)) & ~f32::kSignBit;
        smallest = bits < smallest ? bits : smallest;
        largest = bits > largest ? bits : largest;
    }
    return smallest >= f32::to_bits(range.least) && largest <= f32::to_bits(range.most);
}

/// y[i] = full(value(i)) for begin <= i < end, where ordinary() gives the same bits in `range`.
template <typename Value, typename Ordinary, typename Full>
static inline __attribute__((always_inline)) void map_blocks(int64_t begin, int64_t end,
                                                             OrdinaryRange range, float* y,
                                                             Value value, Ordinary ordinary,
                                                             Full full) {
    for (; begin < end; begin += kOrdinaryBlock) {
        const int64_t count = end - begin < kOrdinaryBlock ? end - begin : kOrdinaryBlock;
        const auto at = [&](int64_t i) __attribute__((always_inline)) {
            return value(begin + i);
        };
        float* out = y + begin;
        if (all_ordinary(count, range, at)) {
            GYM_VECTOR_LOOP
            for (int64_t i = 0; i < count; ++i)
                out[i] = ordinary(begin + i, at(i));
        } else {
            GYM_VECTOR_LOOP
            for (int64_t i = 0; i < count; ++i)
                out[i] = full(begin + i, at(i));
        }
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
