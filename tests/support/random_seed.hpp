#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace gym::testing {

/// The seed of a random test: GYM_TEST_SEED, else a fresh one; printed, so that a failure can be
/// repeated.
inline std::uint64_t random_seed() {
    const char* given = std::getenv("GYM_TEST_SEED");
    const std::uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "GYM_TEST_SEED=" << seed << std::endl;
    return seed;
}

/// How many times the usual count a random test runs (`make check` sets 10).
inline std::uint64_t test_scale() {
    const char* given = std::getenv("GYM_TEST_SCALE");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

/// How often a long random test runs what it runs `usual` times at scale 1: a quarter of that in a
/// build with sanitizers, where each takes several times as long. Not for tests that expect a case
/// of every kind.
inline std::uint64_t test_count(std::uint64_t usual) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return (usual * test_scale() + 3) / 4;
#else
    return usual * test_scale();
#endif
}

}  // namespace gym::testing
