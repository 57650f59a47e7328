#pragma once

#include <cstdint>
#include <string_view>

#include "gym/commit/sha256.hpp"

namespace gym::quality {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every bit of the
/// input changes about half of the output's.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/// The first 8 bytes, big-endian.
[[nodiscard]] inline std::uint64_t first_word(const Digest& digest) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < 8; ++i)
        out = out << 8 | digest.data[i];
    return out;
}

/// Seed `number` of `domain`, derived so that no one can choose it.
[[nodiscard]] inline std::uint64_t seed_of(std::string_view domain, std::uint64_t number) {
    return first_word(commit::Hasher().update(as_bytes(domain)).update_u64(number).finish());
}

}  // namespace gym::quality
