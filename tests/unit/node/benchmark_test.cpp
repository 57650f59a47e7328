#include "gym/node/benchmark.hpp"

#include <gtest/gtest.h>

#include "gym/engine/memory.hpp"
#include "gym/program/cost.hpp"

namespace gym::node {
namespace {

TEST(BenchmarkTest, OnTheCpuItHasTheRootOfEveryMachine) {
    const auto once = run_benchmark({}, 1);
    ASSERT_TRUE(once.ok()) << once.error().message;
    EXPECT_GT(once->flops_per_second, 0U);
    EXPECT_EQ(once->state_root.hex(),
              "0x5fa884e41a048767397ff04a87bc87d7c77e85488293c3820ec0389380079872");
    EXPECT_EQ(run_benchmark({.isa = "scalar"}, 1)->state_root, once->state_root);
}

/// A launch takes microseconds, in which a GPU could do a hundred million operations.
TEST(BenchmarkTest, OnAGpuProductsOutweighLaunches) {
    const engine::EngineOptions gpu{.device = "cuda:1"};
    const auto program = benchmark_program(gpu);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_GT(program::flops_per_step(*program) / program->ops().size(), 1'000'000'000U);
    const auto need = engine::memory_need(*program, gpu);
    ASSERT_TRUE(need.ok()) << need.error().message;
    EXPECT_LT(need->total(), std::uint64_t{4} << 30) << "small GPUs run it, too";
}

TEST(BenchmarkTest, AnUnknownDeviceIsAnError) {
    EXPECT_EQ(benchmark_program({.device = "tpu"}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::node
