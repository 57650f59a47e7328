// Every level and number of threads gives the same bits.
#include "gym/kernels/q14.h"
#include "gym/kernels/q14_product.hpp"
#include "gym/kernels/vector_ops.hpp"
#include "q14_cases.hpp"

namespace gym::kernels {
namespace {

/// The operand stored so that its vectors lie along `along`, inside a wider matrix of NaNs that
/// nothing may touch.
class StoredOperand {
  public:
    StoredOperand(const std::vector<float>& x, int64_t vectors, int64_t length, Along along) {
        rows_ = along == Along::kRows ? vectors : length;
        columns_ = along == Along::kRows ? length : vectors;
        stride_ = columns_ + 3;
        data_.assign(static_cast<size_t>(rows_ * stride_), number(0x7FC0DEADu));
        for (int64_t v = 0; v < vectors; ++v) {
            for (int64_t k = 0; k < length; ++k) {
                const int64_t at = along == Along::kRows ? v * stride_ + k : k * stride_ + v;
                data_[static_cast<size_t>(at)] = x[static_cast<size_t>(v * length + k)];
            }
        }
    }
    [[nodiscard]] MatrixView view() const { return {data_.data(), rows_, columns_, stride_}; }

  private:
    int64_t rows_, columns_, stride_;
    std::vector<float> data_;
};

struct Layout {
    Along a;
    Along b;
};

std::vector<float> computed_product(const Context& context, const Q14Case& c, Layout layout) {
    const StoredOperand a(c.a, c.m, c.k, layout.a), b(c.b, c.n, c.k, layout.b);
    QuantisedMatrix qa, qb;
    quantise(context, a.view(), layout.a, qa);
    quantise(context, b.view(), layout.b, qb);
    const int64_t stride = c.n + 5;
    std::vector<float> wide(static_cast<size_t>(c.m * stride), -7.0f);
    q14_product(context, qa, qb, {wide.data(), stride});
    std::vector<float> out;
    for (int64_t i = 0; i < c.m; ++i) {
        for (int64_t j = 0; j < stride; ++j) {
            const float value = wide[static_cast<size_t>(i * stride + j)];
            if (j < c.n) {
                out.push_back(value);
            } else {
                EXPECT_EQ(value, -7.0f) << "written beyond column " << c.n;
            }
        }
    }
    return out;
}

struct SolvedCase {
    Q14Case problem;
    std::vector<float> product;
};

/// The cases with the reference's results, made once.
const std::vector<SolvedCase>& solved_cases() {
    static const std::vector<SolvedCase> cases = [] {
        std::vector<SolvedCase> solved;
        for (Q14Case& c : Q14CaseMaker(test_seed()).all()) {
            std::vector<float> product = q14_reference::product(c);
            solved.push_back({std::move(c), std::move(product)});
        }
        return solved;
    }();
    return cases;
}

TEST(Levels, ProductsEqualTheReferenceForEveryLayoutAndThreadCount) {
    SCOPED_TRACE(seed_note());
    for (const Isa isa : runnable_levels()) {
        for (const int threads : {1, 2, 3}) {
            const Context context(isa, threads);
            for (const auto& [c, expected] : solved_cases()) {
                for (const Layout layout :
                     {Layout{Along::kRows, Along::kRows}, Layout{Along::kRows, Along::kColumns},
                      Layout{Along::kColumns, Along::kColumns}}) {
                    const int64_t at =
                        first_difference(computed_product(context, c, layout), expected);
                    ASSERT_EQ(at, -1) << isa_name(isa) << " " << threads << " threads, " << c.name
                                      << " " << c.m << "x" << c.n << "x" << c.k;
                }
            }
        }
    }
}

TEST(Levels, ReusedOperandsForgetTheirFormerShape) {
    SCOPED_TRACE(seed_note());
    for (const Isa isa : runnable_levels()) {
        QuantisedMatrix a, b;
        for (const auto& [c, expected] : solved_cases()) {
            quantise_serial(isa, {c.a.data(), c.m, c.k, c.k}, Along::kRows, a);
            quantise_serial(isa, {c.b.data(), c.n, c.k, c.k}, Along::kRows, b);
            std::vector<float> out(static_cast<size_t>(c.m * c.n));
            q14_product_serial(isa, a, b, {out.data(), c.n});
            ASSERT_EQ(first_difference(out, q14_reference::product(c)), -1)
                << isa_name(isa) << c.name;
        }
    }
}

/// Left of the diagonal, on it and right of it: what a triangular operand leaves out.
struct Triangle {
    Q14Zeros zeros;
    bool (*kept)(int64_t m, int64_t k);
};

TEST(Levels, KnownZerosChangeNoBit) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::normal_distribution<float> normal;
    const Triangle triangles[] = {
        {Q14Zeros::kRightOfDiagonal, [](int64_t m, int64_t k) { return k <= m; }},
        {Q14Zeros::kLeftOfDiagonal, [](int64_t m, int64_t k) { return k >= m; }}};
    // The last one over two blocks, where whole blocks are zeros.
    for (const auto& [size, columns] :
         {std::pair<int64_t, int64_t>{1, 1}, {31, 5}, {100, 64}, {257, 40}, {1100, 18}}) {
        const std::vector<float> b = [&] {
            std::vector<float> x(static_cast<size_t>(columns * size));
            std::generate(x.begin(), x.end(), [&] { return normal(generator); });
            return x;
        }();
        for (const auto& [zeros, kept] : triangles) {
            std::vector<float> a(static_cast<size_t>(size * size));
            for (int64_t m = 0; m < size; ++m) {
                for (int64_t k = 0; k < size; ++k)
                    a[static_cast<size_t>(m * size + k)] = kept(m, k) ? normal(generator) : 0.0f;
            }
            const std::vector<float> full(a.size(), 0.5f);
            for (const Isa isa : runnable_levels()) {
                QuantisedMatrix qa, qb;
                quantise_serial(isa, {a.data(), size, size, size}, Along::kRows, qa);
                quantise_serial(isa, {b.data(), columns, size, size}, Along::kRows, qb);
                std::vector<float> dense(static_cast<size_t>(size * columns)), sparse = dense;
                q14_product_serial(isa, qa, qb, {dense.data(), columns});
                // Nothing of an operand's former contents may show.
                quantise_serial(isa, {full.data(), size, size, size}, Along::kRows, qa);
                quantise_serial(isa, {a.data(), size, size, size}, Along::kRows, qa, std::nullopt,
                                zeros);
                q14_product_serial(isa, qa, qb, {sparse.data(), columns}, zeros);
                ASSERT_EQ(first_difference(sparse, dense), -1)
                    << isa_name(isa) << " " << size << " " << static_cast<int>(zeros);
                // As columns of the transpose.
                std::vector<float> transposed(a.size());
                for (int64_t m = 0; m < size; ++m) {
                    for (int64_t k = 0; k < size; ++k)
                        transposed[static_cast<size_t>(k * size + m)] =
                            a[static_cast<size_t>(m * size + k)];
                }
                quantise_serial(isa, {full.data(), size, size, size}, Along::kColumns, qa);
                quantise_serial(isa, {transposed.data(), size, size, size}, Along::kColumns, qa,
                                std::nullopt, zeros);
                q14_product_serial(isa, qa, qb, {sparse.data(), columns}, zeros);
                ASSERT_EQ(first_difference(sparse, dense), -1)
                    << isa_name(isa) << " " << size << " columns " << static_cast<int>(zeros);
            }
        }
    }
}

TEST(Levels, KnownZerosOfMoreVectorsThanElementsChangeNoBit) {
    constexpr int64_t kVectors = 70, kLength = 10, kColumns = 20;
    std::vector<float> a(kVectors * kLength), b(kColumns * kLength);
    for (size_t i = 0; i < b.size(); ++i)
        b[i] = 0.25f + static_cast<float>(i % 7);
    for (int64_t m = 0; m < kVectors; ++m) {
        for (int64_t k = m; k < kLength; ++k)
            a[static_cast<size_t>(m * kLength + k)] = 1.0f + static_cast<float>(m + k);
    }
    for (const Isa isa : runnable_levels()) {
        QuantisedMatrix qa, qb;
        quantise_serial(isa, {a.data(), kVectors, kLength, kLength}, Along::kRows, qa);
        quantise_serial(isa, {b.data(), kColumns, kLength, kLength}, Along::kRows, qb);
        std::vector<float> dense(kVectors * kColumns), sparse(kVectors * kColumns, 1.0f);
        q14_product_serial(isa, qa, qb, {dense.data(), kColumns});
        q14_product_serial(isa, qa, qb, {sparse.data(), kColumns}, Q14Zeros::kLeftOfDiagonal);
        EXPECT_EQ(first_difference(sparse, dense), -1) << isa_name(isa);
    }
}

TEST(Levels, OutputsRightOfTheDiagonalMayBeLeftOut) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::normal_distribution<float> normal;
    constexpr int64_t kSize = 133, kLength = 40;
    std::vector<float> a(kSize * kLength), b(kSize * kLength);
    std::generate(a.begin(), a.end(), [&] { return normal(generator); });
    std::generate(b.begin(), b.end(), [&] { return normal(generator); });
    for (const Isa isa : runnable_levels()) {
        QuantisedMatrix qa, qb;
        quantise_serial(isa, {a.data(), kSize, kLength, kLength}, Along::kRows, qa);
        quantise_serial(isa, {b.data(), kSize, kLength, kLength}, Along::kRows, qb);
        std::vector<float> dense(kSize * kSize), lower(kSize * kSize);
        q14_product_serial(isa, qa, qb, {dense.data(), kSize});
        q14_product_serial(isa, qa, qb, {lower.data(), kSize}, Q14Zeros::kOutputRightOfDiagonal);
        for (int64_t m = 0; m < kSize; ++m) {
            for (int64_t n = 0; n <= m; ++n) {
                const auto at = static_cast<size_t>(m * kSize + n);
                ASSERT_EQ(f32::to_bits(lower[at]), f32::to_bits(dense[at])) << isa_name(isa);
            }
        }
    }
}

TEST(Levels, FixedExponentsAgreeAndPoison) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    constexpr int64_t kRows = 20, kLength = 70;
    std::vector<float> p(kRows * kLength), v(kRows * kLength);
    for (float& x : p)
        x = static_cast<float>(generator() % 10000) / 10000.0f;
    for (float& x : v)
        x = static_cast<float>(generator() % 10000) / 100.0f - 50.0f;
    p[3] = 1.0f;
    p[5 * kLength + 2] = 0x1.000002p0f;
    p[7 * kLength + 69] = number(f32::kNanBits);
    std::vector<std::vector<float>> results;
    for (const Isa isa : runnable_levels()) {
        const Context context(isa, 1);
        std::vector<float> out(kRows * kRows);
        const Q14BatchItem item{{p.data(), kRows, kLength, kLength},
                                Along::kRows,
                                {v.data(), kRows, kLength, kLength},
                                Along::kRows,
                                {out.data(), kRows},
                                0,
                                std::nullopt};
        q14_product_batch(context, {&item, 1});
        results.push_back(out);
        for (int64_t m = 0; m < kRows; ++m) {
            const bool poisoned =
                f32::to_bits(out[static_cast<size_t>(m * kRows)]) == f32::kNanBits;
            EXPECT_EQ(poisoned, m == 5 || m == 7) << isa_name(isa) << " row " << m;
        }
        // Units of p are 2^-13 whatever the row holds.
        int64_t dot = 0;
        const int32_t e = row_exponent(v.data(), kLength);
        for (int64_t k = 0; k < kLength; ++k) {
            dot += static_cast<int64_t>(q14_quantise(p[static_cast<size_t>(k)], 0)) *
                   q14_quantise(v[static_cast<size_t>(k)], e);
        }
        EXPECT_EQ(f32::to_bits(out[0]), f32::to_bits(q14_finish(q14_block_term(dot, 0), 0, e)));
    }
    for (const auto& result : results)
        EXPECT_EQ(first_difference(result, results[0]), -1);
}

TEST(Levels, BatchesEqualSingleProductsForAnyThreadCount) {
    SCOPED_TRACE(seed_note());
    for (const Isa isa : runnable_levels()) {
        for (const int threads : {1, 2}) {
            const Context context(isa, threads);
            std::vector<std::vector<float>> outs;
            std::vector<Q14BatchItem> items;
            for (const auto& [c, expected] : solved_cases()) {
                outs.emplace_back(static_cast<size_t>(c.m * c.n));
                items.push_back({{c.a.data(), c.m, c.k, c.k},
                                 Along::kRows,
                                 {c.b.data(), c.n, c.k, c.k},
                                 Along::kRows,
                                 {outs.back().data(), c.n}});
            }
            q14_product_batch(context, items);
            for (size_t i = 0; i < outs.size(); ++i) {
                ASSERT_EQ(first_difference(outs[i], solved_cases()[i].product), -1)
                    << solved_cases()[i].problem.name;
            }
        }
    }
}

TEST(Levels, ElementwiseMapsEqualTheScalarOperations) {
    const std::vector<float> a = sample_numbers(9000011 / test_scale() | 1);
    std::vector<float> b = a, c = a;
    std::mt19937_64 generator(test_seed());
    std::shuffle(b.begin(), b.end(), generator);
    std::shuffle(c.begin(), c.end(), generator);
    const auto count = static_cast<int64_t>(a.size());
    using Binary = float (*)(float, float);
    const std::pair<BinaryOp, Binary> binaries[] = {
        {BinaryOp::kAdd, [](float x, float y) { return f32::add(x, y); }},
        {BinaryOp::kSub, [](float x, float y) { return f32::sub(x, y); }},
        {BinaryOp::kMul, [](float x, float y) { return f32::mul(x, y); }},
        {BinaryOp::kDiv, [](float x, float y) { return f32::div(x, y); }},
        {BinaryOp::kMax, [](float x, float y) { return f32::max(x, y); }},
        {BinaryOp::kMin, [](float x, float y) { return f32::min(x, y); }}};
    using Unary = float (*)(float);
    const std::pair<UnaryOp, Unary> unaries[] = {
        {UnaryOp::kNeg, [](float x) { return f32::neg(x); }},
        {UnaryOp::kAbs, [](float x) { return f32::abs(x); }},
        {UnaryOp::kSqrt, [](float x) { return f32::sqrt(x); }}};
    std::vector<float> y(a.size()), expected(a.size());
    for (const Isa isa : runnable_levels()) {
        for (const auto& [op, scalar] : binaries) {
            map_binary(isa, op, a.data(), b.data(), y.data(), count);
            for (size_t i = 0; i < a.size(); ++i)
                expected[i] = scalar(a[i], b[i]);
            EXPECT_EQ(first_difference(y, expected), -1) << isa_name(isa) << static_cast<int>(op);
            map_binary_scalar(isa, op, a.data(), -0.0f, y.data(), count);
            for (size_t i = 0; i < a.size(); ++i)
                expected[i] = scalar(a[i], -0.0f);
            EXPECT_EQ(first_difference(y, expected), -1) << isa_name(isa) << static_cast<int>(op);
        }
        for (const auto& [op, scalar] : unaries) {
            y = a;
            map_unary(isa, op, y.data(), y.data(), count);  // in place
            for (size_t i = 0; i < a.size(); ++i)
                expected[i] = scalar(a[i]);
            EXPECT_EQ(first_difference(y, expected), -1) << isa_name(isa) << static_cast<int>(op);
        }
        map_fma(isa, a.data(), b.data(), c.data(), y.data(), count);
        for (size_t i = 0; i < a.size(); ++i)
            expected[i] = f32::fma(a[i], b[i], c[i]);
        EXPECT_EQ(first_difference(y, expected), -1) << isa_name(isa);
        map_fma_scalar(isa, a.data(), 0x1.8p-60f, c.data(), y.data(), count);
        for (size_t i = 0; i < a.size(); ++i)
            expected[i] = f32::fma(a[i], 0x1.8p-60f, c[i]);
        EXPECT_EQ(first_difference(y, expected), -1) << isa_name(isa);
    }
}

TEST(Levels, ProductsKeepTheirGoldenBits) {
    // A fixed generator, so that a silent change of semantics shows even if every level follows it.
    std::vector<float> all;
    const Context context;
    uint32_t state = 1;
    const auto next = [&state] {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    };
    for (const int64_t k : {1, 33, 1024, 2500}) {
        Q14Case c{"golden", 5, 18, k, {}, {}};
        for (int64_t i = 0; i < c.m * k; ++i)
            c.a.push_back(next() * (i % k < 1024 ? 1.0f : 0x1p-9f));
        for (int64_t i = 0; i < c.n * k; ++i)
            c.b.push_back(next());
        const std::vector<float> out =
            computed_product(context, c, {Along::kRows, Along::kColumns});
        all.insert(all.end(), out.begin(), out.end());
    }
    EXPECT_EQ(bits_hash(all), 0x77ff64cea9694071u) << std::hex << "0x" << bits_hash(all);
}

}  // namespace
}  // namespace gym::kernels
