// Accuracy of the programs against long double, and golden hashes of their bits.
#include "gym/kernels/programs.h"

#include <cmath>

#include "gym/kernels/vector_ops.hpp"
#include "kernel_test_support.hpp"

namespace gym::kernels {
namespace {

using Real = long double;
constexpr int64_t kDistanceMax = 2;

Real logistic(Real x) {
    return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

/// x * logistic(w), also where w is so large that the product is 0 or x.
Real gated(Real x, Real w) {
    if (w < -20000) return -0.0L;
    return w > 20000 ? x : x * logistic(w);
}

struct Program {
    const char* name;
    UnaryOp op;
    float (*program)(float);
    Real (*exact)(Real);
    uint64_t golden;
};

const Program kPrograms[] = {
    {"exp", UnaryOp::kExp, [](float x) { return f32::exp(x); }, [](Real x) { return std::exp(x); },
     0xf0fdbbd189256f37u},
    {"log", UnaryOp::kLog, [](float x) { return f32::log(x); }, [](Real x) { return std::log(x); },
     0x158746394faab540u},
    {"tanh", UnaryOp::kTanh, [](float x) { return f32::tanh(x); },
     [](Real x) { return std::tanh(x); }, 0x25005d578aebb6a6u},
    {"sigmoid", UnaryOp::kSigmoid, [](float x) { return f32::sigmoid(x); }, logistic,
     0xcf7620cfe9fb8b5bu},
    {"silu", UnaryOp::kSilu, [](float x) { return f32::silu(x); },
     [](Real x) { return gated(x, x); }, 0x53bf2db1528cb834u},
    {"gelu", UnaryOp::kGelu, [](float x) { return f32::gelu(x); },
     [](Real x) {
         const Real c = 2 * std::sqrt(2 / 3.14159265358979323846264338327950288L);
         return gated(x, c * (x + 0.044715L * x * x * x));
     },
     0x13166c9954ca77a5u},
    {"rsqrt", UnaryOp::kRsqrt, [](float x) { return f32::rsqrt(x); },
     [](Real x) { return 1 / std::sqrt(x); }, 0x9e860b8941256737u},
};

/// Position of a float among all floats: neighbours differ by one.
int64_t position(float x) {
    const uint32_t bits = f32::to_bits(x);
    const auto magnitude = static_cast<int64_t>(bits & ~f32::kSignBit);
    return (bits & f32::kSignBit) != 0 ? -magnitude : magnitude;
}

/// Ranges where a program changes its method or its result leaves the normal range.
std::vector<float> boundary_samples() {
    std::vector<float> samples;
    for (const float centre :
         {0.625f,    1.0f,        0x1.6a09e6p-1f, 0x1.6a09e6p0f, 0x1p-126f, 16.0f,  88.72284f,
          87.33655f, 103.9721f,   103.2789f,      110.0f,        90.0f,     200.0f, 9.010913f,
          13.0f,     0.34657359f, 5.2f,           5.6f,          12.9f,     108.0f}) {
        const uint32_t middle = f32::to_bits(centre);
        for (uint32_t offset = 0; offset < 600; ++offset) {
            samples.push_back(number(middle - 300 + offset));
            samples.push_back(-samples.back());
        }
    }
    return samples;
}

void expect_within_two_ulp(const Program& p, float x) {
    const float got = p.program(x);
    const auto correct = static_cast<float>(p.exact(static_cast<Real>(x)));
    if (std::isnan(x) || std::isnan(correct)) {
        ASSERT_EQ(f32::to_bits(got), f32::kNanBits) << p.name << "(" << x << ")";
        return;
    }
    ASSERT_FALSE(std::isnan(got)) << p.name << "(" << x << ")";
    ASSERT_EQ(std::signbit(got), std::signbit(correct)) << p.name << "(" << x << ")";
    ASSERT_LE(std::abs(position(got) - position(correct)), kDistanceMax)
        << p.name << "(" << std::hexfloat << x << ") = " << got << ", correct " << correct;
}

class Programs : public testing::TestWithParam<Program> {};

TEST_P(Programs, AreWithinTwoUlpEverywhere) {
    for (const float x : boundary_samples()) {
        expect_within_two_ulp(GetParam(), x);
        if (HasFatalFailure()) return;
    }
    for (const float x : sample_numbers(20011 / test_scale() | 1)) {
        expect_within_two_ulp(GetParam(), x);
        if (HasFatalFailure()) return;
    }
}

TEST_P(Programs, GiveTheSameBitsOnEveryLevel) {
    std::vector<float> x = boundary_samples();
    const std::vector<float> strided = sample_numbers(65003 / test_scale() | 1);
    x.insert(x.end(), strided.begin(), strided.end());
    std::vector<float> expected;
    for (const float v : x)
        expected.push_back(GetParam().program(v));
    for (const Isa isa : runnable_levels()) {
        std::vector<float> y(x.size());
        map_unary(isa, GetParam().op, x.data(), y.data(), static_cast<int64_t>(x.size()));
        const int64_t at = first_difference(y, expected);
        EXPECT_EQ(at, -1) << isa_name(isa) << " at " << x[static_cast<size_t>(at)];
    }
}

TEST_P(Programs, KeepTheirGoldenBits) {
    std::vector<float> y;
    for (const float x : sample_numbers(1000003))
        y.push_back(GetParam().program(x));
    EXPECT_EQ(bits_hash(y), GetParam().golden) << std::hex << "0x" << bits_hash(y);
}

/// Numbers from -most to most, and where the short programs stop being allowed.
std::vector<float> ordinary_samples(float least, float most) {
    std::vector<float> samples;
    const uint32_t first = f32::to_bits(least), last = f32::to_bits(most);
    for (uint32_t bits = first; bits < last; bits += 997 / static_cast<uint32_t>(test_scale()) | 1)
        samples.push_back(number(bits));
    for (uint32_t i = 0; i < 1000; ++i) {
        samples.push_back(number(first + i));
        samples.push_back(number(last - i));
    }
    const std::size_t positive = samples.size();
    for (std::size_t i = 0; i < positive; ++i)
        samples.push_back(-samples[i]);
    return samples;
}

TEST(OrdinaryPrograms, EqualTheFullOnes) {
    for (const float x : ordinary_samples(0.0f, f32::kExpOrdinaryMax))
        ASSERT_EQ(f32::to_bits(f32::exp_ordinary(x)), f32::to_bits(f32::exp(x))) << x;
    for (const float x : ordinary_samples(0.0f, f32::kSigmoidOrdinaryMax))
        ASSERT_EQ(f32::to_bits(f32::sigmoid_ordinary(x)), f32::to_bits(f32::sigmoid(x))) << x;
    for (const float x : ordinary_samples(f32::kGeluOrdinaryMin, f32::kGeluOrdinaryMax))
        ASSERT_EQ(f32::to_bits(f32::gelu_ordinary(x)), f32::to_bits(f32::gelu(x))) << x;
}

TEST(OrdinaryPrograms, OneExtraordinaryNumberChangesNoneOfItsNeighbours) {
    std::vector<float> x(1000);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i) * 0.01f - 5.0f;
    for (const uint32_t odd : {f32::kNanBits, f32::kInfinityBits, 0xFF800000u, 0u, 1u, 0x42FE0000u,
                               0xC2FE0000u, 0x7F7FFFFFu}) {
        x[300] = number(odd);
        for (const Isa isa : runnable_levels()) {
            for (const auto& [op, program] : {std::pair{UnaryOp::kExp, &f32::exp},
                                              {UnaryOp::kSigmoid, &f32::sigmoid},
                                              {UnaryOp::kGelu, &f32::gelu}}) {
                std::vector<float> y(x.size()), expected;
                for (const float v : x)
                    expected.push_back(program(v));
                map_unary(isa, op, x.data(), y.data(), static_cast<int64_t>(x.size()));
                ASSERT_EQ(first_difference(y, expected), -1)
                    << isa_name(isa) << " " << std::hex << odd << " " << static_cast<int>(op);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(kPrograms),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ProgramsAtTheEdges, AreExactWhereTheMathematicsIs) {
    const float inf = number(f32::kInfinityBits);
    EXPECT_EQ(f32::exp(0.0f), 1.0f);
    EXPECT_EQ(f32::exp(-inf), 0.0f);
    EXPECT_EQ(f32::exp(inf), inf);
    EXPECT_EQ(f32::log(1.0f), 0.0f);
    EXPECT_EQ(f32::log(-0.0f), -inf);
    EXPECT_EQ(f32::log(inf), inf);
    EXPECT_EQ(f32::to_bits(f32::tanh(-0.0f)), f32::to_bits(-0.0f));
    EXPECT_EQ(f32::tanh(-inf), -1.0f);
    EXPECT_EQ(f32::sigmoid(0.0f), 0.5f);
    EXPECT_EQ(f32::sigmoid(inf), 1.0f);
    EXPECT_EQ(f32::to_bits(f32::sigmoid(-inf)), 0u);
    EXPECT_EQ(f32::silu(inf), inf);
    EXPECT_EQ(f32::to_bits(f32::silu(-inf)), f32::to_bits(-0.0f));
    EXPECT_EQ(f32::to_bits(f32::gelu(-inf)), f32::to_bits(-0.0f));
    EXPECT_EQ(f32::to_bits(f32::gelu(-0.0f)), f32::to_bits(-0.0f));
    EXPECT_EQ(f32::rsqrt(0.0f), inf);
    EXPECT_EQ(f32::rsqrt(-0.0f), -inf);
    EXPECT_EQ(f32::to_bits(f32::rsqrt(-1.0f)), f32::kNanBits);
    EXPECT_EQ(f32::rsqrt(4.0f), 0.5f);
}

}  // namespace
}  // namespace gym::kernels
