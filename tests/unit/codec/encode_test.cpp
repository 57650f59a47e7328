#include "codec_cases.hpp"
#include "gym/codec/row_layout.hpp"
#include "random_seed.hpp"

namespace gym::codec {
namespace {

constexpr std::int32_t kGrid = -20;

void expect_equal(const Encoding& a, const Encoding& b) {
    EXPECT_EQ(a.code, b.code);
    EXPECT_EQ(a.squared_norm, b.squared_norm);
    EXPECT_EQ(a.weight, b.weight);
    EXPECT_EQ(a.residual, b.residual);
}

class EncodeTest : public ::testing::Test {
  protected:
    std::mt19937_64 random_{testing::random_seed()};
};

TEST_F(EncodeTest, EveryLevelGivesTheBitsOfTheDefinition) {
    for (const Case& c : cases(random_)) {
        const TensorGrid tensor{c.x.size(), kGrid};
        const Residual incoming = random_residual(random_, c.x.size());
        for (const Residual* residual : {static_cast<const Residual*>(nullptr), &incoming}) {
            const std::uint64_t norm = encode(tensor, c.x, kNoBound, residual).squared_norm;
            for (const std::uint64_t bound : {kNoBound, norm - norm / 3}) {
                SCOPED_TRACE(c.name + (residual != nullptr ? " with a residual" : "") + ", bound " +
                             std::to_string(bound));
                const Encoding expected = encode_by_definition(tensor, c.x, bound, residual);
                for (const kernels::Isa isa : levels())
                    expect_equal(encode(tensor, c.x, bound, residual, isa), expected);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_F(EncodeTest, EveryGridGivesTheBitsOfTheDefinition) {
    for (std::int32_t grid = kernels::kDeltaGridMin; grid <= kernels::kDeltaGridMax; ++grid) {
        SCOPED_TRACE(grid);
        auto x = random_bits(random_, 200);
        const auto near = random_delta(random_, 1100, std::ldexp(1.0F, grid + 8));
        x.insert(x.end(), near.begin(), near.end());
        const TensorGrid tensor{x.size(), grid};
        const Residual incoming = random_residual(random_, x.size());
        const Encoding expected = encode_by_definition(tensor, x, kNoBound, &incoming);
        for (const kernels::Isa isa : levels())
            expect_equal(encode(tensor, x, kNoBound, &incoming, isa), expected);
    }
}

/// What arrives and what stays behind add up to what there was, within half a level.
TEST_F(EncodeTest, NothingIsLostButHalfALevel) {
    for (std::uint64_t i = 0; i < 20 * testing::test_scale(); ++i) {
        const auto x =
            random_delta(random_, 4096, std::ldexp(1.0F, -static_cast<int>(random_() % 12)));
        const TensorGrid tensor{x.size(), kGrid};
        const Residual zero = Residual::zero(x.size());
        const Encoding out = encode(tensor, x, kNoBound, &zero);
        const auto d = decoded(tensor, out.code);
        for (std::size_t k = 0; k < x.size(); ++k) {
            const std::int64_t unit = std::int64_t{1} << out.residual->scales[k / kBlock];
            const std::int64_t left = static_cast<std::int8_t>(out.residual->levels[k]) * unit;
            const std::int64_t was = reference::fine_value(x[k], kGrid, 0, 0);
            ASSERT_LE(std::abs(256 * d[k] + left - was), unit) << "element " << k;
        }
    }
}

/// With feedback the sum of what arrives follows the sum of what was put in, however coarse a code.
TEST_F(EncodeTest, FeedbackDeliversEverythingInTime) {
    const std::size_t count = 1024;
    const auto x = random_delta(random_, count);
    const TensorGrid tensor{count, kGrid};
    Residual residual = Residual::zero(count);
    std::vector<std::int64_t> arrived(count);
    const int rounds = 400;
    for (int round = 0; round < rounds; ++round) {
        Encoding out = encode(tensor, x, kNoBound, &residual);
        residual = std::move(*out.residual);
        const auto d = decoded(tensor, out.code);
        for (std::size_t i = 0; i < count; ++i)
            arrived[i] += d[i];
    }
    double wrong = 0, all = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double put = rounds * std::ldexp(static_cast<double>(x[i]), -kGrid);
        wrong += std::pow(static_cast<double>(arrived[i]) - put, 2);
        all += put * put;
    }
    EXPECT_LT(std::sqrt(wrong / all), 0.2);
}

TEST_F(EncodeTest, ACodeIsAsLongAsItsTensorSays) {
    for (const Case& c : cases(random_)) {
        const TensorGrid tensor{c.x.size(), kGrid};
        EXPECT_EQ(encode(tensor, c.x, kNoBound, nullptr).code.size(),
                  sparse_code_bytes(c.x.size()));
    }
}

TEST(CodeSizes, AreWithinTheBounds) {
    const std::uint64_t elements = 124'000'000;
    EXPECT_LE(static_cast<double>(sparse_code_bytes(elements)) / elements, 0.026);
    EXPECT_LE(static_cast<double>(row_begin(1 + rows_of(elements))) / elements, 0.52);
    // Drawn units, 5 %, show their residuals.
    EXPECT_LE(0.05 * static_cast<double>(elements + blocks_of(elements)) / elements, 0.06);
}

TEST(Grids, OutOfBoundsAreRefused) {
    EXPECT_TRUE(check(TensorGrid{1, -100}).ok());
    EXPECT_TRUE(check(TensorGrid{kElementsMax, 27}).ok());
    for (const TensorGrid& wrong : {TensorGrid{0, 0}, TensorGrid{kElementsMax + 1, 0},
                                    TensorGrid{1, -101}, TensorGrid{1, 28}})
        EXPECT_EQ(check(wrong).error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace gym::codec
