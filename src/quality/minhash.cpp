#include "gym/quality/minhash.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "gym/common/assert.hpp"
#include "mix.hpp"

namespace gym::quality {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

struct Permutation {
    std::uint64_t factor = 1;  ///< odd: a bijection of the 64-bit numbers
    std::uint64_t offset = 0;
};

/// The last one is sample_level()'s.
const std::array<Permutation, kPermutations + 1>& permutations() {
    static const auto kAll = [] {
        std::array<Permutation, kPermutations + 1> out;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = {seed_of("gym.quality.factor.v1", i) | 1, seed_of("gym.quality.offset.v1", i)};
        return out;
    }();
    return kAll;
}

std::uint64_t least(const Permutation& by, std::span<const std::uint64_t> shingles) {
    GYM_ASSERT(!shingles.empty(), "a chunk without shingles");
    std::uint64_t out = kLargest;
    for (const std::uint64_t shingle : shingles)
        out = std::min(out, shingle * by.factor + by.offset);
    return out;
}

}  // namespace

Signature minhash(std::span<const std::uint64_t> shingles) {
    Signature out;
    for (std::size_t i = 0; i < kPermutations; ++i)
        out[i] = least(permutations()[i], shingles);
    return out;
}

BandKeys band_keys(const Signature& signature) {
    commit::Hasher hasher;
    BandKeys out{};
    for (std::size_t band = 0; band < kBands; ++band) {
        hasher.update(as_bytes("gym.quality.band.v1")).update_u8(static_cast<std::uint8_t>(band));
        for (std::size_t row = 0; row < kRows; ++row)
            hasher.update_u64(signature[band * kRows + row]);
        out[band] = first_word(hasher.finish());
    }
    return out;
}

std::uint32_t sample_level(std::span<const std::uint64_t> shingles) {
    // The least value is small by nature: mixed, its leading zeros are those of a random number.
    const std::uint64_t value = least(permutations()[kPermutations], shingles);
    return static_cast<std::uint32_t>(std::countl_zero(mix(value)));
}

}  // namespace gym::quality
