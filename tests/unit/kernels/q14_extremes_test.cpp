// Operands at the ends of what the Q14 product promises: the longest vectors there are, and
// activations a thousand times larger than their neighbours.
#include "gym/kernels/q14.h"
#include "gym/kernels/q14_product.hpp"
#include "q14_cases.hpp"

namespace gym::kernels {
namespace {

std::vector<float> product_of(const Context& context, const Q14Case& c) {
    QuantisedMatrix a, b;
    quantise(context, {c.a.data(), c.m, c.k, c.k}, Along::kRows, a);
    quantise(context, {c.b.data(), c.n, c.k, c.k}, Along::kRows, b);
    std::vector<float> out(static_cast<size_t>(c.m * c.n));
    q14_product(context, a, b, {out.data(), c.n});
    return out;
}

std::vector<float> multiplied(const Context& context, const Q14Case& c) {
    Q14Buffers buffers;
    std::vector<float> out(static_cast<size_t>(c.m * c.n));
    q14_multiply(context, {{c.a.data(), c.m, c.k, c.k}, Along::kRows},
                 {{c.b.data(), c.n, c.k, c.k}, Along::kRows}, buffers, {out.data(), c.n});
    return out;
}

template <typename Value>
Q14Case thin_case(const char* name, int64_t m, int64_t n, Value value) {
    constexpr int64_t kLength = kQ14LengthMax;
    static_assert(kLength == int64_t{1} << 20);
    Q14Case c{name, m, n, kLength, {}, {}};
    for (int64_t i = 0; i < m * kLength; ++i)
        c.a.push_back(value(i % kLength));
    for (int64_t i = 0; i < n * kLength; ++i)
        c.b.push_back(value(i % kLength));
    return c;
}

TEST(Q14Extremes, TheLongestVectorsGiveTheReferencesBits) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::normal_distribution<float> normal;
    const auto anything = [&](int64_t) { return normal(generator); };
    // Every quantised value is 8192, so the sum is the largest there is: 2^46 before the rescale.
    const auto full_scale = [](int64_t) { return 0x1.fffffep0f; };
    // Blocks far apart: most of them are shifted when they join the sum.
    const auto steep = [&](int64_t k) {
        return std::ldexp(normal(generator), static_cast<int>(k / 1024 % 40) - 20);
    };
    std::vector<Q14Case> cases;
    cases.push_back(thin_case("normal", 1, 1, anything));
    cases.push_back(thin_case("normal", 2, 2, anything));
    cases.push_back(thin_case("full scale", 1, 2, full_scale));
    cases.push_back(thin_case("steep", 2, 1, steep));
    for (const Q14Case& c : cases) {
        const std::vector<float> expected = q14_reference::product(c);
        for (const Isa isa : runnable_levels()) {
            for (const int threads : {1, 2}) {
                const Context context(isa, threads);
                EXPECT_EQ(first_difference(product_of(context, c), expected), -1)
                    << c.name << " " << c.m << "x" << c.n << " " << isa_name(isa);
                EXPECT_EQ(first_difference(multiplied(context, c), expected), -1)
                    << c.name << " " << c.m << "x" << c.n << " " << isa_name(isa);
            }
        }
    }
}

/// How far the product of two vectors may be from the real number, by the definition: every value
/// is off by half a step of its block, every block's sum by half a unit, the result by its last
/// rounding.
double error_max(const float* a, const float* b, int64_t k, double exact) {
    const auto va = q14_reference::quantised_vector(a, k);
    const auto vb = q14_reference::quantised_vector(b, k);
    double bound = 0;
    for (int64_t i = 0; i < k; ++i) {
        const auto block = static_cast<size_t>(i / q14_reference::kBlock);
        const double off_a = std::ldexp(0.5, va.exponents[block] - 13);
        const double off_b = std::ldexp(0.5, vb.exponents[block] - 13);
        bound += std::fabs(static_cast<double>(a[i])) * off_b +
                 std::fabs(static_cast<double>(b[i])) * off_a + off_a * off_b;
    }
    bound +=
        std::ldexp(0.5, va.exponent + vb.exponent - 42) * static_cast<double>(va.exponents.size());
    return bound + std::ldexp(std::fabs(exact) + bound, -24);
}

TEST(Q14Extremes, PlantedActivationsCostLittlePrecision) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::normal_distribution<float> normal;
    constexpr float kPlanted = 1000;
    // A step is at most 2^-12 of the block's largest value, hence of the vector's norm, and an
    // error uniform in it has a deviation of step / sqrt(12): against |a| |b| that is 2^-13.8 from
    // each side, together 2^-13.3.
    const double relative_max = std::ldexp(1.0, -13);
    for (const int64_t k : {64, 1024, 4096}) {
        Q14Case c{"planted", 20, 20, k, {}, {}};
        for (int64_t i = 0; i < c.m * k; ++i)
            c.a.push_back(normal(generator));
        for (int64_t i = 0; i < c.n * k; ++i)
            c.b.push_back(normal(generator));
        for (int64_t row = 0; row < c.m; ++row) {
            const auto at = static_cast<int64_t>(generator() % static_cast<uint64_t>(k));
            c.a[static_cast<size_t>(row * k + at)] *= kPlanted;
        }
        const std::vector<float> out = multiplied(Context(detect_isa(), 1), c);
        double squared_errors = 0, squared_norms = 0;
        for (int64_t row = 0; row < c.m; ++row) {
            for (int64_t column = 0; column < c.n; ++column) {
                const float *a = &c.a[static_cast<size_t>(row * k)],
                            *b = &c.b[static_cast<size_t>(column * k)];
                double exact = 0, norm_a = 0, norm_b = 0;
                for (int64_t i = 0; i < k; ++i) {
                    exact += static_cast<double>(a[i]) * static_cast<double>(b[i]);
                    norm_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
                    norm_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
                }
                const double error =
                    static_cast<double>(out[static_cast<size_t>(row * c.n + column)]) - exact;
                EXPECT_LE(std::fabs(error), error_max(a, b, k, exact)) << row << " " << column;
                squared_errors += error * error;
                squared_norms += norm_a * norm_b;
            }
        }
        EXPECT_LE(std::sqrt(squared_errors / squared_norms), relative_max) << "length " << k;
    }
}

}  // namespace
}  // namespace gym::kernels
