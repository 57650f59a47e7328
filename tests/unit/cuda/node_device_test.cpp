// What a node does with its GPU besides units, over the stand-in for the CUDA runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gym/common/file.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/state.hpp"
#include "gym/kernels/cuda/device.hpp"
#include "gym/node/benchmark.hpp"
#include "gym/node/device_errors.hpp"
#include "gym/node/doctor.hpp"
#include "gym/node/machine.hpp"
#include "gym/node/node_lock.hpp"
#include "gym/node/registration.hpp"
#include "gym/rpc/server.hpp"
#include "memory_handler.hpp"
#include "offered_memory.hpp"
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
    [[nodiscard]] NodeConfig node_in_network(const std::string& device) {
        NodeConfig config = node_on(device);
        server_ = rpc::Server::start({.ask_every_ms = 50}, handler_, clock_).value();
        config.coordinator = "127.0.0.1:" + std::to_string(server_->port());
        config.passphrase_file = dir_.path() / "pass";
        EXPECT_TRUE(write_file_atomic(config.passphrase_file, as_bytes("secret\n"), 0600).ok());
        return config;
    }
    testing::TemporaryFolder dir_;
    const SystemClock clock_;
    testing::MemoryHandler handler_;
    std::unique_ptr<rpc::Server> server_;
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
        EXPECT_EQ(check(engine::device_erred("cuda:0", "op 3")).ok(),
                  error < DeviceErrors::kErrorsMax);
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

/// Of a device that computes nothing the engine finds every result wrong.
TEST_F(CudaNode, WhatACardErrsInRegistrationAndDoctorCounts) {
    const runtime::CountOnly from_here;
    const NodeConfig config = node_in_network("cuda:1");
    const auto engine_finding = [&] {
        const auto findings = run_doctor(config);
        const auto found = std::ranges::find(findings, "engine", &Finding::check);
        EXPECT_TRUE(found != findings.end() && !found->ok);
        return found == findings.end() ? std::string() : found->detail;
    };
    const auto expect_text = [](const std::string& said, const std::string& text) {
        EXPECT_NE(said.find(text), std::string::npos) << said;
    };
    ASSERT_EQ(DeviceErrors::kErrorsMax, 3U);
    expect_text(engine_finding(), "1 of 3 times that end its use");
    expect_text(register_node(config, {}).error().message, "2 of 3 times that end its use");
    EXPECT_EQ(register_node(config, {}).error().code, ErrorCode::kInvalidArgument) << "the third";
    expect_text(engine_finding(), "gave wrong results 3 times");
    expect_text(register_node(config, {}).error().message, "gave wrong results 3 times");
    EXPECT_TRUE(handler_.profiles.empty());
}

/// The card's own errors, whatever the failure is that ends the attempt.
TEST_F(CudaNode, ErrorsOfTheHostAndOfAnotherCardAreNotTheCards) {
    const NodeConfig config = node_on("cuda:0");
    const auto check = device_check(config);
    for (unsigned error = 0; error < DeviceErrors::kErrorsMax; ++error) {
        EXPECT_TRUE(check(engine::device_erred("cpu", "the final state")).ok());
        EXPECT_TRUE(check(engine::device_erred("cuda:1", "op 3")).ok());
    }
    EXPECT_TRUE(device_of(config).ok());
    (void)engine::device_erred("cuda", "op 4 (matmul): a product is wrong");
    EXPECT_TRUE(check(fail(ErrorCode::kUnavailable, "the coordinator is away")).ok());
    const auto lines = read_file(config.data_dir / "device-errors");
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    const std::string text(lines->begin(), lines->end());
    EXPECT_NE(text.find("op 4 (matmul)"), std::string::npos) << text;
    EXPECT_EQ(text.find("coordinator"), std::string::npos) << text;
}

TEST_F(CudaNode, AUnitWithoutRoomEndsTheSessionSoThatLessIsRegistered) {
    const NodeConfig config = node_on("cuda:1");
    const auto check = device_check(config);
    const program::Program program = engine::testing::small_program();
    const auto refused = engine::CudaEngine::create(program, {.device = 1, .memory_bytes_max = 1});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(check(refused.error()).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(check(refused.error()).ok()) << "said once";
    {
        auto engine = engine::CudaEngine::create(program, {.device = 1});
        ASSERT_TRUE(engine.ok());
        const engine::State state =
            engine::initial_state(program, engine::testing::seed_of("no room")).value();
        ASSERT_TRUE(engine->load(state).ok());
        runtime::fail_allocation(1);
        EXPECT_EQ(engine->state_root().error().code, ErrorCode::kUnavailable);
    }
    EXPECT_EQ(check(fail(ErrorCode::kUnavailable, "x")).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(device_check(node_on("cuda:0"))(refused.error()).ok());
}

TEST_F(CudaNode, WithoutAWordOfTheDriverNoMemoryIsRegistered) {
    const runtime::CountOnly from_here;
    std::string error;
    const auto other = kernels::cuda::Device::open(0, error);
    ASSERT_TRUE(other) << error;
    ASSERT_NE(other->allocate(other->free_bytes()), nullptr);
    const NodeConfig config = node_on("cuda:0");
    EXPECT_EQ(engine::free_device_bytes("cuda").error().code, ErrorCode::kUnavailable);
    const std::uint64_t lent = lent_memory(config, {}).value();
    EXPECT_EQ(usable_memory(config, lent, {}).error().code, ErrorCode::kUnavailable);
}

TEST_F(CudaNode, MemoryThatOtherProgramsHaveIsNotRegistered) {
    const runtime::CountOnly from_here;
    std::string error;
    const auto other = kernels::cuda::Device::open(1, error);
    ASSERT_TRUE(other) << error;
    const NodeConfig config = node_on("cuda:1");
    std::string told;
    const RegisterOptions options{.tell = [&](const std::string& note) { told = note; }};
    const std::uint64_t lent = lent_memory(config, options).value();
    const std::uint64_t alone = lent - runtime::kContextBytes;
    EXPECT_EQ(usable_memory(config, lent, options).value(), alone) << "but for the driver's";
    constexpr std::uint64_t kTaken = std::uint64_t{3} << 30;
    ASSERT_NE(other->allocate(kTaken), nullptr);
    EXPECT_EQ(lent_memory(config, options).value(), lent) << "it may be free again";
    EXPECT_EQ(usable_memory(config, lent, options).value(), alone - kTaken);
    EXPECT_NE(told.find("21248 MiB of the GPU's memory are free now, not 24576 MiB"),
              std::string::npos)
        << told;
    EXPECT_EQ(usable_memory(config, lent / 2, options).value(), lent / 2);
    EXPECT_EQ(usable_memory(node_on("cuda:0"), lent, options).value(), alone) << "another card";
}

TEST_F(CudaNode, ADriverThatIsAbsentIsToldFromOneThatIsTooOld) {
    const auto reasons = [&] {
        const auto refused = device_of(node_on("cuda"));
        EXPECT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
        const std::string listed = engine::cuda_devices().none_because;
        EXPECT_NE(refused.error().message.find(listed), std::string::npos)
            << refused.error().message;
        EXPECT_NE(refused.error().message.find("another --device"), std::string::npos);
        return listed;
    };
    runtime::set_driver_version(0);
    EXPECT_EQ(reasons(), "NVIDIA's driver is not installed here: install it");
    runtime::set_driver_version(10'020);
    const std::string old = reasons();
    EXPECT_TRUE(old.starts_with("NVIDIA's driver supports CUDA 10.2, and this gym is built with "))
        << old;
    EXPECT_TRUE(old.ends_with(": update the driver, or rebuild with a CUDA Toolkit 10.x")) << old;
}

/// What the node has of the card is no fault of it.
TEST_F(CudaNode, DoctorLeavesAWorkingNodeAlone) {
    const runtime::CountOnly from_here;
    NodeConfig config = node_in_network("cuda:0");
    config.memory_bytes = std::uint64_t{8} << 30;
    const auto detail = [&](const std::string& check) {
        const auto findings = run_doctor(config);
        const auto found = std::ranges::find(findings, check, &Finding::check);
        EXPECT_TRUE(found != findings.end() && found->ok) << check;
        return found == findings.end() ? std::string() : found->detail;
    };
    EXPECT_EQ(detail("memory"),
              "lends 8192 MiB of the GPU's 24576 MiB, of which 24320 MiB are free now");
    ASSERT_FALSE(register_node(config, {}).ok()) << "it makes the key";
    const auto at_work = NodeLock::acquire(config);
    ASSERT_TRUE(at_work.ok()) << at_work.error().message;
    std::string error;
    const auto engine = kernels::cuda::Device::open(0, error);
    ASSERT_TRUE(engine) << error;
    ASSERT_NE(engine->allocate(engine->free_bytes()), nullptr);
    EXPECT_EQ(detail("memory"), "lends 8192 MiB of the GPU's 24576 MiB, in use by the node");
    EXPECT_NE(detail("engine").find("in use: "), std::string::npos);
}

TEST_F(CudaNode, WithoutItsDeviceDoctorSaysWhyOnce) {
    runtime::set_driver_version(0);
    const auto findings = run_doctor(node_on("cuda"));
    EXPECT_EQ(std::ranges::count_if(findings,
                                    [](const Finding& finding) {
                                        return finding.detail.find("not installed") !=
                                               std::string::npos;
                                    }),
              1);
}

TEST_F(CudaNode, AtWorkOnAGpuItIsNotRegistered) {
    const runtime::CountOnly from_here;
    const NodeConfig config = node_in_network("cuda:0");
    ASSERT_FALSE(register_node(config, {}).ok()) << "it makes the key";
    const auto at_work = NodeLock::acquire(config);
    ASSERT_TRUE(at_work.ok()) << at_work.error().message;
    EXPECT_EQ(register_node(config, {}).error().code, ErrorCode::kConflict);
}

/// kOutOfRange would end a service for good.
TEST_F(CudaNode, ABenchmarkWithoutRoomFailsForNowIfOthersHaveTheMemory) {
    const runtime::CountOnly from_here;
    std::string error;
    const auto other = kernels::cuda::Device::open(0, error);
    ASSERT_TRUE(other) << error;
    NodeConfig config = node_on("cuda:0");
    config.memory_bytes = std::uint64_t{64} << 20;
    EXPECT_EQ(measure_device(config, 1).error().code, ErrorCode::kOutOfRange) << "it lends so much";
    ASSERT_NE(other->allocate(other->free_bytes() - config.memory_bytes), nullptr);
    EXPECT_EQ(measure_device(config, 1).error().code, ErrorCode::kOutOfRange);
    config.memory_bytes = 0;
    EXPECT_EQ(measure_device(config, 1).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace gym::node
