#include "gym/engine/memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/train.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

/// Large enough that its buffers outweigh what a process has anyway.
program::Program program_of(std::uint32_t batch) {
    program::TrainConfig config;
    config.model.vocabulary = 256;
    config.model.context = 256;
    config.model.layers = 2;
    config.model.heads = 2;
    config.model.width = 128;
    config.batch = batch;
    auto program = program::train_program(config);
    EXPECT_TRUE(program.ok());
    return std::move(*program);
}

/// Peak memory that two steps add to a process, measured in a child of its own.
std::uint64_t measured_bytes(const program::Program& program, const EngineOptions& options) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto peak = [] {
            rusage usage{};
            getrusage(RUSAGE_SELF, &usage);
            return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
        };
        const std::string text = testing::counting_text(100000);
        const auto dataset = blob::Dataset::build_from_text(as_bytes(text));
        const std::uint64_t before = peak();
        auto state = initial_state(program, Digest());
        auto trainer = Trainer::create(program, std::move(*state), *dataset, {{}, 2, 0}, options);
        std::uint64_t added = 0;
        if (trainer.ok() && trainer->step().ok() && trainer->step().ok()) added = peak() - before;
        const auto written = write(ends[1], &added, sizeof added);
        _exit(written == sizeof added ? 0 : 1);
    }
    std::uint64_t added = 0;
    EXPECT_EQ(read(ends[0], &added, sizeof added), static_cast<ssize_t>(sizeof added));
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    close(ends[1]);
    return added;
}

TEST(MemoryTest, TheEstimateIsWhatTrainingTakes) {
    const auto program = program_of(8);
    for (const unsigned threads : {1U, 2U}) {
        const EngineOptions options{.threads = threads};
        const auto need = memory_need(program, options);
        ASSERT_TRUE(need.ok());
        const auto measured = static_cast<double>(measured_bytes(program, options));
        const auto estimate = static_cast<double>(need->total());
        EXPECT_GT(estimate, measured * 0.85) << threads << " threads";
        EXPECT_LT(estimate, measured * 1.35) << threads << " threads";
    }
}

TEST(MemoryTest, OnADeviceTheScoresOfAllHeadsCount) {
    program::TrainConfig config;
    config.model.context = 8192;
    config.model.layers = 1;
    config.model.heads = 32;
    config.model.width = 256;
    config.batch = 1;
    const auto program = program::train_program(config);
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto host = memory_need(*program), device = memory_need(*program, {.device = "cuda:3"});
    ASSERT_TRUE(host.ok() && device.ok());
    constexpr std::uint64_t kScores = 2ULL * 32 * 8192 * 8192 * sizeof(float);
    EXPECT_GT(device->workspace, kScores);
    EXPECT_LT(host->workspace, kScores / 8) << "a thread has one head at a time";
    EXPECT_EQ(device->temps, kernels::cuda::allocated_bytes(host->temps));
    EXPECT_EQ(device->state % kernels::cuda::allocated_bytes(1), 0U);
    EXPECT_EQ(memory_need(*program, {.device = "tpu"}).error().code, ErrorCode::kInvalidArgument);
}

TEST(MemoryTest, BesideAGpuTheHostHasTheStateAndADelta) {
    const auto program = program_of(2);
    const auto base = base_of(program, initial_state(program, {}).value());
    ASSERT_TRUE(base.ok());
    // AdamW has two tensors for each parameter, and a few numbers.
    const std::uint64_t four = 4 * base->size_bytes();
    EXPECT_GE(host_bytes_beside_gpu(program), four);
    EXPECT_LT(host_bytes_beside_gpu(program), four + 64);
}

TEST(MemoryTest, ItGrowsWithTheBatchButNotItsState) {
    const auto small = memory_need(program_of(2)), large = memory_need(program_of(8));
    ASSERT_TRUE(small.ok() && large.ok());
    EXPECT_GT(large->temps, 2 * small->temps);
    EXPECT_LT(large->state, small->state + (std::uint64_t{1} << 20));
}

TEST(MemoryTest, AProgramThatDoesNotFitIsRefused) {
    const auto program = program_of(8);
    const auto need = memory_need(program);
    ASSERT_TRUE(need.ok());
    EngineOptions options;
    options.memory_bytes_max = need->state + (need->temps + need->workspace) / 2;
    const auto engine = Engine::create(program, options);
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(engine.error().message.find(memory_text(need->total())), std::string::npos)
        << engine.error().message;
    options.memory_bytes_max = need->total();
    EXPECT_TRUE(Engine::create(program, options).ok());
}

TEST(MemoryTest, TheMachineSaysHowMuchIsAvailable) {
    const auto available = available_memory_bytes();
    ASSERT_TRUE(available.ok());
    EXPECT_GT(*available, std::uint64_t{16} << 20);
    EXPECT_EQ(memory_text(1536), "1.5 KiB");
    EXPECT_EQ(memory_text(std::uint64_t{3} << 29), "1.5 GiB");
}

}  // namespace
}  // namespace gym::engine
