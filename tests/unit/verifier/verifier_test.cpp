#include "gym/verifier/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gym/common/file.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::verifier {
namespace {

class VerifierTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey worker_key_ = testing::test_key(1);
    const crypto::PrivateKey key_ = testing::test_key(7);
    const crypto::Eip712Domain domain_ = testing::MemoryHandler::network_info().domain();
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({worker_key_.address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::TemporaryFolder dir_;
    std::vector<VerifierEvent> events_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));
    std::unique_ptr<Verifier> verifier_ = open();

    std::unique_ptr<Verifier> open() {
        VerifierOptions options;
        options.data_dir = dir_.path();
        options.on_event = [this](const VerifierEvent& event) { events_.push_back(event); };
        return Verifier::open(coordinator_, key_, options).value();
    }
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const VerifierEvent& event : events_)
            out.push_back(event.name);
        return out;
    }
    /// The worker committed to `result`; the verifier is drawn.
    void draw(const engine::UnitResult& result) { draw(job_.commitment(0, result), result); }
    void draw(const protocol::UnitCommitment& commitment, const engine::UnitResult& result) {
        records::VerifyTask task;
        task.unit = job_.unit(0);
        task.record = protocol::unit_record(job_.record, 0);
        task.inputs = job_.inputs;
        task.commitment = protocol::sign(domain_, commitment, worker_key_);
        task.committer = worker_key_.address();
        task.beacon.data.fill(0x42);
        handler_.commitments[unit_] = {task.commitment, engine::encode_records(result.records)};
        handler_.tasks[key_.address()] = task;
    }
    records::VerifyTask& task() {
        return std::get<records::VerifyTask>(handler_.tasks.at(key_.address()));
    }
    /// A worker that went on honestly after a wrong loss at one step.
    engine::UnitResult wrong_from(std::uint64_t step) const {
        engine::UnitResult result = job_.run(0);
        result.records[step].loss_bits ^= 1;
        result.records_root = engine::records_root(result.records);
        return result;
    }
    Result<bool> run_once() { return verifier_->run_once({}); }
};

TEST_F(VerifierTest, AnHonestUnitIsVerified) {
    draw(job_.run(0));
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(names(), (std::vector<std::string>{"started", "reported", "verified"}));
    const records::ReportReveal& reveal = handler_.reveals.at(unit_);
    EXPECT_EQ(reveal.report.records_root, job_.run(0).records_root);
    EXPECT_EQ(reveal.records, engine::encode_records(job_.run(0).records));
}

TEST_F(VerifierTest, TheFirstDifferingStepIsFound) {
    draw(wrong_from(2));
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(names(), (std::vector<std::string>{"started", "reported", "differs"}));
    ASSERT_TRUE(events_[2].where.has_value());
    EXPECT_EQ(events_[2].where->step, 2u);
    EXPECT_EQ(events_[2].where->field, "loss");
}

TEST_F(VerifierTest, AWrongResultUnderRightRecordsDiffersToo) {
    const engine::UnitResult result = job_.run(0);
    protocol::UnitCommitment wrong = job_.commitment(0, result);
    wrong.delta_root.data[0] ^= 1;
    draw(wrong, result);
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(names().back(), "differs");
    EXPECT_FALSE(events_.back().where.has_value());
}

TEST_F(VerifierTest, TwoVerifiersAgreeOnRecordsButNotOnTraces) {
    draw(job_.run(0));
    ASSERT_TRUE(run_once().ok());
    const protocol::Report first = handler_.reveals.at(unit_).report;
    const crypto::PrivateKey other_key = testing::test_key(8);
    testing::LocalCoordinator other(handler_, other_key.address());
    testing::TemporaryFolder other_dir;
    VerifierOptions options;
    options.data_dir = other_dir.path();
    draw(job_.run(0));
    handler_.tasks[other_key.address()] = handler_.tasks[key_.address()];
    handler_.report_commits.clear();
    ASSERT_TRUE(Verifier::open(other, other_key, options).value()->run_once({}).ok());
    const protocol::Report second = handler_.reveals.at(unit_).report;
    EXPECT_EQ(first.records_root, second.records_root);
    EXPECT_NE(first.trace, second.trace) << "positions are each verifier's own";
}

TEST_F(VerifierTest, AfterACrashBetweenTheHalvesTheRevealOpensTheFirst) {
    draw(job_.run(0));
    handler_.failures["submit_report_reveal"] = fail(ErrorCode::kUnavailable, "gone");
    EXPECT_EQ(run_once().error().code, ErrorCode::kUnavailable);
    handler_.failures.clear();
    verifier_.reset();
    verifier_ = open();
    task().report_committed = true;
    ASSERT_TRUE(run_once().value()) << "a new salt would not open the digest";
    EXPECT_TRUE(handler_.reveals.contains(unit_));
    EXPECT_EQ(std::ranges::count(names(), "started"), 1);
}

TEST_F(VerifierTest, ADeviceThatIsLostToTheProcessEndsTheRun) {
    draw(job_.run(0));
    handler_.failures["submit_report_commit"] = fail(ErrorCode::kUnavailable, "gone");
    int asked = 0;
    const auto lost = [&](const Error&) -> Status {
        if (++asked < 2) return {};  // another failure: tried again
        return fail(ErrorCode::kNotFound, "start the node again");
    };
    EXPECT_EQ(run_verifier(*verifier_, {}, lost).error().message, "start the node again");
    EXPECT_EQ(asked, 2);
}

/// On a slow machine the next draw would be too late, too, if the unit was run once more.
TEST_F(VerifierTest, WhatIsTooLateForOneDrawIsReportedInTheNext) {
    for (const char* half : {"submit_report_commit", "submit_report_reveal"}) {
        draw(job_.run(0));
        handler_.report_commits.clear();
        handler_.failures[half] = fail(ErrorCode::kPermissionDenied, "draw 0 is not assigned");
        EXPECT_EQ(run_once().error().code, ErrorCode::kPermissionDenied);
        EXPECT_EQ(names().back(), "dropped") << half;
        handler_.failures.clear();
        handler_.report_commits.clear();
        task().draw = 1;
        events_.clear();
        ASSERT_TRUE(run_once().value());
        EXPECT_EQ(names(), (std::vector<std::string>{"resumed", "reported", "verified"})) << half;
        EXPECT_EQ(handler_.reveals.at(unit_).report.draw, 1u);
    }
}

TEST_F(VerifierTest, AnotherBeaconMakesItRunTheUnitAgain) {
    draw(job_.run(0));
    handler_.failures["submit_report_commit"] = fail(ErrorCode::kPermissionDenied, "too late");
    EXPECT_FALSE(run_once().ok());
    handler_.failures.clear();
    task().beacon.data.fill(0x43);
    events_.clear();
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(names().front(), "started") << "what is traced depends on the beacon";
}

TEST_F(VerifierTest, AReportCommittedElsewhereCannotBeRevealedHere) {
    draw(job_.run(0));
    task().report_committed = true;
    EXPECT_EQ(run_once().error().code, ErrorCode::kNotFound);
}

TEST_F(VerifierTest, ATaskThatContradictsItselfIsRefused) {
    draw(job_.run(0));
    task().committer = testing::test_key(2).address();
    EXPECT_EQ(run_once().error().code, ErrorCode::kUnauthenticated);
    draw(job_.run(0));
    task().record.round = 9;
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    draw(job_.run(0));
    task().unit.slot = 5;
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(handler_.report_commits.empty());
}

TEST_F(VerifierTest, LostInputsAreTheCoordinatorsFaultAndNoReport) {
    draw(job_.run(0));
    Bytes base = handler_.blobs.get(job_.inputs.base_state_blob).value();
    base.back() ^= 1;
    handler_.lies[job_.inputs.base_state_blob] = base;
    EXPECT_EQ(run_once().error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(handler_.report_commits.empty());
}

TEST_F(VerifierTest, AnAggregateUnitIsRecomputedFromItsDeltas) {
    const engine::UnitResult unit = job_.run(0);
    ASSERT_TRUE(handler_.blobs.put(unit.delta).ok());
    const engine::State momentum = engine::zero_momentum(job_.base);
    const std::vector deltas{engine::Delta::decode(job_.program, unit.delta).value()};
    const auto expected = engine::run_aggregate(job_.program, job_.base, momentum, deltas).value();

    records::VerifyTask aggregate;
    aggregate.unit = job_.unit(protocol::kAggregateSlot);
    aggregate.record = protocol::unit_record(job_.record, protocol::kAggregateSlot);
    aggregate.round = job_.record;
    aggregate.inputs = job_.inputs;
    aggregate.inputs.momentum_blob = handler_.blobs.put(engine::encode_state(momentum)).value();
    aggregate.deltas = {{0, unit_, unit.delta.root()}};
    aggregate.committer = testing::test_key(99).address();
    protocol::UnitCommitment commitment;
    commitment.kind = protocol::UnitKind::kAggregate;
    commitment.round_record = protocol::hash(job_.record);
    commitment.slot = protocol::kAggregateSlot;
    commitment.records_root = expected.records_root;
    commitment.final_state_root = expected.base_root;
    commitment.delta_root = expected.momentum_root;
    aggregate.commitment = protocol::sign(domain_, commitment, testing::test_key(99));
    const Digest id = protocol::unit_id(aggregate.unit);
    handler_.commitments[id] = {aggregate.commitment, {}};
    handler_.tasks[key_.address()] = aggregate;
    ASSERT_TRUE(run_once().value());
    EXPECT_EQ(names().back(), "verified");
    const protocol::Report& report = handler_.reveals.at(id).report;
    EXPECT_EQ(report.final_state_root, expected.base_root);
    EXPECT_EQ(report.delta_root, expected.momentum_root);
}

TEST_F(VerifierTest, AWorkersTaskIsRefused) {
    handler_.tasks[key_.address()] = job_.task(0);
    EXPECT_EQ(run_once().error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace gym::verifier
