// One unit, run by everybody who runs it: the same roots, records and traces.

#include "gym/execution/run.hpp"

#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/program/train_program.hpp"
#include "tiny_job.hpp"

namespace gym::execution {
namespace {

class ExecutionTest : public ::testing::Test {
  protected:
    blob::MemoryStore blobs_;
    const testing::TinyJob job_ = testing::make_tiny_job(
        {testing::test_key(1).address(), testing::test_key(2).address()}, blobs_);
    const TrainInputs inputs_{std::make_shared<const program::Program>(job_.program),
                              std::make_shared<const blob::Dataset>(job_.dataset), job_.base};
    const crypto::Signature challenge_ =
        testing::test_key(7).sign_digest(commit::sha256(as_bytes("beacon")));

    AggregateInputs aggregate_inputs() const {
        AggregateInputs inputs{inputs_.program, job_.base, {}, {}};
        for (const std::uint32_t slot : {0U, 1U})
            inputs.deltas.push_back(
                engine::Delta::decode(job_.program, job_.run(slot).delta).value());
        return inputs;
    }
};

TEST_F(ExecutionTest, WhoRunsAUnitAgainGetsTheRootsThatWereCommittedTo) {
    const auto first = run_train(job_.record, job_.record.slots.at(1), inputs_);
    ASSERT_TRUE(first.ok()) << first.error().message;
    engine::RunOptions threads;
    threads.engine.threads = 2;
    threads.engine.isa = "scalar";
    const auto again =
        run_train(job_.record, job_.record.slots.at(1), inputs_, threads, &challenge_);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->roots(), first->roots());
    EXPECT_EQ(again->result.records, first->result.records);
    EXPECT_EQ(again->roots(), protocol::roots_of(job_.commitment(1, first->result)));
    EXPECT_NE(run_train(job_.record, job_.record.slots.at(0), inputs_)->roots(), first->roots())
        << "another slot";
}

TEST_F(ExecutionTest, APrefixIsALinkOfTheUnitsRecordChain) {
    const auto whole = run_train(job_.record, job_.record.slots.at(1), inputs_);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    const auto chain = engine::record_chain(whole->result.records);
    for (std::uint32_t steps = 1; steps <= chain.size(); ++steps) {
        const auto link = run_prefix(job_.record, job_.record.slots.at(1), steps, inputs_);
        ASSERT_TRUE(link.ok()) << link.error().message;
        EXPECT_EQ(*link, chain[steps - 1]) << steps;
    }
    EXPECT_NE(run_prefix(job_.record, job_.record.slots.at(0), 2, inputs_).value(), chain[1])
        << "another slot";
    EXPECT_EQ(run_prefix(job_.record, job_.record.slots.at(1), 0, inputs_).error().code,
              ErrorCode::kOutOfRange);
    EXPECT_EQ(run_prefix(job_.record, job_.record.slots.at(1), 5, inputs_).error().code,
              ErrorCode::kOutOfRange);
    std::stop_source stopped;
    stopped.request_stop();
    engine::StepOptions options;
    options.cancel = stopped.get_token();
    EXPECT_EQ(run_prefix(job_.record, job_.record.slots.at(1), 2, inputs_, options).error().code,
              ErrorCode::kCancelled);
}

TEST_F(ExecutionTest, ATraceIsTheChallengesAndChangesNoRoot) {
    const auto traced = run_train(job_.record, job_.record.slots.at(0), inputs_, {}, &challenge_);
    ASSERT_TRUE(traced.ok()) << traced.error().message;
    EXPECT_TRUE(run_train(job_.record, job_.record.slots.at(0), inputs_)->trace.is_zero());
    EXPECT_FALSE(traced->trace.is_zero());
    const crypto::Signature other =
        testing::test_key(8).sign_digest(commit::sha256(as_bytes("beacon")));
    EXPECT_NE(run_train(job_.record, job_.record.slots.at(0), inputs_, {}, &other)->trace,
              traced->trace);
}

TEST_F(ExecutionTest, AStoppedUnitGoesOnFromItsPositionWithTheSameRoots) {
    std::stop_source stop;
    engine::UnitPosition position;
    engine::RunOptions options;
    options.cancel = stop.get_token();
    options.after_step = [&](const engine::Trainer& trainer,
                             std::span<const engine::StepRecord> records) {
        if (records.size() < 2) return;
        position = {**trainer.state(), {records.begin(), records.end()}};
        stop.request_stop();
    };
    EXPECT_EQ(run_train(job_.record, job_.record.slots.at(0), inputs_, options).error().code,
              ErrorCode::kCancelled);
    engine::RunOptions rest;
    rest.resume = &position;
    EXPECT_EQ(run_train(job_.record, job_.record.slots.at(0), inputs_, rest)->roots(),
              run_train(job_.record, job_.record.slots.at(0), inputs_)->roots());
}

TEST_F(ExecutionTest, InputsThatTheRecordDoesNotFixAreRefused) {
    using Root = Digest protocol::RoundRecord::*;
    for (const Root root :
         {&protocol::RoundRecord::program_root, &protocol::RoundRecord::dataset_root,
          &protocol::RoundRecord::base_state_root}) {
        protocol::RoundRecord record = job_.record;
        (record.*root).data[0] ^= 1;
        EXPECT_EQ(run_train(record, record.slots.at(0), inputs_).error().code,
                  ErrorCode::kMismatch);
    }
}

TEST_F(ExecutionTest, AnAggregateIsTheSameForEverybodyAndItsTraceFollowsFromItsRecords) {
    const auto first = run_aggregate(aggregate_inputs());
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto again = run_aggregate(aggregate_inputs(), {2, "scalar"}, &challenge_);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->roots(), first->roots());
    EXPECT_EQ(again->trace, records_trace(first->result.records, challenge_));
    EXPECT_TRUE(first->trace.is_zero());
    AggregateInputs derived = aggregate_inputs();
    derived.program = std::make_shared<const program::Program>(first->result.program);
    EXPECT_EQ(run_aggregate(derived).error().code, ErrorCode::kInvalidArgument)
        << "it takes the train program";
}

TEST_F(ExecutionTest, AnEvaluationIsTheSameForEverybodyAndHasAStepForEachBatch) {
    const EvaluationInputs inputs{inputs_.program, inputs_.dataset, inputs_.base};
    const auto first = run_evaluation(inputs, 9);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto& records = first->result.records;
    ASSERT_GT(records.size(), 1U);
    EXPECT_EQ(first->records_root, engine::records_root(records));
    EXPECT_EQ(first->state_root, engine::state_root(inputs_.base));
    EXPECT_EQ(first->roots().delta, first->result.root);
    EXPECT_TRUE(first->trace.is_zero());
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].step, i);
        EXPECT_FALSE(records[i].batch_root.is_zero());
        EXPECT_FALSE(records[i].state_root.has_value());
    }
    EXPECT_NE(records[0].batch_root, records[1].batch_root);
    // Of its steps alone, a verifier evaluates the same windows.
    const auto windows =
        engine::evaluation_windows(*inputs.program, static_cast<std::uint32_t>(records.size()));
    ASSERT_TRUE(windows.ok()) << windows.error().message;
    EXPECT_EQ(*windows, first->result.windows);
    const auto again = run_evaluation(inputs, *windows, {2, "scalar"}, {}, &challenge_);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->roots(), first->roots());
    EXPECT_EQ(again->trace, records_trace(records, challenge_));
    EXPECT_EQ(engine::evaluation_windows(*inputs.program, 0).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(engine::evaluation_windows(*inputs.program, UINT32_MAX).error().code,
              ErrorCode::kOutOfRange);
    const auto decoded = engine::decode_records(engine::encode_records(records));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_TRUE(std::ranges::equal(*decoded, records));
}

}  // namespace
}  // namespace gym::execution
