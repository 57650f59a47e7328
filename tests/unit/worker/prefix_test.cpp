// Prefixes that a worker signs.
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>

#include "gym/worker/worker.hpp"
#include "local_coordinator.hpp"
#include "manual_clock.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

class WorkerPrefixTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::TemporaryFolder dir_;
    testing::ManualClock clock_{1'000};
    std::optional<std::chrono::milliseconds> every_ = std::chrono::milliseconds(0);
    std::uint64_t stop_after_ = ~std::uint64_t{0};  ///< steps
    std::stop_source stop_;
    std::unique_ptr<Worker> worker_;

    void SetUp() override {
        handler_.tasks[key_.address()] = job_.task(0);
        records::UnitReceipt view;
        view.key = job_.unit(0);
        view.id = protocol::unit_id(view.key);
        view.worker = key_.address();
        handler_.units[view.id] = view;
        open();
    }
    void open() {
        worker_.reset();
        stop_ = {};
        WorkerOptions options;
        options.data_dir = dir_.path();
        options.checkpoint_every = std::chrono::milliseconds(0);
        options.prefix_every = every_;
        options.on_progress = [this](const engine::UnitProgress& progress) {
            if (progress.step == stop_after_) stop_.request_stop();
        };
        worker_ = Worker::open(coordinator_, key_, clock_, options).value();
    }
    Result<bool> run_once() { return worker_->run_once(stop_.get_token()); }
    /// The statement that anyone else would compute.
    protocol::UnitPrefix expected(std::uint32_t steps) {
        const auto chain = engine::record_chain(job_.run(0).records);
        return {protocol::hash(job_.record), 0, 0, steps, chain.at(steps - 1)};
    }
    void expect_honest(const protocol::SignedPrefix& prefix) {
        EXPECT_EQ(prefix.prefix, expected(prefix.prefix.steps));
        EXPECT_TRUE(protocol::verify_signature(testing::MemoryHandler::network_info().domain(),
                                               prefix, key_.address())
                        .ok());
    }
};

TEST_F(WorkerPrefixTest, SignsForTheStepsSoFarAsAnyoneWouldComputeThem) {
    ASSERT_TRUE(run_once().value());
    ASSERT_FALSE(handler_.prefixes.empty());
    for (const protocol::SignedPrefix& prefix : handler_.prefixes)
        expect_honest(prefix);
    EXPECT_TRUE(std::ranges::is_sorted(handler_.prefixes, std::less<>(),
                                       [](const auto& one) { return one.prefix.steps; }));
    EXPECT_FALSE(worker_->last_words().has_value()) << "it is committed to";
}

TEST_F(WorkerPrefixTest, IsSeldom) {
    every_ = std::chrono::hours(1);
    open();
    ASSERT_TRUE(run_once().value());
    EXPECT_TRUE(handler_.prefixes.empty()) << "the unit was done before";
}

TEST_F(WorkerPrefixTest, CanBeTurnedOff) {
    every_.reset();
    stop_after_ = 2;
    open();
    EXPECT_EQ(run_once().error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(handler_.prefixes.empty());
    EXPECT_FALSE(worker_->last_words().has_value());
}

TEST_F(WorkerPrefixTest, AWorkerThatStopsHasSomethingToSayAndGoesOnLater) {
    every_ = std::chrono::hours(1);
    stop_after_ = 2;
    open();
    EXPECT_EQ(run_once().error().code, ErrorCode::kCancelled);
    const auto words = worker_->last_words();
    ASSERT_TRUE(words.has_value());
    EXPECT_EQ(words->prefix.steps, 2U);
    expect_honest(*words);

    stop_after_ = 3;
    open();
    EXPECT_EQ(run_once().error().code, ErrorCode::kCancelled);
    ASSERT_TRUE(worker_->last_words().has_value());
    EXPECT_EQ(worker_->last_words()->prefix.steps, 3U) << "from its checkpoint";
    expect_honest(*worker_->last_words());

    stop_after_ = ~std::uint64_t{0};
    open();
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(handler_.commitments.size(), 1U);
    EXPECT_FALSE(worker_->last_words().has_value());
}

TEST_F(WorkerPrefixTest, ARefusalOrSilenceDoesNotHoldTheUnitUp) {
    for (const ErrorCode code : {ErrorCode::kConflict, ErrorCode::kUnavailable}) {
        handler_.failures["submit_prefix"] = fail(code, "no");
        handler_.tasks[key_.address()] = job_.task(0);
        ASSERT_TRUE(run_once().value());
        EXPECT_EQ(handler_.commitments.size(), 1U);
    }
    EXPECT_TRUE(handler_.prefixes.empty());
}

TEST_F(WorkerPrefixTest, WhatWasNotTakenIsSaidAtTheEnd) {
    handler_.failures["submit_prefix"] = fail(ErrorCode::kUnavailable, "gone");
    stop_after_ = 3;
    EXPECT_EQ(run_once().error().code, ErrorCode::kCancelled);
    ASSERT_TRUE(worker_->last_words().has_value());
    EXPECT_EQ(worker_->last_words()->prefix.steps, 3U);
}

}  // namespace
}  // namespace gym::worker
