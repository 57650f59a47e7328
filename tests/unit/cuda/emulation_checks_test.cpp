// The checks of the emulation find each fault that they are for, and nothing in a kernel without
// one.
#include <gtest/gtest.h>

#include <algorithm>

#include "device_memory.hpp"
#include "findings.hpp"
#include "wrong_kernels.hpp"

namespace gym::kernels::cuda {
namespace {

using emulation::take_findings;
using engine::testing::downloaded;
using engine::testing::poisoned_array;
using engine::testing::uploaded;

constexpr std::size_t kCount = 128;

class EmulationChecks : public ::testing::Test {
  protected:
    EmulationChecks() {
        std::string error;
        device_ = Device::open(0, error);
    }
    /// Whatever else may follow from the fault, this is found.
    void expect(Fault fault, const std::string& what) {
        SCOPED_TRACE(what);
        const std::vector<float> ones(kCount, 1.0F);
        std::vector<float> host(kCount);
        run_with_fault(*device_, fault, uploaded(*device_, ones),
                       poisoned_array<float>(*device_, kCount), host.data());
        const auto found = take_findings();
        EXPECT_TRUE(std::ranges::any_of(found, [&](const auto& f) { return f.what == what; }))
            << found.size() << " others";
        // What the checks do to report it is no access of the kernel's.
        const auto of_host = [](const auto& f) {
            return f.what.find("host memory") != std::string::npos;
        };
        EXPECT_EQ(std::ranges::any_of(found, of_host), what.find("host memory") != what.npos);
    }
    std::unique_ptr<Device> device_;
};

TEST_F(EmulationChecks, FindsAccessesOutsideOfAllocations) {
    expect(Fault::kReadBeyondEnd, "outside of every allocation");
    expect(Fault::kWriteBeforeBegin, "outside of every allocation");
    expect(Fault::kReadFreedScratch, "outside of every allocation");
    expect(Fault::kBeyondShared, "a kernel writes host memory");
}

TEST_F(EmulationChecks, FindsReadsOfUninitialisedMemory) {
    expect(Fault::kReadUninitialised, "reads uninitialised memory");
    expect(Fault::kReadUninitialisedShared, "reads uninitialised memory");
}

TEST_F(EmulationChecks, FindsMisalignedAccesses) {
    expect(Fault::kMisaligned, "misaligned by its size");
    expect(Fault::kCopyMisaligned, "an asynchronous copy that is not aligned to 16 bytes");
}

TEST_F(EmulationChecks, FindsTheOtherSidesMemory) {
    expect(Fault::kReadHostMemory, "a kernel reads host memory");
    expect(Fault::kWriteHostMemory, "a kernel writes host memory");
    expect(Fault::kWriteArguments, "writes its arguments");
    const std::vector<float> ones(kCount, 1.0F);
    EXPECT_EQ(read_on_the_host(uploaded(*device_, ones)), 1.0F);
    ASSERT_FALSE(take_findings().empty());
    device_->upload(const_cast<float*>(ones.data()), ones.data(), sizeof(float));
    ASSERT_FALSE(take_findings().empty());
}

TEST_F(EmulationChecks, FindsRaces) {
    expect(Fault::kSharedWithoutBarrier, "race: reads what another thread wrote");
    expect(Fault::kSharedOverwritten, "race: writes what another thread read");
    expect(Fault::kGlobalInOneBlock, "race: writes what another thread wrote");
    expect(Fault::kGlobalBetweenBlocks, "race: writes what another thread wrote");
    expect(Fault::kSumWithoutAtomics, "race: reads what another thread wrote");
    expect(Fault::kReadOfAtomics, "race: writes what another thread read");
}

TEST_F(EmulationChecks, FindsBarriersThatSomeThreadsMiss) {
    expect(Fault::kBarrierInOneBranch, "threads of a block meet in different places");
    expect(Fault::kBarrierAfterReturn, "a thread has left before a barrier of its block");
    expect(Fault::kShuffleOfSomeLanes, "some lanes of a warp do not come to its collective");
}

TEST_F(EmulationChecks, FindsCopiesThatMayNotHaveArrived) {
    expect(Fault::kCopyWithoutWait, "touches what an asynchronous copy has not written yet");
    expect(Fault::kCopyWithoutBarrier, "race: reads what another thread wrote");
}

TEST_F(EmulationChecks, FindsMatricesThatMayNotBeLoaded) {
    expect(Fault::kMatrixBeforeBarrier, "race: reads what another thread wrote");
    expect(Fault::kMatrixUninitialised, "reads uninitialised memory");
    expect(Fault::kMatrixMisaligned, "a row of a matrix that is not aligned to 16 bytes");
    expect(Fault::kMatrixElsewhere, "a row of a matrix outside of shared memory");
    expect(Fault::kMatrixOfSomeLanes, "some lanes of a warp do not come to its collective");
}

TEST_F(EmulationChecks, GivesEachLaneItsWordsOfMatrices) {
    constexpr std::size_t kLanes = 32, kWords = 4;
    std::vector<std::uint32_t> rows(kLanes * kWords);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<std::uint32_t>(1000 + i);
    auto* const out = poisoned_array<std::uint32_t>(*device_, rows.size());
    load_matrices_of(*device_, uploaded(*device_, rows), out);
    const auto found = downloaded(*device_, out, rows.size());
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        for (std::size_t matrix = 0; matrix < kWords; ++matrix) {
            const std::size_t row = 5 * (8 * matrix + lane / 4) % kLanes;
            EXPECT_EQ(found[lane * kWords + matrix], rows[row * kWords + lane % 4])
                << "lane " << lane << ", matrix " << matrix;
        }
}

TEST_F(EmulationChecks, FindsWhatTheHostMayNotDo) {
    expect(Fault::kGridTooHigh, "a launch beyond a device's limits");
    auto* const memory = poisoned_array<float>(*device_, kCount);
    float value = 0;
    device_->download(&value, memory, sizeof value);
    EXPECT_EQ(take_findings().at(0).what, "download of uninitialised memory");
    device_->clear(memory, kCount * sizeof(float) + 1);
    EXPECT_EQ(take_findings().at(0).what, "clear of what is not device memory");
    device_->clear(memory, kCount * sizeof(float));
    device_->copy(memory, memory + 1, 2 * sizeof(float));
    EXPECT_EQ(take_findings().at(0).what, "a copy over itself");
}

TEST_F(EmulationChecks, FindsNothingInARightKernel) {
    const std::vector<float> ones(kCount, 1.0F);
    auto* const out = poisoned_array<float>(*device_, kCount);
    run_with_fault(*device_, Fault::kNone, uploaded(*device_, ones), out, nullptr);
    EXPECT_EQ(downloaded(*device_, out, kCount), ones);
}

TEST_F(EmulationChecks, ForEachVisitsMoreElementsThanThreads) {
    constexpr std::size_t kElements = 1000;
    auto* const out = poisoned_array<float>(*device_, kElements);
    count_by_one_block(*device_, out, kElements);
    const auto found = downloaded(*device_, out, kElements);
    for (std::size_t i = 0; i < kElements; ++i)
        ASSERT_EQ(found[i], static_cast<float>(i));
}

}  // namespace
}  // namespace gym::kernels::cuda
