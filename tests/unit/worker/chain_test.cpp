// A worker that looks at the chain itself, and what it remembers across restarts.

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_chain_view.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/file.hpp"
#include "gym/worker/worker.hpp"
#include "local_coordinator.hpp"
#include "manual_clock.hpp"
#include "manual_timer.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

using std::chrono::milliseconds;

class WorkerChainTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::FakeChainView chain_;
    testing::ManualTimer timer_;
    testing::TemporaryFolder dir_;
    const testing::ManualClock clock_{1'000};
    std::vector<std::string> events_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));
    std::unique_ptr<Worker> worker_ = open();

    void SetUp() override { assign(); }

    std::unique_ptr<Worker> open() {
        WorkerOptions options;
        options.data_dir = dir_.path();
        options.chain = &chain_;
        options.timer = &timer_;
        options.chain_wait = milliseconds(50);
        options.checkpoint_every = milliseconds(0);
        options.on_event = [this](const WorkerEvent& event) { events_.push_back(event.name); };
        return Worker::open(coordinator_, key_, clock_, options).value();
    }
    void restart() {
        worker_.reset();
        worker_ = open();
    }
    void assign() {
        handler_.tasks[key_.address()] = job_.task(0);
        records::UnitReceipt view;
        view.key = job_.unit(0);
        view.worker = key_.address();
        handler_.units[unit_] = view;
    }
    std::size_t count(std::string_view event) const {
        return static_cast<std::size_t>(std::ranges::count(events_, event));
    }
};

TEST_F(WorkerChainTest, NothingIsComputedBeforeTheRecordIsOnChain) {
    const auto early = worker_->run_once({});
    EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(early.error().message.find("not on the chain yet"), std::string::npos);
    EXPECT_EQ(count("started"), 0u);
    chain_.post(job_.record, 0);
    EXPECT_TRUE(worker_->run_once({}).value());
    EXPECT_EQ(count("accepted"), 1u);
}

TEST_F(WorkerChainTest, AnotherRecordOnChainIsRefusedInOneSentence) {
    protocol::RoundRecord other = job_.record;
    other.base_state_root.data[0] ^= 1;
    chain_.post(other, 0);
    const auto refused = worker_->run_once({});
    EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
    EXPECT_NE(refused.error().message.find(protocol::hash(other).hex()), std::string::npos);
    EXPECT_NE(refused.error().message.find(protocol::hash(job_.record).hex()), std::string::npos);
    EXPECT_EQ(count("started"), 0u);
    EXPECT_TRUE(handler_.commitments.empty());
}

TEST_F(WorkerChainTest, AChainThatDoesNotAnswerKeepsTheUnitWaiting) {
    chain_.answers = false;
    EXPECT_EQ(worker_->run_once({}).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(count("started"), 0u);
}

TEST_F(WorkerChainTest, AReceiptCountsOnceItsRootIsOnChain) {
    chain_.post(job_.record, 0);
    ASSERT_TRUE(worker_->run_once({}).ok());
    const Digest leaf = protocol::commitment_leaf(handler_.commitments[unit_].commitment);
    const std::vector<Digest> leaves{leaf, Digest{}};
    const records::InclusionReceipt receipt{4, commit::merkle_root(leaves), 0, 2,
                                            commit::merkle_prove(leaves, 0).value()};
    handler_.units[unit_].inclusion = receipt;
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_EQ(count("receipt"), 0u) << "not posted yet";
    chain_.epochs[4] = {Digest{}, 2, 10};
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_EQ(count("receipt"), 0u) << "another root was posted";
    chain_.epochs[4] = {receipt.commitments_root, 2, 10};
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_EQ(count("receipt"), 1u);
}

TEST_F(WorkerChainTest, AStoppedUnitGoesOnWhereItWas) {
    chain_.post(job_.record, 0);
    std::stop_source stop;
    WorkerOptions options;
    options.data_dir = dir_.path();
    options.on_progress = [&](const engine::UnitProgress& progress) {
        if (progress.step == 2) stop.request_stop();
    };
    worker_.reset();
    {
        const auto first = Worker::open(coordinator_, key_, clock_, options).value();
        EXPECT_EQ(first->run_once(stop.get_token()).error().code, ErrorCode::kCancelled);
    }
    worker_ = open();
    ASSERT_TRUE(worker_->run_once({}).ok());
    EXPECT_EQ(count("resumed"), 1u);
    EXPECT_EQ(handler_.commitments[unit_].commitment.commitment, job_.commitment(0, job_.run(0)));
    EXPECT_TRUE(std::filesystem::is_empty(dir_.path() / "checkpoints")) << "it served its purpose";
}

TEST_F(WorkerChainTest, AForgottenUnitIsNeverSignedForUnderAnotherRecord) {
    chain_.post(job_.record, 0);
    ASSERT_TRUE(worker_->run_once({}).ok());
    handler_.units.clear();
    ASSERT_TRUE(worker_->track({}).ok());
    ASSERT_TRUE(worker_->journal().entries().empty()) << "the unit itself is forgotten";
    restart();
    // The coordinator serves the slot again, with other inputs; it even put that on chain.
    records::TrainTask task = job_.task(0);
    task.record.job_seed.data[0] ^= 1;
    handler_.tasks[key_.address()] = task;
    chain_.post(task.record, 0);
    const auto refused = worker_->run_once({});
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("twice"), std::string::npos);
    EXPECT_EQ(count("started"), 1u) << "refused before anything is computed";
    // The very same unit may be asked for again: the signature is the same one.
    const auto before = handler_.commitments[unit_].commitment;
    handler_.commitments.clear();
    assign();
    chain_.post(job_.record, 0);
    ASSERT_TRUE(worker_->run_once({}).ok());
    EXPECT_EQ(handler_.commitments[unit_].commitment, before);
}

}  // namespace
}  // namespace gym::worker
