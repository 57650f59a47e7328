// Products straight from f32, and sums as large as the carries' intervals allow.
#include "gym/kernels/q14_product.hpp"
#include "q14_cases.hpp"

namespace gym::kernels {
namespace {

std::vector<float> normal_numbers(int64_t count, uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(count));
    std::generate(x.begin(), x.end(), [&] { return normal(generator); });
    return x;
}

/// The product of the vectors of `a` and b, stored along rows or columns.
std::vector<float> multiplied(const Context& context, Q14Buffers& buffers, const Q14Case& c,
                              Along a_along, Along b_along) {
    const auto stored = [](const std::vector<float>& x, int64_t vectors, int64_t k, Along along) {
        if (along == Along::kRows) return x;
        std::vector<float> columns(x.size());
        for (int64_t v = 0; v < vectors; ++v) {
            for (int64_t i = 0; i < k; ++i)
                columns[static_cast<size_t>(i * vectors + v)] = x[static_cast<size_t>(v * k + i)];
        }
        return columns;
    };
    const auto factor = [&](const std::vector<float>& x, int64_t vectors, Along along) {
        return along == Along::kRows ? Q14Factor{{x.data(), vectors, c.k, c.k}, along}
                                     : Q14Factor{{x.data(), c.k, vectors, vectors}, along};
    };
    const std::vector<float> a = stored(c.a, c.m, c.k, a_along), b = stored(c.b, c.n, c.k, b_along);
    std::vector<float> out(static_cast<size_t>(c.m * c.n));
    q14_multiply(context, factor(a, c.m, a_along), factor(b, c.n, b_along), buffers,
                 {out.data(), c.n});
    return out;
}

TEST(Q14Multiply, PartsOfEitherFactorGiveTheReferencesBits) {
    SCOPED_TRACE(seed_note());
    const int64_t shapes[][3] = {
        {30, 20, 70}, {413, 37, 70}, {37, 413, 70}, {390, 20, 1030}, {20, 390, 1030}};
    for (const auto& [m, n, k] : shapes) {
        const Q14Case c{"parts",
                        m,
                        n,
                        k,
                        normal_numbers(m * k, test_seed()),
                        normal_numbers(n * k, test_seed() + 1)};
        const std::vector<float> expected = q14_reference::product(c);
        for (const Isa isa : runnable_levels()) {
            for (const int threads : {1, 2}) {
                const Context context(isa, threads);
                Q14Buffers buffers;
                for (const Along a : {Along::kRows, Along::kColumns}) {
                    for (const Along b : {Along::kRows, Along::kColumns}) {
                        ASSERT_EQ(first_difference(multiplied(context, buffers, c, a, b), expected),
                                  -1)
                            << isa_name(isa) << " " << threads << " threads " << m << "x" << n
                            << "x" << k;
                    }
                }
            }
        }
    }
}

TEST(Q14Multiply, CarriesComeBeforeSumsOverflow) {
    // Vectors of one magnitude, set by the block's first element: 64 pairs of 4096 come to 2^31,
    // and 8, 4, 3 and 2 times as many of the others.
    // Lengths of one block have carries of their own, and none if they are short.
    constexpr int64_t kVectors = 40;
    for (const int64_t length : {128, 256, 384, 512, 1024, 2300})
        for (const int largest : {1448, 2048, 2365, 2896, 4096, 8191}) {
            for (const int value : {largest - 60, largest - 1, largest, largest + 1}) {
                Q14Case c{"carries", kVectors, kVectors, length, {}, {}};
                for (int64_t i = 0; i < kVectors * length; ++i) {
                    const float x = static_cast<float>(i % length % 1024 == 0 ? 8191 : value);
                    c.a.push_back(i / length % 2 == 0 ? x : -x);
                    c.b.push_back(x);
                }
                const std::vector<float> expected = q14_reference::product(c);
                for (const Isa isa : runnable_levels()) {
                    Q14Buffers buffers;
                    ASSERT_EQ(first_difference(multiplied(Context(isa, 1), buffers, c, Along::kRows,
                                                          Along::kRows),
                                               expected),
                              -1)
                        << isa_name(isa) << " " << value << " " << length;
                }
            }
        }
}

}  // namespace
}  // namespace gym::kernels
