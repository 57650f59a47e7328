// The product through oneDNN, with the process bound to the level named GYM_TEST_PROCESS_ISA.
#include "cpu/onednn.hpp"

#include "gym/kernels/q14_product.hpp"
#include "q14_cases.hpp"

#define GYM_TEST_STRING_(x) #x
#define GYM_TEST_STRING(x) GYM_TEST_STRING_(x)

namespace gym::kernels {
namespace {

Q14Operand operand(QuantisedMatrix& matrix) {
    return {matrix.panel(0),
            matrix.block_exponents(0),
            matrix.energies(),
            matrix.vectors(),
            matrix.panels() * QuantisedMatrix::kPanel,
            matrix.length(),
            matrix.pairs(),
            matrix.blocks()};
}

class OneDnn : public testing::Test {
  protected:
    void SetUp() override {
        const Isa isa = parse_isa(GYM_TEST_STRING(GYM_TEST_PROCESS_ISA)).value();
        if (!onednn_available()) GTEST_SKIP() << "built without oneDNN";
        if (isa > detect_isa()) GTEST_SKIP() << "this CPU has no " << isa_name(isa);
        ASSERT_TRUE(set_process_isa_max(isa));
        ASSERT_EQ(process_isa_max(), isa);
    }
};

TEST_F(OneDnn, ProductsEqualTheReference) {
    SCOPED_TRACE(seed_note());
    for (const Q14Case& c : Q14CaseMaker(test_seed()).all()) {
        if (c.m == 0 || c.n == 0 || c.k == 0) continue;
        QuantisedMatrix a, b;
        quantise_serial(Isa::kScalar, {c.a.data(), c.m, c.k, c.k}, Along::kRows, a);
        quantise_serial(Isa::kScalar, {c.b.data(), c.n, c.k, c.k}, Along::kRows, b);
        const std::vector<float> expected = q14_reference::product(c);
        for (const int threads : {1, 2}) {
            std::vector<float> out(expected.size());
            ThreadPool pool(threads);
            onednn_q14_product(pool, operand(a), operand(b), out.data(), c.n);
            ASSERT_EQ(first_difference(out, expected), -1)
                << c.name << " " << c.m << "x" << c.n << "x" << c.k;
        }
    }
}

TEST_F(OneDnn, DigitsAtTheirLimitsDoNotSaturate) {
    // q = 8127 is high 63, low 63; q = -8192 is high -64, low 0: the largest sums of digits of each
    // sign.
    for (const float value : {8127.0f, -8192.0f, -8256.0f + 64.0f, 64.0f, -64.0f, 8128.0f}) {
        Q14Case c{"limits", 16, 16, 1024, {}, {}};
        for (int64_t i = 0; i < 16 * 1024; ++i) {
            // The power of two fixes the exponent of the row at 14, so that q is the value itself.
            c.a.push_back(i % 1024 == 0 ? 8192.0f : value / 2);
            c.b.push_back(i % 1024 == 0 ? -8192.0f : value);
        }
        QuantisedMatrix a, b;
        quantise_serial(Isa::kScalar, {c.a.data(), c.m, c.k, c.k}, Along::kRows, a);
        quantise_serial(Isa::kScalar, {c.b.data(), c.n, c.k, c.k}, Along::kRows, b);
        std::vector<float> out(256);
        ThreadPool pool(1);
        onednn_q14_product(pool, operand(a), operand(b), out.data(), 16);
        ASSERT_EQ(first_difference(out, q14_reference::product(c)), -1) << value;
    }
}

}  // namespace
}  // namespace gym::kernels
