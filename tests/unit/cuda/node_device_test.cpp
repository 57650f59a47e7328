// What a node does with its GPU besides units, over the stand-in for the CUDA runtime.
#include <gtest/gtest.h>

#include "gym/node/benchmark.hpp"
#include "runtime.hpp"
#include "small_model.hpp"

namespace gym::node {
namespace {

namespace runtime = emulation::runtime;

class CudaNode : public ::testing::Test {
  protected:
    ~CudaNode() override {
        runtime::mend_devices();
        EXPECT_EQ(runtime::allocations(), 0U);
    }
};

TEST_F(CudaNode, TheBenchmarkMeasuresLaunchesOfGraphs) {
    // Segments of fewer commands are no graphs.
    constexpr std::uint64_t kLaunchesMax = 8;
    engine::EngineOptions options;
    options.device = "cuda";
    auto run = BenchmarkRun::create(engine::testing::small_program(), options);
    ASSERT_TRUE(run.ok()) << run.error().message;
    const auto root = run->warm_up();
    ASSERT_TRUE(root.ok()) << root.error().message;
    const std::size_t graphs = runtime::graphs();
    runtime::forget_work();
    ASSERT_TRUE(run->step().ok());
    EXPECT_GT(runtime::work().graphs, 0U);
    EXPECT_LT(runtime::work().launches, kLaunchesMax);
    EXPECT_EQ(runtime::graphs(), graphs) << "none is made while it measures";
    auto on_cpu = BenchmarkRun::create(engine::testing::small_program(), {});
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.error().message;
    EXPECT_EQ(on_cpu->warm_up().value(), *root);
}

}  // namespace
}  // namespace gym::node
