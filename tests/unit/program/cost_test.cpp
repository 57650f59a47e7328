#include "gym/program/cost.hpp"

#include <gtest/gtest.h>

#include "gym/program/builder.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {
namespace {

TEST(Flops, AProductCosts2MNK) {
    Builder b;
    const SlotId x = b.input("x", DType::kF32, {5, 3000});
    const SlotId w = b.input("w", DType::kF32, {7, 3000});
    b.output("y", b.matmul(x, w));
    EXPECT_EQ(flops_per_step(*b.build()), 2U * 5 * 7 * 3000);
}

TEST(Flops, ElementwiseOpsAndSumsCostOneAnElement) {
    Builder b;
    const SlotId x = b.input("x", DType::kF32, {4, 6});
    b.output("y", b.row_sum(b.unary(Opcode::kExp, b.fma(x, x, x))));
    EXPECT_EQ(flops_per_step(*b.build()), (2U + 1 + 1) * 24);
}

TEST(Flops, OfAGptAreMostlyItsProducts) {
    TrainConfig config;
    config.model = {.vocabulary = 256, .context = 128, .layers = 5, .heads = 4, .width = 128};
    config.batch = 8;
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok());
    const double tokens = 8 * 128;
    const double weights = 12.0 * 5 * 128 * 128 + 256 * 128;
    const double linear = 6 * tokens * weights;
    // Two products of 2 T^2 d forward, five backward (one is computed again), per window and layer.
    const double attention = 7.0 * 2 * 128 * 128 * 128 * 8 * 5;
    const auto flops = static_cast<double>(flops_per_step(*program));
    EXPECT_GT(flops, linear + attention);
    EXPECT_LT(flops, 1.1 * (linear + attention));
    EXPECT_EQ(flops_per_step(*expand(*program)), flops_per_step(*program));
}

TEST(Parameters, AreCountedOnce) {
    TrainConfig config;
    config.model = {.vocabulary = 100, .context = 16, .layers = 2, .heads = 2, .width = 8};
    const std::uint64_t block = 12 * 8 * 8 + 4 * 8;
    const std::uint64_t tied = 100 * 8 + 16 * 8 + 2 * block + 2 * 8;
    EXPECT_EQ(parameter_count(*train_program(config)), tied);
    // Parameters, two moments each, two powers of beta.
    EXPECT_EQ(state_bytes(*train_program(config)), 4 * (3 * tied + 2));
    config.model.tied_embeddings = false;
    EXPECT_EQ(parameter_count(*train_program(config)), tied + 100 * 8);
    config.model.bias = true;
    EXPECT_EQ(parameter_count(*train_program(config)), tied + 100 * 8 + 2 * (3 + 1 + 4 + 1) * 8);
}

}  // namespace
}  // namespace gym::program
