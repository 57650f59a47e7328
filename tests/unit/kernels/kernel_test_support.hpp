// Shared by the kernel tests: seeds, counts, levels, and floats that cover every class of number.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gym/kernels/dispatch.hpp"
#include "gym/kernels/f32.h"

namespace gym::kernels {

/// GYM_TEST_SEED, or a fixed seed; printed with every failure through SCOPED_TRACE.
inline uint64_t test_seed() {
    const char* text = std::getenv("GYM_TEST_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 20240229;
}

/// GYM_TEST_SCALE: how much more than the default a random or strided test covers.
inline uint32_t test_scale() {
    const char* text = std::getenv("GYM_TEST_SCALE");
    const long value = text != nullptr ? std::strtol(text, nullptr, 10) : 1;
    return value >= 1 ? static_cast<uint32_t>(value) : 1;
}

/// For references that need more than 64 bits.
__extension__ using Int128 = __int128;

inline std::string seed_note() {
    return "GYM_TEST_SEED=" + std::to_string(test_seed());
}

inline std::vector<Isa> runnable_levels() {
    std::vector<Isa> levels;
    for (int i = 0; i <= static_cast<int>(detect_isa()); ++i)
        levels.push_back(static_cast<Isa>(i));
    return levels;
}

inline float number(uint32_t bits) {
    return f32::from_bits(bits);
}

/// Every bit pattern of interest: zeros, subnormals, powers of two and their neighbours,
/// infinities, NaNs of both signs, and patterns `stride` apart over the whole range.
inline std::vector<float> sample_numbers(uint32_t stride) {
    std::vector<float> samples;
    for (uint32_t sign : {0u, 0x80000000u}) {
        for (uint32_t exponent = 0; exponent < 256; ++exponent) {
            for (uint32_t mantissa : {0u, 1u, 2u, 0x3FFFFFu, 0x400000u, 0x400001u, 0x7FFFFFu}) {
                samples.push_back(number(sign | exponent << 23 | mantissa));
            }
        }
    }
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
        samples.push_back(number(static_cast<uint32_t>(bits)));
    }
    return samples;
}

/// First index at which two arrays differ in a bit, or -1.
inline int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return 0;
    for (size_t i = 0; i < a.size(); ++i) {
        if (f32::to_bits(a[i]) != f32::to_bits(b[i])) return static_cast<int64_t>(i);
    }
    return -1;
}

/// FNV-1a over the bits: a short name for a whole array, for golden values.
inline uint64_t bits_hash(const std::vector<float>& values) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const float value : values) {
        uint32_t bits = f32::to_bits(value);
        for (int i = 0; i < 4; ++i, bits >>= 8)
            hash = (hash ^ (bits & 0xFF)) * 0x100000001B3u;
    }
    return hash;
}

}  // namespace gym::kernels
