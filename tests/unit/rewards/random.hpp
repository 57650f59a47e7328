#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"

namespace gym::rewards {

inline std::uint64_t test_seed() {
    const char* text = std::getenv("GYM_TEST_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

inline int test_scale() {
    const char* text = std::getenv("GYM_TEST_SCALE");
    return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

/// Small, large and boundary numbers alike.
inline std::uint64_t any_u64(std::mt19937_64& random) {
    return random() >> (random() % 64);
}

/// Up to 2^128: any amount of money that could exist, so that products fit 256 bits.
inline Amount any_amount(std::mt19937_64& random) {
    const Amount high(any_u64(random));
    return *high.mul_div(Amount(any_u64(random)), Amount(1));
}

inline Address any_address(std::mt19937_64& random) {
    Address out;
    for (auto& byte : out.data)
        byte = static_cast<std::uint8_t>(random());
    return out;
}

}  // namespace gym::rewards
