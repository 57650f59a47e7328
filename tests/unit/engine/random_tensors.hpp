#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "gym/program/program.hpp"

namespace gym::engine::testing {

using Rng = std::mt19937_64;

/// From GYM_TEST_SEED, else fixed; printed, so that a failure can be run again.
inline std::uint64_t test_seed() {
    const char* text = std::getenv("GYM_TEST_SEED");
    const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 4711;
    std::cout << "GYM_TEST_SEED=" << seed << "\n";
    return seed;
}

/// Multiplies the number of random cases.
inline int test_scale() {
    const char* text = std::getenv("GYM_TEST_SCALE");
    return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

inline std::uint32_t between(Rng& rng, std::uint32_t min, std::uint32_t max) {
    return std::uniform_int_distribution<std::uint32_t>(min, max)(rng);
}

/// The values that fill a tensor.
enum class Fill {
    kNormal,   ///< about the size of activations
    kWide,     ///< exponents from -140 to 120
    kSpecial,  ///< normal, with NaN, infinities, zeros, subnormals and powers of two among it
    kEdges,    ///< only subnormals, zeros, powers of two, ties, near the largest f32
    kZero,     ///< +0 and -0
};
inline constexpr int kFills = 5;

inline float normal_value(Rng& rng) {
    return std::normal_distribution<float>()(rng);
}

inline float edge_value(Rng& rng) {
    constexpr float kMin = std::numeric_limits<float>::denorm_min();
    const float values[] = {
        0.0F,     -0.0F,     kMin,          -kMin * 3, 0x1p-126F, 0x1.fffffep-127F,
        1.0F,     -1.0F,     0.5F,          -2.0F,     0x1.8p3F,  0x1.fffffep127F,
        0x1p100F, -0x1p127F, 0x1.000002p0F, 1.5F,      0x1p-100F, -0x1.8p-13F};
    return values[rng() % std::size(values)];
}

inline float special_value(Rng& rng) {
    switch (rng() % 40) {
        case 0:
            return std::numeric_limits<float>::quiet_NaN();
        case 1:
            return std::numeric_limits<float>::infinity();
        case 2:
            return -std::numeric_limits<float>::infinity();
        case 3:
        case 4:
        case 5:
            return edge_value(rng);
        default:
            return normal_value(rng);
    }
}

inline float value_of(Rng& rng, Fill fill) {
    switch (fill) {
        case Fill::kNormal:
            return normal_value(rng);
        case Fill::kWide:
            return std::ldexp(normal_value(rng), static_cast<int>(between(rng, 0, 260)) - 140);
        case Fill::kSpecial:
            return special_value(rng);
        case Fill::kEdges:
            return edge_value(rng);
        case Fill::kZero:
            break;
    }
    return rng() % 2 == 0 ? 0.0F : -0.0F;
}

/// An i32: mostly a small index, now and then negative or far too large (both are clamped).
inline std::int32_t index_value(Rng& rng) {
    const std::uint64_t word = rng();
    if (word % 16 == 0) return static_cast<std::int32_t>(word >> 32);
    return static_cast<std::int32_t>(word >> 32) & 0xFF;
}

/// Memory of one slot, aligned as the engine's own.
using Storage = std::vector<std::uint64_t>;

inline Storage random_storage(Rng& rng, const program::Slot& slot, Fill fill) {
    Storage storage((program::size_bytes(slot) + 7) / 8);
    auto* bytes = reinterpret_cast<std::uint8_t*>(storage.data());
    for (std::uint64_t i = 0; i < program::element_count(slot.dims); ++i) {
        if (slot.dtype == commit::DType::kF32) {
            const float value = value_of(rng, fill);
            std::memcpy(bytes + i * sizeof value, &value, sizeof value);
        } else {
            const std::int32_t value = index_value(rng);
            std::memcpy(bytes + i * sizeof value, &value, sizeof value);
        }
    }
    return storage;
}

}  // namespace gym::engine::testing
