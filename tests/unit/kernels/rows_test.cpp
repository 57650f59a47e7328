#include "gym/kernels/rows.h"

#include <cmath>
#include <limits>

#include "gym/kernels/vector_ops.hpp"
#include "kernel_test_support.hpp"

namespace gym::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct ExponentCase {
    std::vector<float> row;
    int32_t exponent;
};

TEST(RowExponent, IsTheSmallestPowerAboveTheLargestMagnitude) {
    const std::vector<ExponentCase> cases = {
        {{}, -100},
        {{0.0f, -0.0f}, -100},
        {{1.0f}, 1},
        {{0x1.fffffep-1f}, 0},
        {{0.5f, -0.25f}, 0},
        {{-2.0f, 1.0f}, 2},
        {{0x1p-101f}, -100},
        {{0x1p-100f}, -99},
        {{0x1p-149f}, -100},
        {{std::numeric_limits<float>::max()}, 128},
        {{1.0f, kInf}, 129},
        {{-kInf}, 129},
        {{1.0f, number(0xFFC00001u), 2.0f}, 129},
    };
    for (const ExponentCase& c : cases) {
        const auto size = static_cast<int64_t>(c.row.size());
        EXPECT_EQ(row_exponent(c.row.data(), size), c.exponent);
        for (const Isa isa : runnable_levels()) {
            EXPECT_EQ(row_exponent_from_bits(row_magnitude_bits(isa, c.row.data(), size)),
                      c.exponent);
        }
    }
}

/// The definition, with __int128 and long double and no function of the kernels.
float sum_reference(const std::vector<float>& row) {
    long double amax = 0;
    for (const float x : row) {
        if (!std::isfinite(x)) return number(f32::kNanBits);
        amax = std::max(amax, std::fabs(static_cast<long double>(x)));
    }
    int e = -100;
    if (amax > 0) {
        int exponent = 0;
        std::frexp(amax, &exponent);  // amax = f * 2^exponent, 1/2 <= f < 1
        e = std::max(exponent, -100);
    }
    Int128 total = 0;
    for (const float x : row) {
        total +=
            static_cast<Int128>(std::nearbyint(std::ldexp(static_cast<long double>(x), 30 - e)));
    }
    const auto rounded = static_cast<float>(static_cast<long double>(total));
    return static_cast<float>(std::ldexp(static_cast<long double>(rounded), e - 30));
}

std::vector<std::vector<float>> sum_rows(std::mt19937_64& generator) {
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> rows = {
        {},
        {1.0f},
        {-0.0f},
        {0x1p-149f, 0x1p-149f},
        {0x1p-101f, -0x1p-102f, 0x1p-149f},
        {std::numeric_limits<float>::max(), std::numeric_limits<float>::max()},
        {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(), 0x1p96f},
        {1.0f, 0x1p-31f, 0x1p-31f},
        {1.0f, 0x1.8p-30f, 0x1p-30f, -1.0f},
        {kInf, 1.0f},
        {kInf, -kInf},
        {1.0f, number(0x7F800001u)},
    };
    for (const int length : {2, 15, 16, 17, 31, 64, 127, 1000, 5000}) {
        std::vector<float> row, wide;
        for (int i = 0; i < length; ++i) {
            row.push_back(normal(generator));
            wide.push_back(
                std::ldexp(normal(generator), static_cast<int>(generator() % 250) - 140));
        }
        rows.push_back(row);
        rows.push_back(wide);
    }
    return rows;
}

TEST(ExactSum, MatchesTheDefinitionOnEveryLevel) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    for (uint32_t round = 0; round < 4 * test_scale(); ++round) {
        for (const std::vector<float>& row : sum_rows(generator)) {
            const auto size = static_cast<int64_t>(row.size());
            const uint32_t expected = f32::to_bits(sum_reference(row));
            ASSERT_EQ(f32::to_bits(exact_sum(row.data(), size)), expected) << "length " << size;
            for (const Isa isa : runnable_levels()) {
                ASSERT_EQ(f32::to_bits(row_sum(isa, row.data(), size)), expected)
                    << isa_name(isa) << " length " << size;
            }
        }
    }
}

TEST(ExactSum, DoesNotDependOnOrder) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::vector<float> row;
    for (int i = 0; i < 3000; ++i) {
        row.push_back(std::ldexp(static_cast<float>(generator() % 2001) - 1000.0f,
                                 static_cast<int>(generator() % 60) - 30));
    }
    const float sum = exact_sum(row.data(), 3000);
    std::shuffle(row.begin(), row.end(), generator);
    EXPECT_EQ(f32::to_bits(exact_sum(row.data(), 3000)), f32::to_bits(sum));
}

TEST(ExactSum, GivenExponentIsUsedAsIt) {
    const std::vector<float> row = {1.0f, 0.25f, 0x1p-29f, 0x1p-30f, 0x1.8p-29f};
    // e = 1: units of 2^-29; the tie 2^-30 goes to 0 and 1.5 to 2.
    for (const Isa isa : runnable_levels()) {
        EXPECT_EQ(row_sum_with_exponent(isa, row.data(), 5, 1), 1.25f + 3 * 0x1p-29f)
            << isa_name(isa);
        const float poisoned[] = {1.0f, kInf};
        EXPECT_EQ(f32::to_bits(row_sum_with_exponent(isa, poisoned, 2, 1)), f32::kNanBits);
        EXPECT_EQ(f32::to_bits(row_sum_with_exponent(isa, nullptr, 0, 1)), f32::to_bits(0.0f));
    }
    EXPECT_EQ(exact_sum_with_exponent(row.data(), 5, 1, 1), 1.25f + 3 * 0x1p-29f);
}

TEST(ExactSum, OfProductsAndColumnsEqualsTheRowSum) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::normal_distribution<float> normal;
    constexpr int64_t kRows = 37, kColumns = 83, kStride = 90;
    std::vector<float> matrix(kRows * kStride);
    for (float& x : matrix)
        x = std::ldexp(normal(generator), static_cast<int>(generator() % 40) - 20);
    for (int64_t r = 0; r < kRows; ++r) {
        matrix[static_cast<size_t>(r * kStride + 5)] = r % 2 == 0 ? 0.0f : -0.0f;
        matrix[static_cast<size_t>(r * kStride + 82)] *= 0x1p-130f;
    }
    matrix[3 * kStride + 7] = kInf;
    matrix[4 * kStride + 70] = number(0xFFC00000u);
    for (const Isa isa : runnable_levels()) {
        std::vector<float> sums(kColumns, 99.0f), expected(kColumns);
        column_sums(isa, matrix.data(), kRows, kStride, {0, 40}, sums.data());
        column_sums(isa, matrix.data(), kRows, kStride, {40, kColumns}, sums.data());
        for (int64_t c = 0; c < kColumns; ++c) {
            expected[static_cast<size_t>(c)] = exact_sum(matrix.data() + c, kRows, kStride);
        }
        EXPECT_EQ(first_difference(sums, expected), -1) << isa_name(isa);

        std::vector<float> products(kStride);
        const float* a = matrix.data();
        const float* b = matrix.data() + kStride;
        for (size_t i = 0; i < kStride; ++i)
            products[i] = f32::mul(a[i], b[i]);
        EXPECT_EQ(f32::to_bits(row_sum_of_products(isa, a, b, kStride)),
                  f32::to_bits(exact_sum(products.data(), kStride)));
    }
}

TEST(RowMax, FollowsTheOrderOfMax) {
    struct Case {
        std::vector<float> row;
        uint32_t bits;
    };
    const std::vector<Case> cases = {
        {{}, 0xFF800000u},
        {{-0.0f, 0.0f, -0.0f}, 0u},
        {{-0.0f, -1.0f}, 0x80000000u},
        {{-3.0f, -2.0f, -5.0f}, f32::to_bits(-2.0f)},
        {{1.0f, kInf, 2.0f}, f32::to_bits(kInf)},
        {{1.0f, number(0xFFC00000u), kInf}, f32::kNanBits},
        {{-kInf, 0x1p-149f}, 1u},
    };
    for (const Isa isa : runnable_levels()) {
        for (const Case& c : cases) {
            EXPECT_EQ(f32::to_bits(row_max(isa, c.row.data(), static_cast<int64_t>(c.row.size()))),
                      c.bits);
        }
    }
}

}  // namespace
}  // namespace gym::kernels
