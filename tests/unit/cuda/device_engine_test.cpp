// Whole training steps on a device: every output of every op, the roots, the state.
#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/memory.hpp"
#include "gym/kernels/cuda/hash.hpp"
#include "random_tensors.hpp"
#include "runner.hpp"
#include "small_model.hpp"
#include "training_inputs.hpp"

namespace gym::engine {
namespace {

using testing::seed_of;

struct Output {
    std::string opcode;
    Digest root;
};

class DeviceEngine : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string reason = cuda_unavailable_reason();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
};

class DeviceTraining : public DeviceEngine,
                       public ::testing::WithParamInterface<program::TrainConfig> {};

TEST_P(DeviceTraining, HasTheBitsOfTheCpu) {
    const program::TrainConfig config = GetParam();
    const auto program = program::train_program(config).value();
    const auto dataset = testing::counting_dataset();
    State host = initial_state(program, seed_of("device")).value();
    State device_state = host;
    auto cpu = Engine::create(program);
    auto device = CudaEngine::create(program);
    ASSERT_TRUE(cpu.ok() && device.ok());
    std::vector<Output> expected;
    std::size_t compared = 0;
    cpu->set_trace([&](const TraceEntry& entry) {
        expected.push_back({std::string(entry.opcode), entry.output_root});
    });
    device->set_trace([&](const TraceEntry& entry) {
        ASSERT_LT(compared, expected.size());
        ASSERT_EQ(expected[compared].root, entry.output_root)
            << "op " << entry.op << " (" << entry.opcode << "), output " << entry.output_index;
        ++compared;
    });
    ASSERT_TRUE(device->load(device_state).ok());
    for (std::uint64_t step = 0; step < 3; ++step) {
        const testing::TrainingInputs inputs(dataset, config, step);
        ASSERT_TRUE(cpu->run(host, inputs.views()).ok());
        const Status ran = device->run(inputs.views());
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        ASSERT_EQ(compared, expected.size());
        if (HasFatalFailure()) return;
        EXPECT_EQ(device->state_root().value(), state_root(host));
    }
    ASSERT_TRUE(device->store(device_state).ok());
    EXPECT_EQ(device_state, host);
    EXPECT_EQ(device->output(program::kLossOutput).value(),
              Bytes(cpu->output(program::kLossOutput)->begin(),
                    cpu->output(program::kLossOutput)->end()));
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceTraining,
                         ::testing::Values(testing::small_config(),
                                           testing::full_training_config()),
                         [](const auto& test) {
                             return std::string(test.index == 0 ? "gpt" : "llama");
                         });

/// On a device, the last steps are CUDA graphs.
TEST_F(DeviceEngine, RepeatsStepsWithTheBitsOfTheCpu) {
    const program::TrainConfig config = testing::small_config();
    const auto program = testing::small_program();
    const auto dataset = testing::counting_dataset();
    State host = initial_state(program, seed_of("device")).value();
    std::string notices;
    auto cpu = Engine::create(program);
    const auto notice = [&](const std::string& line) { notices += line; };
    auto device = CudaEngine::create(program, {.checked = false, .notice = notice});
    ASSERT_TRUE(cpu.ok() && device.ok() && device->load(host).ok());
    for (std::uint64_t step = 0; step < 4; ++step) {
        const testing::TrainingInputs inputs(dataset, config, step);
        ASSERT_TRUE(cpu->run(host, inputs.views()).ok());
        const Status ran = device->run(inputs.views());
        ASSERT_TRUE(ran.ok()) << ran.error().message;
    }
    EXPECT_EQ(device->state_root().value(), state_root(host));
    EXPECT_EQ(notices, "");
}

TEST_F(DeviceEngine, RefusesWhatDoesNotFit) {
    const auto program = testing::small_program();
    EXPECT_EQ(CudaEngine::create(program, {.memory_bytes_max = 1000}).error().code,
              ErrorCode::kOutOfRange);
    EXPECT_EQ(CudaEngine::create(program, {.device = 1 << 20}).error().code, ErrorCode::kNotFound);
    auto device = CudaEngine::create(program);
    ASSERT_TRUE(device.ok());
    EXPECT_EQ(device->load(State{}).error().code, ErrorCode::kShapeMismatch);
    EXPECT_EQ(device->run({}).error().code, ErrorCode::kShapeMismatch);
    EXPECT_EQ(device->output("loss").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DeviceEngine, ARunnerUsesNoMoreMemoryThanIsLent) {
    const auto program = testing::small_program();
    const auto need = memory_need(program, {.device = "cuda"});
    ASSERT_TRUE(need.ok());
    const auto outcome = [&](std::uint64_t lent) {
        const State state = initial_state(program, testing::seed_of("lent")).value();
        return make_runner(program, state, {.memory_bytes_max = lent, .device = "cuda"});
    };
    EXPECT_TRUE(outcome(need->total()).ok());
    EXPECT_TRUE(outcome(0).ok()) << "all that is free";
    const auto refused = outcome(need->total() - 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
}

TEST_F(DeviceEngine, HashesTensorsOfEveryLength) {
    testing::Rng rng(testing::test_seed());
    std::string error;
    const auto device = kernels::cuda::Device::open(0, error);
    ASSERT_NE(device, nullptr) << error;
    // More than a launch takes, among them some that fill a level's scratch together.
    std::vector<std::size_t> sizes{
        1,    3,    4,        1000,         1023,      1024,           1025,
        2048, 3072, 5 * 1024, 9 * 1024 + 2, 64 * 1024, 100 * 1024 + 7, 300 * 1024 + 5};
    for (int i = 0; i < 80; ++i)
        sizes.push_back(1 + rng() % 20'000);
    std::vector<Bytes> tensors;
    std::vector<kernels::cuda::Region> regions;
    for (const std::size_t size : sizes) {
        Bytes& bytes = tensors.emplace_back(size);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>(rng());
        std::byte* const memory = device->allocate(size);
        device->upload(memory, bytes.data(), size);
        regions.push_back({memory, static_cast<std::int64_t>(size)});
    }
    std::byte* const roots = device->allocate(sizes.size() * sizeof(Digest));
    kernels::cuda::chunk_tree_roots(*device, regions, commit::absent_leaf().data, roots);
    std::vector<Digest> found(sizes.size());
    device->download(static_cast<void*>(found.data()), roots, sizes.size() * sizeof(Digest));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        EXPECT_EQ(found[i], commit::chunk_tree_root(tensors[i]))
            << sizes[i] << " bytes, " << device->error();
}

}  // namespace
}  // namespace gym::engine
