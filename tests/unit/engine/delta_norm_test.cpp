#include "delta_norm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "../kernels/kernel_test_support.hpp"
#include "gym/kernels/float_environment.hpp"
#include "noise.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

/// The bytes of a delta, cut at random multiples of 1,024 and in random order.
std::vector<DeltaBytes> random_pieces(const Delta& delta, std::mt19937_64& random) {
    const ByteView all = delta.bytes().bytes;
    std::vector<DeltaBytes> pieces;
    for (std::uint64_t at = 0; at < all.size();) {
        const std::uint64_t size =
            std::min<std::uint64_t>(1024 * (1 + random() % 9), all.size() - at);
        pieces.push_back({at, all.subspan(at, size)});
        at += size;
    }
    std::ranges::shuffle(pieces, random);
    return pieces;
}

/// As ranges do it: each part by itself, and the parts added up.
std::uint32_t norm_of(const DeltaLayout& layout, const std::vector<DeltaBytes>& pieces) {
    DeltaNorm measured;
    for (const DeltaBytes& piece : pieces) {
        DeltaNorm part;
        part.measure(layout, piece);
        measured.add(part);
    }
    DeltaNorm all = measured;
    if (DeltaNorm::needs_terms(layout.codec()))
        for (const DeltaBytes& piece : pieces) {
            DeltaNorm part = measured;
            part.add_terms(layout, piece);
            all.add(part);
        }
    return all.bits(layout.codec());
}

TEST(DeltaNorm, PartsAddUpToTheNormOfTheWhole) {
    const kernels::ExactFloatEnvironment environment;
    std::mt19937_64 random(kernels::test_seed());
    for (const auto codec : {program::DeltaCodec::kFloat, program::DeltaCodec::kDense}) {
        auto config = testing::small_config();
        config.compression = codec;
        const program::Program train = testing::small_program(config);
        const State base = testing::base_of_noise(train, random());
        for (const Delta& delta : testing::noisy_deltas(train, base, 5, random())) {
            EXPECT_EQ(norm_of(delta.layout(), random_pieces(delta, random)), delta.norm_bits());
            EXPECT_NE(delta.norm_bits(), 0U);
        }
    }
}

}  // namespace
}  // namespace gym::engine
