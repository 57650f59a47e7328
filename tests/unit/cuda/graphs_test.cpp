// Steps that are launched as CUDA graphs, over the stand-in for the CUDA runtime
// (tests/support/cuda_emulation/runtime.hpp), and what the stand-in allows while a stream captures.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <thread>

#include "device_memory.hpp"
#include "findings.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/device.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "runtime.hpp"
#include "small_model.hpp"
#include "training_inputs.hpp"

namespace gym::engine {
namespace {

namespace runtime = emulation::runtime;
namespace cuda = kernels::cuda;

/// A step that grows scratch, one whose work is noted, one that is captured, and more.
constexpr std::uint64_t kSteps = 4;

class CudaGraphs : public ::testing::Test {
  protected:
    CudaGraphs() { runtime::forget_work(); }
    ~CudaGraphs() override {
        runtime::fail_allocation(0);
        runtime::mend_devices();
        EXPECT_EQ(runtime::allocations(), 0U);
        EXPECT_EQ(runtime::graphs(), 0U);
    }
    void use(const program::TrainConfig& config) {
        config_ = config;
        program_ = testing::small_program(config);
        state_ = initial_state(program_, testing::seed_of("graphs")).value();
    }
    [[nodiscard]] Status run(CudaEngine& engine, std::uint64_t step) const {
        const testing::TrainingInputs inputs(dataset_, config_, step);
        return engine.run(inputs.views());
    }
    /// Roots of the state after each step on the CPU.
    [[nodiscard]] std::vector<Digest> expected() const {
        State state = state_;
        auto cpu = Engine::create(program_);
        std::vector<Digest> roots;
        for (std::uint64_t step = 0; step < kSteps; ++step) {
            const testing::TrainingInputs inputs(dataset_, config_, step);
            EXPECT_TRUE(cpu->run(state, inputs.views()).ok());
            roots.push_back(state_root(state));
        }
        return roots;
    }
    /// Trains on the device, and compares each step. @return what each asked of it.
    [[nodiscard]] std::vector<runtime::Work> train(const CudaOptions& options) const {
        auto engine = CudaEngine::create(program_, options);
        EXPECT_TRUE(engine.ok() && engine->load(state_).ok());
        std::vector<runtime::Work> steps;
        for (const Digest& expected_root : expected()) {
            runtime::forget_work();
            const Status ran = run(*engine, steps.size());
            EXPECT_TRUE(ran.ok()) << ran.error().message;
            steps.push_back(runtime::work());
            const auto root = engine->state_root();
            EXPECT_EQ(root.ok() ? *root : Digest(), expected_root) << "step " << steps.size();
        }
        return steps;
    }

    program::TrainConfig config_ = testing::small_config();
    program::Program program_ = testing::small_program();
    blob::Dataset dataset_ = testing::counting_dataset();
    State state_ = initial_state(program_, testing::seed_of("graphs")).value();
};

/// Batch, clock and words of randomness are others in each step, moments and learning rate, too.
TEST_F(CudaGraphs, StepsHaveTheRootsOfTheCpu) {
    for (const auto& config : {testing::small_config(), testing::full_training_config()}) {
        use(config);
        for (const bool checked : {false, true}) {
            if (checked && config.model.dropout != 0) continue;  // ten times as long
            const std::vector<runtime::Work> steps = train({.checked = checked});
            const runtime::Work &first = steps.front(), &last = steps.back();
            std::cout << "a step: " << first.launches << " launches, " << first.copies
                      << " copies and clears; with graphs " << last.launches << ", " << last.copies
                      << " and " << last.graphs << " graphs\n";
            EXPECT_EQ(first.graphs, 0U);
            EXPECT_GT(last.graphs, 0U);
            EXPECT_LT(10 * (last.launches + last.graphs), first.launches);
            EXPECT_EQ(last.waits, first.waits);
        }
    }
}

TEST_F(CudaGraphs, StepsOfTwoDevicesInTwoThreads) {
    std::vector<std::thread> threads;
    for (int device = 0; device < runtime::kDevices; ++device) {
        threads.emplace_back([this, device] {
            auto engine = CudaEngine::create(program_, {.device = device, .checked = false});
            ASSERT_TRUE(engine.ok() && engine->load(state_).ok());
            for (std::uint64_t step = 0; step < kSteps; ++step)
                ASSERT_TRUE(run(*engine, step).ok());
            const auto root = engine->state_root();
            ASSERT_TRUE(root.ok());
            EXPECT_EQ(*root, expected().back());
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_GT(runtime::work().graphs, 0U);
}

TEST_F(CudaGraphs, ATraceWaitsForEachOp) {
    auto engine = CudaEngine::create(program_, {.checked = false});
    ASSERT_TRUE(engine.ok() && engine->load(state_).ok());
    std::size_t outputs = 0;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        engine->set_trace(step == 2 ? [&](const TraceEntry&) { ++outputs; }
                                    : std::function<void(const TraceEntry&)>());
        ASSERT_TRUE(run(*engine, step).ok());
    }
    EXPECT_GT(outputs, 100U);
    const auto root = engine->state_root();
    ASSERT_TRUE(root.ok());
    EXPECT_EQ(*root, expected().back());
}

TEST_F(CudaGraphs, WithoutThemStepsHaveTheSameRoots) {
    std::vector<std::string> notices;
    runtime::refuse_graphs();
    const auto notice = [&](const std::string& line) { notices.push_back(line); };
    const runtime::Work last = train({.checked = false, .notice = notice}).back();
    EXPECT_EQ(last.graphs, 0U);
    EXPECT_GT(last.launches, 100U);
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_EQ(notices[0],
              "CUDA graphs are not used: operation not supported; kernels are launched one by one");
}

TEST_F(CudaGraphs, ALostDeviceIsNoFaultOfGraphs) {
    bool told = false;
    const auto notice = [&](const std::string&) { told = true; };
    auto engine = CudaEngine::create(program_, {.checked = false, .notice = notice});
    ASSERT_TRUE(engine.ok() && engine->load(state_).ok());
    for (std::uint64_t step = 0; step < kSteps; ++step)
        ASSERT_TRUE(run(*engine, step).ok());
    runtime::break_device(0);
    const Status lost = run(*engine, kSteps);
    ASSERT_FALSE(lost.ok());
    EXPECT_NE(lost.error().message.find("illegal memory access"), std::string::npos)
        << lost.error().message;
    EXPECT_FALSE(check_device("cuda:0").ok());
    EXPECT_FALSE(told);
}

/// Work of a device between the two ends of what is repeated, with kernels whose arguments change.
class RepeatedWork : public CudaGraphs {
  protected:
    static constexpr std::int64_t kColumns = 40, kRows = 24;

    RepeatedWork() {
        std::string error;
        device_ = cuda::Device::open(0, error);
        std::vector<float> values(kRows * kColumns);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i % 97);
        x_ = testing::uploaded(*device_, values);
        sums_ = testing::poisoned_array<float>(*device_, kColumns);
        cuda::macro_column_sum(*device_, x_, kRows, kColumns, sums_);  // scratch has grown
        for (std::int64_t c = 0; c < kColumns; ++c)
            for (std::int64_t r = 0; r < kRows; ++r)
                expected_[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] =
                    (r > 0 ? expected_[static_cast<std::size_t>(r) - 1][static_cast<std::size_t>(c)]
                           : 0.0F) +
                    values[static_cast<std::size_t>(r * kColumns + c)];
    }
    /// Sums of the first `rows` rows, twice.
    void sum(std::int64_t rows) {
        device_->begin_repeated();
        for (int i = 0; i < 2; ++i)
            cuda::macro_column_sum(*device_, x_, rows, kColumns, sums_);
        device_->end_repeated();
        const auto found = testing::downloaded(*device_, sums_, kColumns);
        EXPECT_TRUE(std::ranges::equal(found, expected_[static_cast<std::size_t>(rows) - 1]))
            << rows << " rows";
        EXPECT_EQ(device_->error(), "");
    }
    std::uint64_t graphs_launched_by(std::int64_t rows) {
        const std::uint64_t before = runtime::work().graphs;
        sum(rows);
        return runtime::work().graphs - before;
    }

    std::unique_ptr<cuda::Device> device_;
    float *x_ = nullptr, *sums_ = nullptr;
    std::array<std::array<float, kColumns>, kRows> expected_{};
};

TEST_F(RepeatedWork, IsAGraphFromTheSecondOfTwoEqualTimes) {
    for (const std::uint64_t graphs : {0, 1, 1})
        EXPECT_EQ(graphs_launched_by(kRows), graphs);
}

TEST_F(RepeatedWork, NoArgumentOfAGraphIsStale) {
    for (int i = 0; i < 4; ++i)
        sum(kRows);
    EXPECT_EQ(graphs_launched_by(kRows - 7), 0U);
    EXPECT_EQ(graphs_launched_by(kRows - 8), 0U);
    EXPECT_EQ(graphs_launched_by(kRows - 8), 1U);
    EXPECT_EQ(graphs_launched_by(kRows), 0U);
    EXPECT_EQ(runtime::graphs(), 0U) << "what differs has no graph";
}

/// A copy to the host and one from it, with kernels before that are only noted.
TEST_F(RepeatedWork, TheHostsCopiesKeepTheirOrder) {
    const std::vector<float> other(kColumns, 0.5F);
    for (int i = 0; i < 3; ++i) {
        device_->begin_repeated();
        cuda::macro_column_sum(*device_, x_, kRows, kColumns, sums_);
        EXPECT_TRUE(std::ranges::equal(testing::downloaded(*device_, sums_, kColumns),
                                       expected_[kRows - 1]));
        cuda::macro_column_sum(*device_, x_, kRows, kColumns, sums_);
        device_->upload(sums_, other.data(), other.size() * sizeof(float));
        device_->end_repeated();
        EXPECT_EQ(testing::downloaded(*device_, sums_, kColumns), other);
    }
    EXPECT_EQ(device_->error(), "");
}

/// Its kernels use buffers that are gone once scratch has grown.
TEST_F(RepeatedWork, IsAnotherOneOnceScratchMoved) {
    for (int i = 0; i < 4; ++i)
        sum(kRows);
    float* const wide = testing::poisoned_array<float>(*device_, 50 * kColumns);
    device_->clear(wide, 50 * kColumns * sizeof(float));
    cuda::macro_column_sum(*device_, wide, 1, 50 * kColumns, wide);
    EXPECT_EQ(graphs_launched_by(kRows), 0U);
    EXPECT_EQ(graphs_launched_by(kRows), 1U);
}

/// A graph that gets no memory ends graphs, and nothing else.
TEST_F(RepeatedWork, GoesOnWithoutTheMemoryOfAGraph) {
    sum(kRows);
    runtime::fail_allocation(1);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(graphs_launched_by(kRows), 0U);
    EXPECT_EQ(device_->no_graphs_because(), "out of memory");
}

TEST_F(RepeatedWork, GivesTheMemoryOfItsGraphsToScratch) {
    for (int i = 0; i < 4; ++i)
        sum(kRows);
    EXPECT_EQ(runtime::graphs(), 1U);
    float* const wide = testing::poisoned_array<float>(*device_, 50 * kColumns);
    device_->clear(wide, 50 * kColumns * sizeof(float));
    runtime::fail_allocation(1);
    cuda::macro_column_sum(*device_, wide, 1, 50 * kColumns, wide);
    EXPECT_EQ(device_->error(), "");
    EXPECT_EQ(runtime::graphs(), 0U);
    EXPECT_EQ(device_->no_graphs_because(), "out of memory");
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(graphs_launched_by(kRows), 0U);
}

/// What the stand-in does with calls of the runtime, as the real one.
class Capture : public CudaGraphs {
  protected:
    Capture() {
        cudaSetDevice(0);
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        cudaMalloc(&memory_, kBytes);
    }
    ~Capture() override {
        cudaStreamDestroy(stream_);
        cudaFree(memory_);
        cudaGetLastError();
    }
    void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
        ASSERT_EQ(cudaStreamBeginCapture(stream_, mode), cudaSuccess);
    }
    cudaError_t end() {
        cudaGraph_t graph = nullptr;
        const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
        if (graph != nullptr) cudaGraphDestroy(graph);
        return error;
    }
    /// The call gives this error, and the capture it is made in is of no use.
    template <typename Call>
    void expect_forbidden(const Call& call, cudaError_t error = cudaErrorStreamCaptureUnsupported) {
        begin();
        EXPECT_EQ(call(), error);
        EXPECT_EQ(cudaMemsetAsync(memory_, 0, kBytes, stream_), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(cudaMemsetAsync(memory_, 0, kBytes, stream_), cudaSuccess);
    }
    /// A graph that clears `memory_`.
    cudaGraphExec_t clearing() {
        begin();
        EXPECT_EQ(cudaMemsetAsync(memory_, 0, kBytes, stream_), cudaSuccess);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
        EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
        cudaGraphDestroy(graph);
        return executable;
    }

    static constexpr std::size_t kBytes = 64;
    cudaStream_t stream_ = nullptr;
    void* memory_ = nullptr;
};

TEST_F(Capture, RefusesWhatItDoesNotSee) {
    void* other = nullptr;
    expect_forbidden([&] { return cudaMalloc(&other, kBytes); });
    expect_forbidden([&] { return cudaFree(memory_); });
    expect_forbidden([&] { return cudaStreamSynchronize(stream_); });
    expect_forbidden([&] { return cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed); },
                     cudaErrorIllegalState);
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed),
              cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(end(), cudaErrorIllegalState);
}

TEST_F(Capture, RefusesEventsThatItRecorded) {
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    expect_forbidden([&] { return cudaEventQuery(event); });
    begin(cudaStreamCaptureModeRelaxed);
    ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
    EXPECT_EQ(end(), cudaSuccess);
    cudaEventDestroy(event);
}

TEST_F(Capture, RefusesTheLegacyStreamBesideABlockingOne) {
    cudaStream_t blocking = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), cudaSuccess);
    std::swap(blocking, stream_);
    expect_forbidden([&] { return cudaMemsetAsync(memory_, 0, kBytes, nullptr); },
                     cudaErrorStreamCaptureImplicit);
    cudaStreamDestroy(blocking);
}

TEST_F(Capture, IsOfAThread) {
    const auto in_another_thread = [](const auto& call) {
        cudaError_t error = cudaSuccess;
        std::thread([&] { error = call(); }).join();
        return error;
    };
    void *other = nullptr, *refused = nullptr;
    begin();
    EXPECT_EQ(in_another_thread([&] { return cudaMalloc(&other, kBytes); }), cudaSuccess);
    EXPECT_EQ(end(), cudaSuccess);
    begin(cudaStreamCaptureModeGlobal);
    EXPECT_EQ(in_another_thread([&] { return cudaMalloc(&refused, kBytes); }),
              cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
    begin();
    EXPECT_EQ(in_another_thread([&] { return end(); }), cudaErrorStreamCaptureWrongThread);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaFree(other), cudaSuccess);
}

TEST_F(Capture, RunsNothingAndItsGraphRunsEachTime) {
    const std::vector<std::uint8_t> ones(kBytes, 1), zeros(kBytes, 0);
    std::vector<std::uint8_t> found(kBytes);
    const auto expect = [&](const std::vector<std::uint8_t>& bytes) {
        ASSERT_EQ(cudaMemcpyAsync(found.data(), memory_, kBytes, cudaMemcpyDeviceToHost, stream_),
                  cudaSuccess);
        EXPECT_EQ(found, bytes);
    };
    const auto write_ones = [&] {
        ASSERT_EQ(cudaMemcpyAsync(memory_, ones.data(), kBytes, cudaMemcpyHostToDevice, stream_),
                  cudaSuccess);
    };
    write_ones();
    cudaGraphExec_t const graph = clearing();
    expect(ones);
    for (int i = 0; i < 2; ++i) {
        write_ones();
        ASSERT_EQ(cudaGraphLaunch(graph, stream_), cudaSuccess);
        expect(zeros);
    }
    EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(graph, stream_), cudaErrorInvalidValue);
}

TEST_F(Capture, AGraphThatUsesAFreedBufferIsFound) {
    cudaGraphExec_t const graph = clearing();
    ASSERT_EQ(cudaFree(memory_), cudaSuccess);
    memory_ = nullptr;
    ASSERT_EQ(cudaGraphLaunch(graph, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    const auto findings = emulation::take_findings();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].what.find("clear"), std::string::npos) << findings[0].what;
    EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
}

}  // namespace
}  // namespace gym::engine
