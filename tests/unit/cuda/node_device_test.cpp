// What a node does with its GPU besides units, over the stand-in for the CUDA runtime.
#include <gtest/gtest.h>

#include <set>

#include "gym/engine/device.hpp"
#include "gym/node/benchmark.hpp"
#include "gym/node/device_errors.hpp"
#include "gym/node/machine.hpp"
#include "runtime.hpp"
#include "small_model.hpp"
#include "temporary_folder.hpp"

namespace gym::node {
namespace {

namespace runtime = emulation::runtime;

class CudaNode : public ::testing::Test {
  protected:
    ~CudaNode() override {
        runtime::mend_devices();
        EXPECT_EQ(runtime::allocations(), 0U);
    }
    [[nodiscard]] NodeConfig node_on(const std::string& device) const {
        NodeConfig config;
        config.data_dir = dir_.path();
        config.device = device;
        return config;
    }
    testing::TemporaryFolder dir_;
};

TEST_F(CudaNode, TheBenchmarkMeasuresLaunchesOfGraphs) {
    // Segments of fewer commands are no graphs.
    constexpr std::uint64_t kLaunchesMax = 8;
    engine::EngineOptions options;
    options.device = "cuda";
    program::TrainConfig config = engine::testing::small_config();
    config.model.context = config.model.width = 8;
    config.batch = 1;
    const program::Program program = engine::testing::small_program(config);
    auto run = BenchmarkRun::create(program, options);
    ASSERT_TRUE(run.ok()) << run.error().message;
    const auto root = run->warm_up();
    ASSERT_TRUE(root.ok()) << root.error().message;
    const std::size_t graphs = runtime::graphs();
    runtime::forget_work();
    ASSERT_TRUE(run->step().ok());
    EXPECT_GT(runtime::work().graphs, 0U);
    EXPECT_LT(runtime::work().launches, kLaunchesMax);
    EXPECT_EQ(runtime::graphs(), graphs) << "none is made while it measures";
    auto on_cpu = BenchmarkRun::create(program, {});
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.error().message;
    EXPECT_EQ(on_cpu->warm_up().value(), *root);
}

TEST_F(CudaNode, EveryCardHasAUuid) {
    std::set<std::string> uuids;
    for (const engine::CudaDevice& card : engine::cuda_devices().devices)
        uuids.insert(card.uuid);
    EXPECT_EQ(uuids, (std::set<std::string>{"GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a000",
                                            "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a001"}));
}

TEST_F(CudaNode, ACardTakesItsErrorsToAnotherPlace) {
    const auto check = device_check(node_on("cuda:0"));
    for (unsigned error = 1; error <= DeviceErrors::kErrorsMax; ++error)
        EXPECT_EQ(check(engine::device_erred("op 3")).ok(), error < DeviceErrors::kErrorsMax);
    const auto refused = device_of(node_on("cuda:0"));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("emulated (GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a000)"),
              std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(device_of(node_on("cuda")).ok()) << "the same card";
    EXPECT_TRUE(device_of(node_on("cuda:1")).ok());
    runtime::reorder_cards();
    EXPECT_TRUE(device_of(node_on("cuda:0")).ok()) << "another card";
    EXPECT_FALSE(device_of(node_on("cuda:1")).ok());
}

}  // namespace
}  // namespace gym::node
