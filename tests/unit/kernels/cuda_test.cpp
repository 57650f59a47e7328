// A CUDA device gives the bits of the scalar headers. Skips where there is no device.
#include "gym/kernels/cuda_reference.hpp"

#include "gym/kernels/programs.h"
#include "gym/kernels/rows.h"
#include "q14_cases.hpp"

namespace gym::kernels {
namespace {

class Cuda : public testing::Test {
  protected:
    void SetUp() override {
        const std::string reason = cuda::unavailable_reason();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
};

TEST_F(Cuda, ProgramsAndElementwiseOpsEqualTheCpus) {
    const std::vector<float> x = sample_numbers(40009 / test_scale() | 1);
    const auto count = static_cast<int64_t>(x.size());
    std::vector<float> y(x.size()), expected(x.size());
    for (const UnaryOp op :
         {UnaryOp::kNeg, UnaryOp::kAbs, UnaryOp::kSqrt, UnaryOp::kExp, UnaryOp::kLog,
          UnaryOp::kTanh, UnaryOp::kSigmoid, UnaryOp::kSilu, UnaryOp::kGelu, UnaryOp::kRsqrt}) {
        ASSERT_EQ(cuda::map_unary(op, x.data(), y.data(), count), "");
        map_unary(Isa::kScalar, op, x.data(), expected.data(), count);
        EXPECT_EQ(first_difference(y, expected), -1) << "op " << static_cast<int>(op);
    }
    std::vector<float> a = x, b = x;
    std::mt19937_64 generator(test_seed());
    std::shuffle(a.begin(), a.end(), generator);
    std::shuffle(b.begin(), b.end(), generator);
    for (const BinaryOp op : {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kDiv,
                              BinaryOp::kMax, BinaryOp::kMin}) {
        ASSERT_EQ(cuda::map_binary(op, x.data(), a.data(), y.data(), count), "");
        map_binary(Isa::kScalar, op, x.data(), a.data(), expected.data(), count);
        EXPECT_EQ(first_difference(y, expected), -1) << "op " << static_cast<int>(op);
    }
    ASSERT_EQ(cuda::map_fma(x.data(), a.data(), b.data(), y.data(), count), "");
    map_fma(Isa::kScalar, x.data(), a.data(), b.data(), expected.data(), count);
    EXPECT_EQ(first_difference(y, expected), -1);
}

TEST_F(Cuda, ExactSumsEqualTheCpus) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 generator(test_seed());
    std::normal_distribution<float> normal;
    constexpr int64_t kRows = 50, kColumns = 333;
    std::vector<float> x(kRows * kColumns), y(kRows), expected(kRows);
    for (float& v : x)
        v = std::ldexp(normal(generator), static_cast<int>(generator() % 200) - 120);
    x[5 * kColumns + 7] = number(f32::kInfinityBits);
    ASSERT_EQ(cuda::row_sums(x.data(), kRows, kColumns, y.data()), "");
    for (int64_t r = 0; r < kRows; ++r) {
        expected[static_cast<size_t>(r)] = exact_sum(x.data() + r * kColumns, kColumns);
    }
    EXPECT_EQ(first_difference(y, expected), -1);
}

TEST_F(Cuda, Q14ProductsEqualTheReference) {
    SCOPED_TRACE(seed_note());
    for (const Q14Case& c : Q14CaseMaker(test_seed()).all()) {
        std::vector<float> out(static_cast<size_t>(c.m * c.n));
        ASSERT_EQ(cuda::q14_product(c.a.data(), c.b.data(), {c.m, c.n, c.k}, out.data()), "");
        ASSERT_EQ(first_difference(out, q14_reference::product(c)), -1)
            << c.name << " " << c.m << "x" << c.n << "x" << c.k;
    }
}

}  // namespace
}  // namespace gym::kernels
