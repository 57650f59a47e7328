// nvcc's own objects, device.cu included, over a stand-in for the CUDA runtime
// (tests/support/cuda_emulation/runtime.hpp).
#include "runtime.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "device_memory.hpp"
#include "findings.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/memory.hpp"
#include "gym/engine/train.hpp"
#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "small_model.hpp"
#include "training_inputs.hpp"

namespace gym::engine {
namespace {

namespace runtime = emulation::runtime;
using testing::seed_of;

std::vector<std::string_view> gradients_of(const program::Program& program) {
    std::vector<std::string_view> names;
    for (const auto& output : program.outputs())
        if (output.name.starts_with(program::kGradientPrefix)) names.push_back(output.name);
    return names;
}

/// The state, the arena, the table of sums and scratch buffers are rounded up to pages.
constexpr std::uint64_t kRoundedMost =
    (3 + kernels::cuda::Device::kScratchBuffers) * kernels::cuda::allocated_bytes(1);

class CudaRuntime : public ::testing::Test {
  protected:
    ~CudaRuntime() override {
        runtime::fail_allocation(0);
        runtime::mend_devices();
        EXPECT_EQ(runtime::allocations(), 0U);
    }
    /// One step of training: the root of the new state.
    [[nodiscard]] Result<Digest> step(CudaEngine& engine) const {
        GYM_CHECK(engine.load(state_));
        const testing::TrainingInputs inputs(dataset_, config_, 0);
        GYM_CHECK(engine.run(inputs.views()));
        return engine.state_root();
    }
    [[nodiscard]] Result<Digest> step_on(int device) const {
        GYM_TRY(CudaEngine engine, CudaEngine::create(program_, {.device = device}));
        return step(engine);
    }
    [[nodiscard]] Digest expected() const {
        State state = state_;
        auto cpu = Engine::create(program_);
        const testing::TrainingInputs inputs(dataset_, config_, 0);
        EXPECT_TRUE(cpu->run(state, inputs.views()).ok());
        return state_root(state);
    }

    program::TrainConfig config_ = testing::small_config();
    program::Program program_ = testing::small_program();
    blob::Dataset dataset_ = testing::counting_dataset();
    State state_ = initial_state(program_, seed_of("runtime")).value();
};

TEST_F(CudaRuntime, StepsHaveTheRootOfTheCpuOnEveryDevice) {
    for (int device = 0; device < runtime::kDevices; ++device) {
        const auto root = step_on(device);
        ASSERT_TRUE(root.ok()) << root.error().message;
        EXPECT_EQ(*root, expected());
    }
    EXPECT_EQ(step_on(runtime::kDevices).error().code, ErrorCode::kNotFound);
}

TEST_F(CudaRuntime, AnEngineWorksAfterAnotherDeviceWasOpened) {
    auto first = CudaEngine::create(program_, {.device = 0});
    auto second = CudaEngine::create(program_, {.device = 1});
    ASSERT_TRUE(first.ok() && second.ok());
    for (CudaEngine* const engine : {&*first, &*second, &*first}) {
        const auto root = step(*engine);
        ASSERT_TRUE(root.ok()) << root.error().message;
        EXPECT_EQ(*root, expected());
    }
}

TEST_F(CudaRuntime, AnEngineWorksInAnotherThread) {
    auto engine = CudaEngine::create(program_, {.device = 1});
    ASSERT_TRUE(engine.ok());
    std::thread([&] {
        const auto root = step(*engine);
        ASSERT_TRUE(root.ok()) << root.error().message;
        EXPECT_EQ(*root, expected());
    }).join();
}

TEST_F(CudaRuntime, TwoThreadsUseADeviceEach) {
    std::vector<std::thread> threads;
    for (int device = 0; device < runtime::kDevices; ++device) {
        threads.emplace_back([this, device] {
            const auto root = step_on(device);
            ASSERT_TRUE(root.ok()) << root.error().message;
            EXPECT_EQ(*root, expected());
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

/// So that an op that reads what another one left there is found, on any device
/// (dirty_scratch.cpp).
TEST_F(CudaRuntime, ScratchLosesItsContentsAtEveryCall) {
    std::string error;
    const auto device = kernels::cuda::Device::open(0, error);
    ASSERT_TRUE(device) << error;
    const std::vector<std::int32_t> written{1, 2, 3};
    auto* const memory = device->scratch_of<std::int32_t>(0, 3);
    device->upload(memory, written.data(), sizeof(std::int32_t) * written.size());
    EXPECT_EQ(testing::downloaded(*device, memory, written.size()), written);
    ASSERT_EQ(device->scratch_of<std::int32_t>(0, 2), memory);
    const auto found = testing::downloaded(*device, memory, written.size());
    EXPECT_NE(found[0], 1);
    EXPECT_NE(found[1], 2);
    EXPECT_EQ(found[2], 3) << "beyond what was asked for";
    const auto findings = emulation::take_findings();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].what, "download of uninitialised memory");
}

/// What a program takes is known before it runs, as a driver rounds up each of its allocations.
TEST_F(CudaRuntime, AProgramTakesTheMemoryThatItNeeds) {
    for (const program::TrainConfig& config :
         {testing::small_config(), testing::full_training_config()}) {
        config_ = config;
        program_ = testing::small_program(config);
        state_ = initial_state(program_, seed_of("runtime")).value();
        const auto need = memory_need(program_, {.device = "cuda"});
        ASSERT_TRUE(need.ok());
        runtime::forget_peaks();
        {
            auto engine = CudaEngine::create(program_, {.memory_bytes_max = need->total()});
            ASSERT_TRUE(engine.ok()) << engine.error().message;
            ASSERT_TRUE(step(*engine).ok());
            ASSERT_TRUE(engine->output_roots(gradients_of(program_)).ok());
        }
        EXPECT_LE(runtime::peak_bytes(0) + kernels::cuda::kDriverBytes, need->total());
        EXPECT_GE(runtime::peak_bytes(0) + kernels::cuda::kDriverBytes + kRoundedMost,
                  need->total());
        EXPECT_EQ(
            CudaEngine::create(program_, {.memory_bytes_max = need->total() - 1}).error().code,
            ErrorCode::kOutOfRange);
    }
}

/// The host waits for a step, its scalars, the gradients' roots and the state's, however many
/// tensors there are.
TEST_F(CudaRuntime, AStepWaitsForItsDeviceAFewTimes) {
    constexpr std::uint64_t kWaits = 7;
    EngineOptions options;
    options.device = "cuda";
    auto trainer =
        Trainer::create(program_, state_, dataset_, {{seed_of("runtime"), 0, 0}, 1, 1, 0}, options);
    ASSERT_TRUE(trainer.ok()) << trainer.error().message;
    runtime::forget_work();
    ASSERT_TRUE(trainer->step().ok());
    EXPECT_LE(runtime::work().waits, kWaits);
    EXPECT_GT(gradients_of(program_).size(), kWaits);
}

TEST_F(CudaRuntime, WhatIsLentButNotFreeIsRefusedBeforeAllocation) {
    const runtime::CountOnly from_here;
    std::string error;
    const auto other = kernels::cuda::Device::open(0, error);
    ASSERT_TRUE(other) << error;
    const std::uint64_t lent = other->free_bytes();
    const std::uint64_t need = memory_need(program_, {.device = "cuda"})->total();
    ASSERT_NE(other->allocate(lent - need + 1), nullptr);
    const auto engine = CudaEngine::create(program_, {.memory_bytes_max = lent});
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(engine.error().message.find("free and lent"), std::string::npos)
        << engine.error().message;
}

/// The program of 124M parameters with 8 windows of 1,024 tokens, and inputs of it.
struct LargeModel {
    program::Program program = program::train_program(config()).value();
    std::vector<std::int32_t> tokens = std::vector<std::int32_t>(std::size_t{8} * 1025),
                              clock{0, 0};
    std::vector<NamedTensorView> inputs{{program::kBatchInput, bytes(tokens)},
                                        {program::kClockInput, bytes(clock)}};

    static program::TrainConfig config() {
        program::TrainConfig out;
        out.model.vocabulary = 50257;
        out.model.context = 1024;
        out.model.layers = out.model.heads = 12;
        out.model.width = 768;
        out.batch = 8;
        return out;
    }
    static ByteView bytes(const std::vector<std::int32_t>& values) {
        return {reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size()};
    }
};

/// Its 148 parameters and their optimizer's tensors would take 185 MiB more if each were an
/// allocation of its own.
TEST_F(CudaRuntime, AModelOfManyTensorsTakesTheMemoryThatItNeeds) {
    const LargeModel model;
    const auto need = memory_need(model.program, {.device = "cuda"});
    ASSERT_TRUE(need.ok());
    const runtime::CountOnly from_here;
    runtime::forget_peaks();
    auto engine = CudaEngine::create(model.program);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    (void)engine->run(model.inputs);
    (void)engine->output_roots(gradients_of(model.program));
    (void)engine->state_root();
    EXPECT_LE(runtime::peak_bytes(0) + kernels::cuda::kDriverBytes, need->total());
    EXPECT_GE(runtime::peak_bytes(0) + kernels::cuda::kDriverBytes + kRoundedMost, need->total());
}

/// Where a device reads pageable memory itself, it does so when it comes to it.
TEST_F(CudaRuntime, WhatWasUploadedMayChangeOnceTheCallHasReturned) {
    runtime::read_uploads_late(true);
    for (const bool checked : {true, false}) {
        auto engine = CudaEngine::create(program_, {.checked = checked});
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        State state = state_;
        ASSERT_TRUE(engine->load(state).ok());
        for (auto& tensor : state.tensors)
            std::ranges::fill(tensor.bytes, std::uint8_t{0x40});
        const testing::TrainingInputs inputs(dataset_, config_, 0);
        std::vector<Bytes> copies;
        for (const NamedTensorView& input : inputs.views())
            copies.emplace_back(input.bytes.begin(), input.bytes.end());
        std::vector<NamedTensorView> views;
        for (std::size_t i = 0; i < copies.size(); ++i)
            views.push_back({inputs.views()[i].name, copies[i]});
        ASSERT_TRUE(engine->run(views).ok());
        for (Bytes& copy : copies)
            std::ranges::fill(copy, std::uint8_t{0});
        const auto root = engine->state_root();
        ASSERT_TRUE(root.ok()) << root.error().message;
        EXPECT_EQ(*root, expected()) << (checked ? "checked" : "not checked");
    }
}

/// Counted by a run of the whole program, in which nothing is computed; docs/GPU.md gives the
/// figures that this prints.
TEST_F(CudaRuntime, LaunchesOfAStepAreCounted) {
    const LargeModel model;
    const runtime::CountOnly from_here;
    const auto counted = [](const char* what) {
        const runtime::Work work = runtime::work();
        std::cout << what << ": " << work.launches << " launches, " << work.graphs << " graphs, "
                  << work.copies << " copies and clears, " << work.waits << " waits\n";
        runtime::forget_work();
        return work.launches + work.graphs;
    };
    for (const bool checked : {true, false}) {
        auto engine = CudaEngine::create(model.program, {.checked = checked});
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        std::cout << (checked ? "checked" : "not checked") << "\n";
        runtime::forget_work();
        EXPECT_EQ(engine->run(model.inputs).ok(), !checked);
        EXPECT_LE(counted("a step"), checked ? 7'100U : 2'000U);
        EXPECT_EQ(engine->output_roots(gradients_of(model.program)).ok(), !checked);
        EXPECT_LE(counted("roots of gradients"), checked ? 130U : 65U);
        EXPECT_EQ(engine->state_root().ok(), !checked);
        EXPECT_LE(counted("root of the state"), checked ? 360U : 180U);
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(engine->run(model.inputs).ok(), !checked);
        runtime::forget_work();
        EXPECT_EQ(engine->run(model.inputs).ok(), !checked);
        EXPECT_LE(counted("a step as graphs"), checked ? 40U : 12U);
    }
}

/// Two matrices of scores alone need 16 GiB.
TEST_F(CudaRuntime, AProgramWhoseScoresDoNotFitIsRefusedBeforeItStarts) {
    program::TrainConfig config;
    config.model.context = 8192;
    config.model.layers = 1;
    config.model.heads = 32;
    config.model.width = 256;
    config.batch = 1;
    runtime::forget_peaks();
    const auto engine = CudaEngine::create(program::train_program(config).value(),
                                           {.memory_bytes_max = std::uint64_t{16} << 30});
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(engine.error().message.find("a shorter context"), std::string::npos)
        << engine.error().message;
    EXPECT_EQ(runtime::peak_bytes(0), 0U);
}

TEST_F(CudaRuntime, OneUsableDeviceIsEnough) {
    runtime::age_device(0);
    EXPECT_EQ(cuda_unavailable_reason(), "");
    EXPECT_NE(CudaEngine::create(program_, {.device = 0}).error().message.find("8.0 is needed"),
              std::string::npos);
    const auto root = step_on(1);
    ASSERT_TRUE(root.ok()) << root.error().message;
    runtime::age_device(1);
    EXPECT_NE(cuda_unavailable_reason().find("8.0 is needed"), std::string::npos);
}

TEST_F(CudaRuntime, ADeviceThatIsLostIsKnownFromAFailureThatPasses) {
    auto engine = CudaEngine::create(program_);
    ASSERT_TRUE(engine.ok());
    runtime::fail_allocation(1);
    EXPECT_EQ(step(*engine).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(check_device("cuda:0").ok()) << "out of memory is no reason to end the process";
    const auto next = step_on(0);
    EXPECT_TRUE(next.ok()) << "of another engine: " << next.error().message;
    runtime::break_device(0);
    EXPECT_EQ(step_on(0).error().code, ErrorCode::kNotFound);
    const Status lost = check_device("cuda:0");
    ASSERT_FALSE(lost.ok());
    EXPECT_NE(lost.error().message.find("illegal memory access"), std::string::npos)
        << lost.error().message;
    EXPECT_TRUE(check_device("cuda:1").ok());
    EXPECT_TRUE(check_device("cpu").ok());
}

TEST_F(CudaRuntime, AnyAllocationMayFail) {
    int failures = 0;
    for (int number = 1;; ++number, ++failures) {
        ASSERT_LT(number, 1000);
        runtime::fail_allocation(number);
        const auto root = step_on(0);
        if (root.ok()) break;
        EXPECT_NE(root.error().message.find("out of memory"), std::string::npos)
            << root.error().message;
        EXPECT_EQ(runtime::allocations(), 0U);
    }
    EXPECT_GT(failures, 10);  // slots and scratch
}

}  // namespace
}  // namespace gym::engine
