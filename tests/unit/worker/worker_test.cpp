#include "gym/worker/worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "gym/commit/merkle.hpp"
#include "gym/vault/sealed_store.hpp"
#include "local_coordinator.hpp"
#include "manual_clock.hpp"
#include "manual_timer.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

using protocol::UnitState;

class WorkerTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ =
        testing::make_tiny_job({key_.address(), testing::test_key(2).address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::TemporaryFolder dir_;
    testing::ManualClock clock_{1'000};
    std::vector<std::string> events_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));
    std::unique_ptr<Worker> worker_ = open();

    void SetUp() override { assign(0); }

    WorkerOptions options() {
        WorkerOptions out;
        out.data_dir = dir_.path();
        out.on_event = [this](const WorkerEvent& event) { events_.push_back(event.name); };
        return out;
    }
    std::unique_ptr<Worker> open() {
        return Worker::open(coordinator_, key_, clock_, options()).value();
    }
    /// As after kill -9: nothing is left but the disk.
    void restart() {
        worker_.reset();
        worker_ = open();
    }
    void assign(std::uint32_t slot) {
        handler_.tasks[key_.address()] = job_.task(slot);
        records::UnitReceipt view;
        view.key = job_.unit(slot);
        view.id = protocol::unit_id(view.key);
        view.worker = key_.address();
        handler_.units[view.id] = view;
    }
    Result<bool> run_once() { return worker_->run_once({}); }
    Status track() { return worker_->track({}); }
    bool cached(const Digest& blob) { return store().has(blob).value(); }
    vault::SealedStore store() {
        return vault::SealedStore::open(dir_.path() / "blobs", vault::StoreKey::of(key_)).value();
    }
    std::size_t count(std::string_view call) {
        return static_cast<std::size_t>(std::ranges::count(handler_.calls, call));
    }
};

TEST_F(WorkerTest, ComputesCommitsAndUploadsWhatAnyoneWouldCompute) {
    ASSERT_TRUE(run_once().value());
    ASSERT_TRUE(handler_.commitments.contains(unit_));
    const engine::UnitResult expected = job_.run(0);
    const auto& submission = handler_.commitments[unit_];
    EXPECT_EQ(submission.commitment.commitment, job_.commitment(0, expected));
    EXPECT_EQ(submission.records, engine::encode_records(expected.records));
    EXPECT_EQ(handler_.blobs.load(expected.delta.root()).value(), expected.delta);
    EXPECT_EQ(events_, (std::vector<std::string>{"started", "committed", "accepted"}));
    EXPECT_EQ(worker_->activity().phase, "idle");
}

TEST_F(WorkerTest, NoTaskIsNoError) {
    handler_.tasks.clear();
    EXPECT_FALSE(run_once().value());
}

TEST_F(WorkerTest, WhereNothingMayBeSignedTheRunEndsWithoutAUnit) {
    WorkerOptions refused = options();
    refused.check_signing = [] { return Status(fail(ErrorCode::kMismatch, "another game")); };
    EXPECT_EQ(run_worker(*worker_, refused, {}).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(count("next_task"), 0U);
    // Found while the unit is computed: it is not signed for.
    worker_.reset();
    worker_ = Worker::open(coordinator_, key_, clock_, refused).value();
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(worker_->journal().entries().empty());
}

TEST_F(WorkerTest, ADeviceThatIsLostToTheProcessEndsTheRun) {
    handler_.failures["next_task"] = fail(ErrorCode::kUnavailable, "the device's error");
    WorkerOptions lost = options();
    int asked = 0;
    lost.check_device = [&](const Error& failure) -> Status {
        EXPECT_EQ(failure.message, "the device's error");
        if (++asked < 2) return {};  // another failure: tried again
        return fail(ErrorCode::kNotFound, "start the node again");
    };
    EXPECT_EQ(run_worker(*worker_, lost, {}).error().message, "start the node again");
    EXPECT_EQ(count("next_task"), 2U);
}

TEST_F(WorkerTest, ACheckpointOutlivesAFailureOfTheMachine) {
    std::stop_source stop;
    WorkerOptions stopped = options();
    stopped.on_progress = [&](const engine::UnitProgress& progress) {
        if (progress.step == 2) stop.request_stop();
    };
    worker_.reset();
    worker_ = Worker::open(coordinator_, key_, clock_, stopped).value();
    EXPECT_EQ(worker_->run_once(stop.get_token()).error().code, ErrorCode::kCancelled);
    WorkerOptions without_memory = options();
    without_memory.engine.memory_bytes_max = 1;
    worker_.reset();
    worker_ = Worker::open(coordinator_, key_, clock_, without_memory).value();
    EXPECT_EQ(run_once().error().code, ErrorCode::kOutOfRange);
    restart();
    events_.clear();
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(std::ranges::count(events_, "resumed"), 1);
}

TEST_F(WorkerTest, AfterALostAnswerTheSameCommitmentIsSentAgain) {
    handler_.failures["submit_commitment"] = fail(ErrorCode::kUnavailable, "gone");
    EXPECT_EQ(run_once().error().code, ErrorCode::kUnavailable);
    ASSERT_EQ(worker_->journal().entries().size(), 1u);
    const auto signed_first = worker_->journal().entries()[0].commitment;
    handler_.failures.clear();
    restart();
    ASSERT_TRUE(worker_->resume({}).ok());
    EXPECT_EQ(handler_.commitments[unit_].commitment, signed_first);
    EXPECT_EQ(std::ranges::count(events_, "started"), 1) << "nothing was computed twice";
    ASSERT_TRUE(worker_->resume({}).ok());
    EXPECT_EQ(count("submit_commitment"), 2u) << "what is accepted is not sent again";
}

TEST_F(WorkerTest, ATaskThatComesAgainIsAnsweredFromTheJournal) {
    ASSERT_TRUE(run_once().ok());
    assign(0);
    ASSERT_TRUE(run_once().ok());
    EXPECT_EQ(std::ranges::count(events_, "started"), 1);
    EXPECT_EQ(handler_.commitments.size(), 1u);
}

TEST_F(WorkerTest, ALostDeltaIsComputedAgainForTheSameCommitment) {
    handler_.failures["submit_commitment"] = fail(ErrorCode::kUnavailable, "gone");
    ASSERT_FALSE(run_once().ok());
    const Digest delta = worker_->journal().entries()[0].commitment.commitment.delta_root;
    restart();
    ASSERT_TRUE(store().remove(delta).ok());
    handler_.failures.clear();
    ASSERT_TRUE(worker_->resume({}).ok());
    EXPECT_TRUE(handler_.commitments.contains(unit_));
}

TEST_F(WorkerTest, WhatTheCoordinatorRefusesForGoodIsDropped) {
    handler_.failures["submit_commitment"] = fail(ErrorCode::kTimeout, "late");
    EXPECT_EQ(run_once().error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(worker_->journal().entries().empty());
    EXPECT_EQ(events_.back(), "dropped");
}

/// Of a job whose rounds overlap: round 2 is there, and begins from the base state of round 1.
struct Overlap {
    records::TrainTask first, second;
    explicit Overlap(const testing::TinyJob& job) : first(job.task(0)), second(first) {
        first.overlap = second.overlap = true;
        second.record.round = second.unit.round = 2;
        second.record.previous_record = protocol::hash(first.record);
    }
};

TEST_F(WorkerTest, WhereRoundsOverlapTheDeltaIsSentBesideTheNextUnit) {
    const Overlap rounds(job_);
    handler_.tasks[key_.address()] = rounds.first;
    handler_.next_task_of_worker = rounds.second;
    ASSERT_TRUE(run_once().value());
    EXPECT_FALSE(worker_->journal().entries().at(0).leaf.has_value())
        << "signed, and to be delivered beside the next one";
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(std::ranges::count(events_, "started"), 2);
    handler_.tasks.clear();
    EXPECT_FALSE(run_once().value());
    EXPECT_EQ(std::ranges::count(events_, "accepted"), 2);
    EXPECT_EQ(handler_.commitments.size(), 2U);
    EXPECT_TRUE(handler_.commitments.contains(rounds.first.unit_id()));
    EXPECT_TRUE(handler_.commitments.contains(rounds.second.unit_id()));
}

TEST_F(WorkerTest, ADeltaThatWasNotSentBesideIsSentWhenItsUnitComesAgain) {
    const Overlap rounds(job_);
    handler_.tasks[key_.address()] = rounds.first;
    handler_.next_task_of_worker = rounds.second;
    handler_.failures["submit_commitment"] = fail(ErrorCode::kUnavailable, "gone");
    ASSERT_TRUE(run_once().value());
    handler_.tasks.clear();
    EXPECT_EQ(run_once().error().code, ErrorCode::kUnavailable);
    handler_.failures.clear();
    handler_.tasks[key_.address()] = rounds.first;
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(std::ranges::count(events_, "started"), 1) << "nothing is computed twice";
    EXPECT_TRUE(handler_.commitments.contains(rounds.first.unit_id()));
}

TEST_F(WorkerTest, AfterACrashADeltaInFlightIsSentFromTheJournal) {
    const Overlap rounds(job_);
    handler_.tasks[key_.address()] = rounds.first;
    ASSERT_TRUE(run_once().value());
    restart();
    ASSERT_TRUE(worker_->resume({}).ok());
    EXPECT_TRUE(handler_.commitments.contains(rounds.first.unit_id()));
}

TEST_F(WorkerTest, AStoppedUnitLeavesNoCommitment) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(worker_->run_once(stop.get_token()).error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(worker_->journal().entries().empty());
    EXPECT_TRUE(run_once().value()) << "and the worker is ready again";
}

TEST_F(WorkerTest, RefusesAnotherWorkersSlotAForeignRecordAndALateTask) {
    assign(1);
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    records::TrainTask task = job_.task(0);
    task.unit.round = 2;
    handler_.tasks[key_.address()] = task;
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    task = job_.task(0);
    task.record.assignment->steps += 1;  // not under the head's root
    handler_.tasks[key_.address()] = task;
    EXPECT_EQ(run_once().error().code, ErrorCode::kInvalidArgument);
    task = job_.task(0);
    task.record.assignment.reset();
    task.record.path.clear();
    handler_.tasks[key_.address()] = task;
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    task = job_.task(0);
    task.deadline_ms = clock_.now_ms();
    handler_.tasks[key_.address()] = task;
    EXPECT_EQ(run_once().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(std::ranges::count(events_, "started"), 0);
}

/// A task whose deadline passes while its unit runs, `late_ms` before no commitment is taken.
class LateWorkerTest : public WorkerTest {
  protected:
    static constexpr std::int64_t kDeadlineMs = 5'000;
    static constexpr UnixMs kBeginMs = 1'000;
    void begin(std::int64_t late_ms, std::int64_t step_ms, std::int64_t unit_ms = kDeadlineMs) {
        records::TrainTask task = job_.task(0);
        task.deadline_ms = kBeginMs + unit_ms;
        task.late_until_ms = late_ms == 0 ? 0 : task.deadline_ms + late_ms;
        handler_.tasks[key_.address()] = task;
        WorkerOptions slow = options();
        slow.timer = &timer_;
        slow.on_progress = [this, step_ms](const engine::UnitProgress&) {
            clock_.advance_ms(step_ms);
            timer_.wait(std::chrono::milliseconds(step_ms), {});
            ++steps_;
            if (on_step_) on_step_();
        };
        worker_.reset();
        worker_ = Worker::open(coordinator_, key_, clock_, slow).value();
    }
    std::size_t calls(const char* name) {
        const std::scoped_lock lock(handler_.mutex);
        return count(name);
    }
    void end_unit() {
        const std::scoped_lock lock(handler_.mutex);
        handler_.units[unit_].status.state = UnitState::kExpired;
    }
    /// The unit ends before it is done, and the worker is there for the next one at once.
    void expect_stopped(std::uint32_t steps = 4) {
        const auto ran = run_once();
        ASSERT_TRUE(ran.ok()) << "no error that the loop would wait after: " << ran.error().message;
        EXPECT_LT(steps_, static_cast<int>(steps)) << "not at its end";
        EXPECT_EQ(events_.back(), "stopped");
        EXPECT_TRUE(worker_->journal().entries().empty());
        EXPECT_FALSE(handler_.commitments.contains(unit_));
        EXPECT_FALSE(worker_->last_words().has_value());
        EXPECT_TRUE(std::filesystem::is_empty(dir_.path() / "checkpoints"));
    }
    testing::ManualTimer timer_;
    std::function<void()> on_step_;
    int steps_ = 0;
};

TEST_F(LateWorkerTest, RunsOnWhileALateCommitmentIsTaken) {
    begin(1'000'000, kDeadlineMs + 1);
    ASSERT_TRUE(run_once().value());
    EXPECT_TRUE(handler_.commitments.contains(unit_));
    EXPECT_GE(count("unit"), 1U) << "it asked whether it is";
}

TEST_F(LateWorkerTest, BeginsAfterTheDeadlineWhileALateCommitmentIsTaken) {
    begin(1'000, 0);
    clock_.advance_ms(kDeadlineMs + 999);
    ASSERT_TRUE(run_once().value());
    EXPECT_TRUE(handler_.commitments.contains(unit_));
}

TEST_F(LateWorkerTest, DoesNotBeginLater) {
    begin(1'000, 0);
    clock_.advance_ms(kDeadlineMs + 1'000);
    EXPECT_EQ(run_once().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(steps_, 0);
}

TEST_F(LateWorkerTest, GivesUpOnceItsUnitIsOver) {
    begin(1'000'000, kDeadlineMs + 1);
    on_step_ = [this] { end_unit(); };
    expect_stopped();
}

TEST_F(LateWorkerTest, GivesUpWhenItsTimeIsOver) {
    begin(0, kDeadlineMs + 60'000);
    expect_stopped();
    EXPECT_EQ(count("unit"), 0U) << "nobody need be asked";
}

/// It learns of it by the answer to the prefix that it sends after a minute.
TEST_F(LateWorkerTest, GivesUpOnceOthersHaveEndedTheRound) {
    constexpr std::uint32_t kSteps = 200, kSecondsOfPrefix = 60;
    job_ = testing::make_tiny_job({key_.address(), testing::test_key(2).address()}, handler_.blobs,
                                  kSteps);
    assign(0);
    end_unit();
    handler_.failures["submit_prefix"] = fail(ErrorCode::kConflict, "its unit is expired");
    begin(0, 1'000, 600'000);
    on_step_ = [this] {
        while (steps_ > static_cast<int>(kSecondsOfPrefix) && calls("submit_prefix") == 0)
            std::this_thread::yield();
    };
    expect_stopped(kSteps);
    EXPECT_GE(steps_, static_cast<int>(kSecondsOfPrefix));
    EXPECT_LT(clock_.now_ms(), kBeginMs + 600'000) << "long before the deadline of its task";
}

TEST_F(LateWorkerTest, AShortUnitSignsForItsStepsBeforeItsDeadline) {
    begin(0, 4'000);  // prefixes are usually sent once a minute: it would have none
    std::uint32_t in_time = 0;
    on_step_ = [&] {
        if (clock_.now_ms() > kBeginMs + kDeadlineMs) return end_unit();
        in_time = static_cast<std::uint32_t>(steps_);
    };
    expect_stopped();
    ASSERT_FALSE(handler_.prefixes.empty());
    EXPECT_EQ(handler_.prefixes.front().prefix.steps, in_time);
}

TEST_F(LateWorkerTest, WhatItSignsLastIsSentBeforeItStops) {
    begin(1'000'000, 4'000);  // its late end is far, and so is the next message
    on_step_ = [this] {
        if (clock_.now_ms() > kBeginMs + kDeadlineMs) end_unit();
    };
    expect_stopped();
    ASSERT_EQ(handler_.prefixes.size(), 1U);
    EXPECT_EQ(handler_.prefixes.back().prefix.steps, static_cast<std::uint32_t>(steps_));
}

TEST_F(WorkerTest, KeepsInputsUntilTheUnitIsFinalAndThenForgetsThem) {
    ASSERT_TRUE(run_once().ok());
    const Digest delta = handler_.commitments[unit_].commitment.commitment.delta_root;
    handler_.units[unit_].status.state = UnitState::kVerified;
    ASSERT_TRUE(track().ok());
    EXPECT_EQ(worker_->journal().entries().size(), 1u);
    EXPECT_TRUE(cached(delta));
    EXPECT_TRUE(cached(job_.inputs.base_state_blob));
    handler_.units[unit_].status.state = UnitState::kFinal;
    ASSERT_TRUE(track().ok());
    EXPECT_TRUE(worker_->journal().entries().empty());
    EXPECT_EQ(events_.back(), "ended");
    EXPECT_FALSE(cached(delta));
    EXPECT_FALSE(cached(job_.inputs.base_state_blob));
    EXPECT_TRUE(cached(job_.inputs.program_blob)) << "the next round needs it";
}

TEST_F(WorkerTest, AReceiptIsKeptOnlyIfItProvesTheCommitment) {
    ASSERT_TRUE(run_once().ok());
    const Digest leaf = protocol::commitment_leaf(handler_.commitments[unit_].commitment);
    const std::vector<Digest> leaves{Digest{}, leaf};
    records::InclusionReceipt receipt{1, commit::merkle_root(leaves), 1, 2,
                                      commit::merkle_prove(leaves, 1).value()};
    records::InclusionReceipt forged = receipt;
    forged.commitments_root.data[0] ^= 1;
    handler_.units[unit_].inclusion = forged;
    ASSERT_TRUE(track().ok());
    EXPECT_FALSE(worker_->journal().entries()[0].receipt.has_value());
    handler_.units[unit_].inclusion = receipt;
    ASSERT_TRUE(track().ok());
    EXPECT_EQ(worker_->journal().entries()[0].receipt, receipt);
    EXPECT_EQ(events_.back(), "receipt");
}

TEST_F(WorkerTest, DefendsADisputedUnitThatItStillComputesOnce) {
    ASSERT_TRUE(run_once().ok());
    handler_.units[unit_].status.state = UnitState::kDisputed;
    handler_.units[unit_].reason = "step 2 differs";
    ASSERT_TRUE(track().ok());
    EXPECT_TRUE(handler_.defended.contains(unit_));
    ASSERT_TRUE(track().ok());
    restart();
    ASSERT_TRUE(track().ok());
    EXPECT_EQ(count("defend_unit"), 1u);
}

TEST_F(WorkerTest, DoesNotDefendWhatItCannotReproduce) {
    // A commitment whose state root this machine does not compute: as after a flipped bit in its
    // memory.
    engine::UnitResult wrong = job_.run(0);
    wrong.final_state_root.data[0] ^= 1;
    JournalEntry entry;
    entry.unit = job_.unit(0);
    entry.record = job_.task(0).record;
    entry.inputs = job_.inputs;
    entry.commitment = protocol::sign(testing::MemoryHandler::network_info().domain(),
                                      job_.commitment(0, wrong), key_);
    entry.leaf = protocol::commitment_leaf(entry.commitment);
    worker_.reset();
    ASSERT_TRUE(UnitJournal::open(dir_.path() / "units")->save(entry).ok());
    worker_ = open();
    handler_.units[unit_].status.state = UnitState::kDisputed;
    ASSERT_TRUE(track().ok());
    EXPECT_TRUE(handler_.defended.empty());
}

TEST_F(WorkerTest, DefenceCanBeSwitchedOff) {
    ASSERT_TRUE(run_once().ok());
    worker_.reset();
    WorkerOptions off = options();
    off.defend_disputes = false;
    worker_ = Worker::open(coordinator_, key_, clock_, off).value();
    handler_.units[unit_].status.state = UnitState::kDisputed;
    ASSERT_TRUE(track().ok());
    EXPECT_TRUE(handler_.defended.empty());
}

TEST_F(WorkerTest, AUnitThatTheCoordinatorForgotIsDropped) {
    ASSERT_TRUE(run_once().ok());
    handler_.units.clear();
    ASSERT_TRUE(track().ok());
    EXPECT_TRUE(worker_->journal().entries().empty());
}

TEST_F(WorkerTest, AVerifiersTaskIsRefused) {
    handler_.tasks[key_.address()] = records::VerifyTask{};
    EXPECT_EQ(run_once().error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace gym::worker
