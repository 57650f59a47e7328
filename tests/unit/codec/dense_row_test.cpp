#include "gym/kernels/dense_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../kernels/kernel_test_support.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"

namespace gym::codec {
namespace {

using kernels::Isa;
using kernels::kRowBytes;
using Row = std::array<std::uint8_t, static_cast<std::size_t>(kRowBytes)>;
using Elements = std::array<float, kernels::kRowElements>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What the text of PROTOCOL.md says, in doubles and without a loop over bits.
struct Expected {
    int scale = 0;
    std::array<int, kernels::kRowElements> level{};
};
Expected expected_of(const std::vector<float>& x) {
    double largest = 0;
    for (const float value : x)
        if (!std::isnan(value)) largest = std::max(largest, std::abs(double{value}));
    Expected out;
    int s = 1;
    while (s < 252 && !(largest < 7.5 * std::ldexp(1.0, s - 127)))
        ++s;
    bool any = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) continue;
        const double level = std::nearbyint(std::ldexp(double{x[i]}, 127 - s));
        out.level[i] = static_cast<int>(std::fmax(-7, std::fmin(7, level)));
        any |= out.level[i] != 0;
    }
    out.scale = any ? s : 0;
    return out;
}

Row encoded(Isa isa, const std::vector<float>& end, const std::vector<float>& begin) {
    Row row;
    row.fill(0xAA);
    kernels::encode_dense_row(isa, end.data(), begin.data(), static_cast<int>(end.size()),
                              row.data());
    return row;
}
Row encoded(Isa isa, const std::vector<float>& x) {
    return encoded(isa, x, std::vector<float>(x.size()));
}

std::vector<float> decoded(Isa isa, const Row& row, std::size_t count) {
    std::vector<float> x(count, 42.0F);
    kernels::decode_dense_row(isa, row.data(), static_cast<int>(count), x.data());
    return x;
}

void expect_as_told(const std::vector<float>& x) {
    const Expected expected = expected_of(x);
    const auto count = static_cast<int>(x.size());
    for (const Isa isa : kernels::runnable_levels()) {
        SCOPED_TRACE("level " + std::to_string(static_cast<int>(isa)));
        const Row row = encoded(isa, x);
        ASSERT_EQ(row[0], expected.scale);
        for (int i = 0; i < kernels::kRowElements; ++i)
            ASSERT_EQ(kernels::row_level_at(row.data(), i), expected.level[std::size_t(i)]) << i;
        ASSERT_TRUE(kernels::is_dense_row(isa, row.data(), count));
        const auto back = decoded(isa, row, x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float value =
                row[0] == 0 ? 0.0F : std::ldexp(float(expected.level[i]), expected.scale - 127);
            ASSERT_EQ(kernels::f32::to_bits(back[i]), kernels::f32::to_bits(value)) << i;
        }
        // What was decoded has the same code: a value has one.
        ASSERT_EQ(encoded(isa, back), row);
    }
}

class DenseRow : public ::testing::Test {
    const kernels::ExactFloatEnvironment environment_;
};

TEST_F(DenseRow, BitsAreWhereTheProtocolSays) {
    std::vector<float> x(64);
    x[0] = 3;
    x[1] = -7;
    x[5] = 1;
    x[63] = -1;
    const Row row = encoded(Isa::kScalar, x);
    EXPECT_EQ(row[0], 127) << "a unit of 1";
    EXPECT_EQ(row[1], 0x93);
    EXPECT_EQ(row[3], 0x10);
    EXPECT_EQ(row[32], 0xF0);
    EXPECT_EQ(decoded(Isa::kScalar, row, 64), x);
}

TEST_F(DenseRow, SpecialValues) {
    const float least = std::numeric_limits<float>::denorm_min();
    const float largest = std::numeric_limits<float>::max();
    const float normal = std::numeric_limits<float>::min();
    for (const std::vector<float>& x : std::vector<std::vector<float>>{
             {0},
             {-0.0F},
             {7.5F, std::nextafter(7.5F, 0.0F), 0.5F, 1.5F, 2.5F, -0.5F},
             {std::nextafter(7.5F, 0.0F), 0.5F, 1.5F, -2.5F, 6.5F},
             {std::nanf(""), 1, -std::nanf("")},
             {std::nanf("")},
             {kInfinity, -kInfinity, largest, 1},
             {largest, -largest / 4},
             {largest / 1.1F, largest / 2},
             {least, -least},
             {normal, normal / 2, -normal / 2, normal / 4},
             {normal * 3.75F, normal},
             {3.75F, 3.7499998F, 0.24999999F}})
        expect_as_told(x);
}

TEST_F(DenseRow, EveryLevelAgreesWithTheText) {
    std::mt19937_64 rng(kernels::test_seed());
    SCOPED_TRACE(kernels::seed_note());
    std::uniform_real_distribution<float> mantissa(-2, 2);
    const std::uint32_t rounds = 2000 * kernels::test_scale();
    for (std::uint32_t round = 0; round < rounds; ++round) {
        std::vector<float> x(1 + rng() % 64);
        const int exponent = static_cast<int>(rng() % 280) - 150;
        const unsigned spread = 1 + rng() % 12;
        for (float& value : x)
            value = std::ldexp(mantissa(rng), exponent - static_cast<int>(rng() % spread));
        ASSERT_NO_FATAL_FAILURE(expect_as_told(x));
    }
    for (std::uint32_t round = 0; round < rounds; ++round) {
        std::vector<float> x(1 + rng() % 64);
        for (float& value : x)
            value = kernels::f32::from_bits(static_cast<std::uint32_t>(rng()));
        ASSERT_NO_FATAL_FAILURE(expect_as_told(x));
    }
}

TEST_F(DenseRow, IsOfTheDifference) {
    std::mt19937_64 rng(kernels::test_seed());
    std::normal_distribution<float> near(1.0F, 1e-3F);
    for (int round = 0; round < 200; ++round) {
        std::vector<float> end(64), begin(64), x(64);
        for (std::size_t i = 0; i < 64; ++i) {
            end[i] = near(rng);
            begin[i] = near(rng);
            x[i] = kernels::f32::sub(end[i], begin[i]);
        }
        for (const Isa isa : kernels::runnable_levels())
            ASSERT_EQ(encoded(isa, end, begin), encoded(Isa::kScalar, x));
    }
}

/// Rows of any bytes: what is taken for a code is one, and decoding is total and the same
/// everywhere.
TEST_F(DenseRow, OneEncodingOfAValue) {
    std::mt19937_64 rng(kernels::test_seed());
    SCOPED_TRACE(kernels::seed_note());
    int taken = 0;
    for (std::uint32_t round = 0; round < 20000 * kernels::test_scale(); ++round) {
        Row row;
        for (std::uint8_t& byte : row)
            byte = static_cast<std::uint8_t>(rng() % 4 == 0 ? rng() : 0);
        const std::size_t count = 1 + rng() % 64;
        const auto reference = decoded(Isa::kScalar, row, count);
        const bool is_code =
            kernels::is_dense_row(Isa::kScalar, row.data(), static_cast<int>(count));
        ASSERT_EQ(is_code, encoded(Isa::kScalar, reference) == row) << +row[0] << ", " << count;
        taken += is_code ? 1 : 0;
        for (const Isa isa : kernels::runnable_levels()) {
            ASSERT_EQ(kernels::is_dense_row(isa, row.data(), static_cast<int>(count)), is_code);
            const auto other = decoded(isa, row, count);
            for (std::size_t i = 0; i < count; ++i)
                ASSERT_EQ(kernels::f32::to_bits(other[i]), kernels::f32::to_bits(reference[i]));
        }
    }
    EXPECT_GT(taken, 0);
}

TEST_F(DenseRow, BytesThatNoEncoderWritesAreZero) {
    Row row{};
    row[0] = 127;
    row[1] = 0x18;  // -8, then 1
    for (const Isa isa : kernels::runnable_levels()) {
        EXPECT_EQ(decoded(isa, row, 2), (std::vector<float>{0, 1}));
        for (const int scale : {0, 253, 254, 255}) {
            Row other = row;
            other[0] = static_cast<std::uint8_t>(scale);
            other[1] = 0x9F;  // -1, then -7
            for (const float value : decoded(isa, other, 2))
                EXPECT_EQ(kernels::f32::to_bits(value), 0U) << scale;
        }
    }
}

TEST(RowLayout, NoRowLiesInTwoChunks) {
    std::uint64_t byte = 0;
    for (std::uint64_t row = 0; row < 1000; ++row) {
        if (byte % 1024 == 1023) {
            EXPECT_EQ(row_of(byte), std::nullopt);
            EXPECT_FALSE(begins_row(byte));
            ++byte;
        }
        EXPECT_EQ(row_begin(row), byte);
        EXPECT_EQ(begins_row(byte), row > 0);
        for (std::uint64_t place = 0; place < 33; ++place)
            EXPECT_EQ(row_of(byte + place), (RowByte{row, place}));
        EXPECT_FALSE(begins_row(byte + 1));
        EXPECT_EQ(byte / 1024, (byte + 32) / 1024);
        byte += 33;
    }
    EXPECT_EQ(row_begin(31), 1024U) << "a full chunk ends with its byte of zero";
    EXPECT_EQ(rows_of(0), 0U);
    EXPECT_EQ(rows_of(64), 1U);
    EXPECT_EQ(rows_of(65), 2U);
}

TEST_F(DenseRow, LevelsAreCounted) {
    std::mt19937_64 rng(kernels::test_seed());
    for (int round = 0; round < 2000; ++round) {
        Row row;
        for (std::uint8_t& byte : row)
            byte = static_cast<std::uint8_t>(round % 2 == 0 || rng() % 8 == 0 ? rng() : 0);
        std::array<int, 8> counts{};
        for (int i = 0; i < kernels::kRowElements; ++i) {
            const int level = std::abs(kernels::row_level_at(row.data(), i));
            // -8 is the level of no element.
            if (level >= 1 && level <= kernels::kRowLevelMax)
                ++counts[static_cast<std::size_t>(level)];
        }
        for (const Isa isa : kernels::runnable_levels()) {
            const kernels::RowLevels levels = kernels::dense_row_levels(isa, row.data());
            for (std::size_t k = 0; k < counts.size(); ++k)
                ASSERT_EQ(levels.of[k], counts[k]) << k;
        }
    }
}

/// The sum of each element as the aggregate program has it: decoded, doubled, exact_sum().
Elements summed(const std::vector<Row>& rows, std::size_t doubled) {
    Elements sums{};
    std::vector<float> column(rows.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const float value = kernels::row_value(
                kernels::row_level_at(rows[k].data(), static_cast<int>(i)), rows[k][0]);
            column[k] = k < doubled ? kernels::f32::mul(value, 2.0F) : value;
        }
        sums[i] = kernels::exact_sum(column.data(), static_cast<std::int64_t>(column.size()));
    }
    return sums;
}

/// @return whether the kernels summed them, all alike.
bool expect_exact_sums(const std::vector<Row>& rows, std::size_t doubled) {
    std::vector<const std::uint8_t*> pointers;
    for (const Row& row : rows)
        pointers.push_back(row.data());
    const kernels::DenseRows given{pointers.data(), static_cast<int>(rows.size()),
                                   static_cast<int>(doubled)};
    const Elements expected = summed(rows, doubled);
    int done = 0;
    for (const Isa isa : kernels::runnable_levels()) {
        Elements sums;
        sums.fill(42.0F);
        if (!kernels::sum_dense_rows(isa, given, sums.data())) continue;
        ++done;
        for (std::size_t i = 0; i < sums.size(); ++i)
            EXPECT_EQ(kernels::f32::to_bits(sums[i]), kernels::f32::to_bits(expected[i])) << i;
    }
    EXPECT_TRUE(done == 0 || done == static_cast<int>(kernels::runnable_levels().size()));
    return done > 0;
}

Row row_of(int scale, int level) {
    Row row{};
    row[0] = static_cast<std::uint8_t>(scale);
    std::fill(row.begin() + 1, row.end(),
              static_cast<std::uint8_t>((level & 15) | (level & 15) << 4));
    return row;
}

TEST_F(DenseRow, SumsAreExactSumsOfTheElements) {
    std::mt19937_64 rng(kernels::test_seed());
    SCOPED_TRACE(kernels::seed_note());
    for (std::uint32_t round = 0; round < 300 * kernels::test_scale(); ++round) {
        const std::size_t count = 1 + rng() % (round % 50 == 9   ? 8192
                                               : round % 10 == 0 ? 1024
                                                                 : 70);
        const int middle = static_cast<int>(rng() % 280) - 150;
        const unsigned spread = 1 + rng() % (round % 3 == 0 ? 28 : 5);
        std::vector<Row> rows;
        for (std::size_t k = 0; k < count; ++k) {
            std::normal_distribution<float> value(
                0, std::ldexp(1.0F, middle + static_cast<int>(rng() % spread)));
            std::vector<float> x(64);
            for (float& element : x)
                element = rng() % 9 == 0 ? 0 : value(rng);
            rows.push_back(encoded(Isa::kScalar, rng() % 9 == 0 ? std::vector<float>(64) : x));
        }
        expect_exact_sums(rows, rng() % 2 == 0 ? 0 : rng() % (count + 1));
        if (::testing::Test::HasFailure()) return;
    }
}

TEST_F(DenseRow, SumsAtTheirBounds) {
    EXPECT_TRUE(expect_exact_sums({Row{}}, 0)) << "a row of zeros";
    EXPECT_TRUE(expect_exact_sums(std::vector<Row>(1024, row_of(252, 7)), 0)) << "infinite";
    EXPECT_TRUE(expect_exact_sums(std::vector<Row>(1024, row_of(1, -7)), 1024));
    for (const int apart : {1, 16, 17, 18, 26, 27}) {
        std::vector<Row> rows(512, row_of(1, -7));
        rows.resize(1024, row_of(1 + apart, 7));
        EXPECT_TRUE(expect_exact_sums(rows, 0)) << apart;
        rows.back() = row_of(1, 1);
        EXPECT_TRUE(expect_exact_sums(rows, 0)) << apart;
    }
    // 7 * 8,192 is more than an i16 has, and with a shift of 16 more than an i32.
    for (const std::size_t count : {4096U, 4097U, 4112U, 8191U, 8192U}) {
        EXPECT_TRUE(expect_exact_sums(std::vector<Row>(count, row_of(100, -7)), 0)) << count;
        EXPECT_TRUE(expect_exact_sums(std::vector<Row>(count, row_of(100, 7)), count)) << count;
        EXPECT_TRUE(expect_exact_sums(std::vector<Row>(count, row_of(100, 7)), 4099)) << count;
    }
    for (const int apart : {13, 14, 15, 16, 17, 27}) {
        std::vector<Row> rows(1, row_of(1, -7));
        rows.resize(8192, row_of(1 + apart, 7));
        EXPECT_TRUE(expect_exact_sums(rows, 0)) << apart;
    }
    EXPECT_FALSE(expect_exact_sums({row_of(1, 1), row_of(29, 1)}, 0)) << "too far apart";
    EXPECT_TRUE(expect_exact_sums({row_of(251, 7), row_of(252, -7)}, 1));
    EXPECT_FALSE(expect_exact_sums({row_of(252, 7), row_of(252, -7)}, 1)) << "2 * 7 * 2^125";
}

}  // namespace
}  // namespace gym::codec
