#include "gym/dispute/step_trace.hpp"

#include <gtest/gtest.h>

#include "check_step.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "sample_unit.hpp"

namespace gym::dispute {
namespace {

using testing::check_step;
using testing::kSamples;
using testing::SampleUnit;

class StepTraceOf : public ::testing::TestWithParam<testing::Sample> {
  protected:
    SampleUnit unit_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Samples, StepTraceOf, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Later, StepTraceOf, ::testing::ValuesIn(testing::kLaterSamples),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(StepTraceOf, StatesAndRecordsAreThoseOfTheUnit) {
    engine::RunOptions run;
    std::vector<Digest> roots;
    run.after_step = [&](const engine::Trainer& trainer, auto) {
        roots.push_back(engine::state_root(*trainer.state().value()));
    };
    const auto result = engine::run_unit(unit_.unit(), run).value();
    const auto states = unit_states(unit_.unit()).value();
    EXPECT_EQ(states.records, result.records);
    EXPECT_EQ(states.state_roots, roots);
    EXPECT_EQ(states.state_roots.back(), result.final_state_root);
    EXPECT_EQ(states.initial_root,
              engine::state_root(engine::with_fresh_optimizer(unit_.program, unit_.base).value()));
}

TEST_P(StepTraceOf, LeafRootsAreInputsAndWhatTheEngineTraces) {
    constexpr std::uint64_t kStep = 2;
    engine::RunOptions run;
    std::vector<Digest> traced;
    run.trace_step = kStep;
    run.trace = [&](const engine::TraceEntry& entry) { traced.push_back(entry.output_root); };
    const auto result = engine::run_unit(unit_.unit(), run).value();
    std::vector<Digest> shown(unit_.trace.leaves.size());
    const StepTrace step = unit_.step(kStep, {}, [&](std::uint32_t leaf, ByteView bytes) {
        shown[leaf] = tensor_digest(unit_.trace.leaves[leaf].shape, commit::chunk_tree_root(bytes));
    });
    EXPECT_EQ(step.record.loss_bits, result.records[kStep].loss_bits);
    const std::uint32_t inputs = unit_.trace.header.input_leaves;
    ASSERT_EQ(step.leaf_roots.size(), inputs + traced.size());
    for (std::size_t i = 0; i < traced.size(); ++i) {
        EXPECT_EQ(step.leaf_roots[inputs + i], traced[i]);
        EXPECT_EQ(step.leaf_roots[inputs + i], shown[inputs + i]);
    }
    for (std::uint32_t i = 0; i < inputs; ++i) {
        if (unit_.trace.leaves[i].kind != LeafRecord::Kind::kBatch) continue;
        EXPECT_EQ(step.leaf_roots[i], result.records[kStep].batch_root);
    }
}

TEST_P(StepTraceOf, EveryStepSatisfiesItsTraceProgram) {
    const auto states = unit_states(unit_.unit()).value();
    for (std::uint64_t s = 0; s < unit_.spec.steps; ++s) {
        const StepTrace step = unit_.step(s);
        EXPECT_EQ(commit::merkle_root(step.before_roots),
                  s == 0 ? states.initial_root : states.state_roots[s - 1]);
        EXPECT_EQ(step.state_root, states.state_roots[s]);
        EXPECT_EQ(step.record, states.records[s]);
        const Status status = check_step(unit_.trace, step.before_roots, step.leaf_roots,
                                         states.records[s], states.state_roots[s]);
        EXPECT_TRUE(status.ok()) << status.error().message;
    }
}

TEST_P(StepTraceOf, EveryWrongFieldOfARecordIsFound) {
    const StepTrace step = unit_.step(1);  // a checkpoint
    ASSERT_TRUE(step.record.gradient_root && step.record.state_root);
    const auto accepts = [&](const engine::StepRecord& record, const Digest& state_root) {
        return check_step(unit_.trace, step.before_roots, step.leaf_roots, record, state_root).ok();
    };
    EXPECT_TRUE(accepts(step.record, step.state_root));
    engine::StepRecord wrong = step.record;
    wrong.loss_bits ^= 1;
    EXPECT_FALSE(accepts(wrong, step.state_root));
    wrong = step.record, wrong.grad_norm_bits ^= 1;
    EXPECT_FALSE(accepts(wrong, step.state_root));
    wrong = step.record, wrong.skipped = !wrong.skipped;
    EXPECT_FALSE(accepts(wrong, step.state_root));
    wrong = step.record, wrong.batch_root.data[0] ^= 1;
    EXPECT_FALSE(accepts(wrong, step.state_root));
    wrong = step.record, wrong.gradient_root->data[9] ^= 1;
    EXPECT_FALSE(accepts(wrong, step.state_root));
    wrong = step.record, wrong.state_root->data[9] ^= 1;
    EXPECT_FALSE(accepts(wrong, step.state_root));
    wrong = step.record, wrong.state_root.reset();
    Digest other = step.state_root;
    EXPECT_TRUE(accepts(wrong, other));
    other.data[0] ^= 1;
    EXPECT_FALSE(accepts(wrong, other));
}

TEST_P(StepTraceOf, ThreadsChangeNoRoot) {
    engine::EngineOptions threads;
    threads.threads = 3;
    threads.isa = "scalar";
    const StepTrace one = unit_.step(1), three = unit_.step(1, threads);
    EXPECT_EQ(one.leaf_roots, three.leaf_roots);
    EXPECT_EQ(one.state_root, three.state_root);
    RerunOptions options;
    options.engine = threads;
    EXPECT_EQ(unit_states(unit_.unit())->state_roots,
              unit_states(unit_.unit(), options)->state_roots);
}

TEST(StepTrace, RefusesInputsOfAnotherUnitAndStepsThatAreNotThere) {
    SampleUnit unit(kSamples[0]);
    EXPECT_EQ(state_before(unit.unit(), unit.spec.steps).error().code, ErrorCode::kOutOfRange);
    unit.spec.base_state_root.data[0] ^= 1;
    EXPECT_EQ(unit_states(unit.unit()).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(state_before(unit.unit(), 0).error().code, ErrorCode::kMismatch);
}

TEST(StepTrace, StopsWhenAsked) {
    const SampleUnit unit(kSamples[0]);
    std::stop_source stop;
    RerunOptions options;
    options.cancel = stop.get_token();
    std::uint64_t steps = 0;
    options.progress = [&](const engine::UnitProgress& progress) {
        steps = progress.step;
        if (steps == 2) stop.request_stop();
    };
    EXPECT_EQ(unit_states(unit.unit(), options).error().code, ErrorCode::kCancelled);
    EXPECT_EQ(steps, 2U);
}

}  // namespace
}  // namespace gym::dispute
