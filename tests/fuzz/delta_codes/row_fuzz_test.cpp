// Rows of codec 1, fed with mutated rows and random bytes: any 33 bytes decode; what is accepted is
// the row of what it decodes to (one value, one encoding), and what is refused is not.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/float_environment.hpp"
#include "random_seed.hpp"

namespace gym::kernels {
namespace {

using Row = std::array<std::uint8_t, static_cast<std::size_t>(kRowBytes)>;
using Elements = std::array<float, static_cast<std::size_t>(kRowElements)>;

class RowFuzz : public ::testing::Test {
  protected:
    const ExactFloatEnvironment environment_;
    const Isa isa_ = detect_isa();
    std::uint64_t seed_ = testing::random_seed();
    std::mt19937_64 random_{seed_};
    std::uint64_t accepted_ = 0, refused_ = 0;

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

    Row encoded(const Elements& x, std::int32_t count) const {
        const Elements zeros{};
        Row row;
        row.fill(0xAA);
        encode_dense_row(isa_, x.data(), zeros.data(), count, row.data());
        return row;
    }
    Row valid(std::int32_t count) {
        std::normal_distribution<float> deviation(
            0, std::ldexp(1.0F, static_cast<int>(below(270)) - 145));
        Elements x{};
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            x[i] = below(50) == 0 ? f32::from_bits(static_cast<std::uint32_t>(random_()))
                                  : deviation(random_);
        return encoded(x, count);
    }
    Row mutated(Row row) {
        for (std::uint64_t n = 1 + below(3); n > 0; --n) {
            const std::size_t at = below(2) == 0 ? 0 : below(row.size());
            switch (below(4)) {
                case 0:
                    row[at] ^= static_cast<std::uint8_t>(1U << below(8));
                    break;
                case 1:
                    row[at] = static_cast<std::uint8_t>(random_());
                    break;
                case 2:
                    row[at] = 0;
                    break;
                default:
                    std::swap(row[at], row[below(row.size())]);
            }
        }
        return row;
    }
    Row random_row() {
        Row row;
        for (std::uint8_t& byte : row)
            byte = static_cast<std::uint8_t>(random_());
        return row;
    }
    /// Without -8, and with a scale that fits: most of them are rows.
    Row random_levels() {
        Row row;
        for (std::uint8_t& byte : row)
            byte = static_cast<std::uint8_t>((1 + below(15)) ^ 8) |
                   static_cast<std::uint8_t>(((1 + below(15)) ^ 8) << 4);
        row[0] = static_cast<std::uint8_t>(1 + below(252));
        return row;
    }

    void expect_canonical(const Row& row, std::int32_t count) {
        Elements x{};
        decode_dense_row(isa_, row.data(), count, x.data());
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            ASSERT_TRUE(std::isfinite(x[i])) << "seed " << seed_;
        const bool is_row = is_dense_row(isa_, row.data(), count);
        ASSERT_EQ(encoded(x, count) == row, is_row) << "seed " << seed_;
        ++(is_row ? accepted_ : refused_);
    }
};

TEST_F(RowFuzz, OneEncodingOfAValue) {
    const std::uint64_t rounds = 20'000 * testing::test_scale();
    for (std::uint64_t i = 0; i < rounds && !HasFatalFailure(); ++i) {
        const auto count = static_cast<std::int32_t>(below(2) == 0 ? kRowElements : 1 + below(64));
        const Row row = valid(count);
        ASSERT_TRUE(is_dense_row(isa_, row.data(), count)) << "seed " << seed_;
        expect_canonical(row, count);
        expect_canonical(mutated(row), count);
        expect_canonical(random_row(), count);
        expect_canonical(random_levels(), kRowElements);
    }
    EXPECT_GE(accepted_, 2 * rounds);
    EXPECT_GE(refused_, rounds);
}

}  // namespace
}  // namespace gym::kernels
