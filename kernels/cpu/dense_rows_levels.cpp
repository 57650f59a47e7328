#include <bit>
#include <cstring>

#include "cpu/dense_rows.hpp"

namespace gym::kernels::GYM_KERNEL_ISA {
namespace {

uint32_t largest_magnitude(const float* x) {
    uint32_t amax = 0;
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < kRowElements; ++i) {
        const uint32_t magnitude = row_magnitude(x[i]);
        amax = magnitude > amax ? magnitude : amax;
    }
    return amax;
}

void unpack(const uint8_t* row, int32_t* levels) {
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < kRowElements / 2; ++i) {
        const int32_t even = 2 * i;
        levels[even] = row_level_at(row, even);
        levels[even + 1] = row_level_at(row, even + 1);
    }
}

/// |k| of the level k = biased - 8.
uint8_t distance_from_bias(uint8_t biased) {
    return static_cast<uint8_t>(biased > 8 ? biased - 8 : 8 - biased);
}

int32_t largest_distance(const uint8_t* row) {
    uint8_t even[kRowElements / 2], odd[kRowElements / 2];
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < kRowElements / 2; ++i) {
        const auto biased = static_cast<uint8_t>(row[1 + i] ^ 0x88U);
        even[i] = distance_from_bias(static_cast<uint8_t>(biased & 15U));
        odd[i] = distance_from_bias(static_cast<uint8_t>(biased >> 4));
    }
    uint8_t top = 0;
    for (int32_t i = 0; i < kRowElements / 2; ++i) {
        const uint8_t larger = even[i] > odd[i] ? even[i] : odd[i];
        top = larger > top ? larger : top;
    }
    return top;
}

}  // namespace

void encode_dense_row(const float* end, const float* begin, int32_t count, uint8_t* row) {
    float x[kRowElements];
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < count; ++i)
        x[i] = f32::sub(end[i], begin[i]);
    for (int32_t i = count; i < kRowElements; ++i)
        x[i] = 0.0f;
    const int32_t s = row_scale(largest_magnitude(x));
    const float inverse = f32::power_of_two(kRowScaleBias - s);
    int32_t levels[kRowElements];
    int32_t any = 0;
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < kRowElements; ++i) {
        levels[i] = row_level(x[i], inverse);
        any |= levels[i];
    }
    row[0] = static_cast<uint8_t>(any == 0 ? 0 : s);
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < kRowElements / 2; ++i) {
        const int32_t even = 2 * i;
        row[1 + i] = static_cast<uint8_t>((levels[even] & 15) | (levels[even + 1] & 15) << 4);
    }
}

void decode_dense_row(const uint8_t* row, int32_t count, float* x) {
    int32_t levels[kRowElements];
    unpack(row, levels);
    const int32_t s = row[0];
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < count; ++i)
        x[i] = row_value(levels[i], s);
}

RowLevels dense_row_levels(const uint8_t* row) {
    // Bit j of all 64 levels, in some order, is plane j: two's complement, the sign is plane 3.
    constexpr uint64_t kNibbles = 0x1111'1111'1111'1111;
    uint64_t words[4], planes[4] = {};
    std::memcpy(words, row + 1, sizeof words);
    for (int32_t i = 0; i < 4; ++i)
        for (int32_t j = 0; j < 4; ++j)
            planes[j] |= (words[i] >> j & kNibbles) << i;
    // -k is ~k + 1: a bit of |k| differs where the level is negative and a lower bit is set. So the
    // three bits of -8 are 0.
    const uint64_t sign = planes[3];
    const uint64_t bits[3] = {planes[0], planes[1] ^ (sign & planes[0]),
                              planes[2] ^ (sign & (planes[0] | planes[1]))};
    RowLevels out;
    for (int32_t k = 1; k <= kRowLevelMax; ++k) {
        uint64_t found = ~uint64_t{0};
        for (int32_t j = 0; j < 3; ++j)
            found &= (k >> j & 1) != 0 ? bits[j] : ~bits[j];
        out.of[k] = static_cast<uint8_t>(std::popcount(found));
    }
    return out;
}

bool is_dense_row(const uint8_t* row, int32_t count) {
    int32_t beyond = 0;
    for (int32_t i = count; i < kRowElements; ++i)
        beyond |= row_level_at(row, i);
    const int32_t top = largest_distance(row);
    const int32_t s = row[0];
    const bool is_smallest = s == 0              ? top == 0
                             : s == kRowScaleMin ? top > 0
                                                 : top > kRowLevelMax / 2;
    return is_smallest && top <= kRowLevelMax && s <= kRowScaleMax && beyond == 0;
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
