#include <gtest/gtest.h>

#include "players.hpp"
#include "temporary_folder.hpp"

namespace gym::game {
namespace {

using testing::kSamples;
using testing::must;
using testing::SampleUnit;

/// A unit of many steps of a model that is quick.
SampleUnit long_unit() {
    SampleUnit unit(kSamples[4]);
    unit.spec.steps = 40;
    unit.spec.checkpoint_every = 10;
    return unit;
}

/// The requests of a whole game, in their order.
void prepare_game(RerunWork& work, std::uint32_t step) {
    (void)must(work.states());
    (void)must(work.step(step));
    const std::uint32_t leaf = work.trace().header.input_leaves + 3;
    (void)must(work.primitives(step, leaf));
    (void)must(work.tensor(step, leaf, 0));
    (void)must(work.step(step));
}

TEST(RerunWork, AnswersAGameWithOneRunOfTheUnit) {
    const SampleUnit unit = long_unit();
    for (const std::uint32_t step : {0U, 17U, 39U}) {
        const auto work = testing::rerun(unit);
        prepare_game(*work, step);
        // The unit, from the state that was kept last (of every third step), and the step itself.
        EXPECT_EQ(work->steps_run(), unit.spec.steps + step % 3 + 1);
    }
}

TEST(RerunWork, RunsOnlyTheStepsSinceACheckpointWhereRoomIsShort) {
    const SampleUnit unit = long_unit();
    RerunWorkOptions options;
    options.checkpoint_bytes_max =
        5 * must(engine::with_fresh_optimizer(unit.program, unit.base)).size_bytes();
    const auto work = testing::rerun(unit, options);
    prepare_game(*work, 15);
    // Five checkpoints: one every eight steps.
    EXPECT_EQ(work->steps_run(), unit.spec.steps + (15 - 8) + 1);
    (void)must(work->step(23));
    EXPECT_EQ(work->steps_run(), unit.spec.steps + (15 - 8) + 1 + (23 - 16) + 1);
}

TEST(RerunWork, RunsUpToAStepWithoutARunOfTheWholeUnit) {
    const SampleUnit unit = long_unit();
    const auto work = testing::rerun(unit);
    (void)must(work->step(12));
    EXPECT_EQ(work->steps_run(), 13U);
    (void)must(work->step(20));
    EXPECT_EQ(work->steps_run(), 13U + 9) << "from the step before";
    (void)must(work->step(20));
    EXPECT_EQ(work->steps_run(), 13U + 9);
}

TEST(RerunWork, FilesAndThreadsChangeNothing) {
    const gym::testing::TemporaryFolder folder;
    RerunWorkOptions small;
    small.engine.threads = 3;
    small.spill = {folder.path(), 256};
    const SampleUnit unit(kSamples[2]);
    const auto a = testing::rerun(unit), b = testing::rerun(unit, small);
    EXPECT_EQ(must(a->states())->state_roots, must(b->states())->state_roots);
    EXPECT_EQ(must(a->step(2))->leaf_roots, must(b->step(2))->leaf_roots);
    const std::uint32_t leaf = unit.trace.header.input_leaves + 5;
    EXPECT_EQ(*must(a->primitives(2, leaf)), *must(b->primitives(2, leaf)));
    EXPECT_EQ(must(a->tensor(2, leaf, 0))->output.root(), (*must(b->primitives(2, leaf)))[0]);
    EXPECT_EQ(must(a->delta())->root(), must(b->delta())->root());
    EXPECT_EQ(must(a->windows(1))->root(), must(b->step(1))->leaf_roots[0]);
}

TEST(RerunWork, GivesWhatTheUnitCommitsTo) {
    const SampleUnit unit(kSamples[0]);
    const auto run = must(engine::run_unit({unit.program, unit.base, unit.dataset, unit.spec}));
    const auto work = testing::rerun(unit);
    const dispute::UnitStates& states = *must(work->states());
    EXPECT_EQ(engine::records_root(states.records), run.records_root);
    EXPECT_EQ(states.state_roots.back(), run.final_state_root);
    EXPECT_EQ(must(work->delta())->root(), run.delta.root());
    const std::uint32_t slot = 1;
    const auto sides = must(work->slot_element(slot, 0));
    const dispute::Shape& shape = unit.trace.state[slot].shape;
    const auto verify = [&](const dispute::ChunksOpening& opening, const Digest& state) {
        return commit::merkle_verify(state, {slot, unit.trace.header.state_slots},
                                     tensor_digest(shape, opening.tree_root), opening.path)
            .ok();
    };
    EXPECT_TRUE(verify(sides.final, run.final_state_root));
    EXPECT_TRUE(verify(sides.base, states.initial_root));
}

/// A broken device: the step's output is not what the primitives give.
TEST(RerunWork, ClaimsWhatTheDeviceWrote) {
    const SampleUnit unit(kSamples[0]);
    const std::uint32_t op = 7;
    const dispute::MacroRange& range = unit.trace.macros[op];
    const std::uint32_t leaf = range.first_leaf, writer = unit.trace.leaves[leaf].writer;
    const auto own = testing::rerun(unit), honest = testing::rerun(unit);
    testing::FaultyWork faulty(*own, {1, op, 0, 77}, range.leaves);
    const dispute::StepTrace& step = *must(faulty.step(1));
    EXPECT_NE(step.leaf_roots[leaf], must(honest->step(1))->leaf_roots[leaf]);
    const std::vector<Digest>& claimed = *must(faulty.primitives(1, leaf));
    const std::vector<Digest>& right = *must(honest->primitives(1, leaf));
    for (std::uint32_t i = 0; i < range.primitives; ++i)
        EXPECT_EQ(claimed[i] == right[i], i != writer) << i;
    EXPECT_EQ(claimed[writer], step.leaf_roots[leaf]);
    const auto& wrong = must(faulty.tensor(1, leaf, writer))->output;
    EXPECT_EQ(wrong.root(), claimed[writer]);
    EXPECT_EQ(wrong.bytes()[77 / 8] ^ must(honest->tensor(1, leaf, writer))->output.bytes()[77 / 8],
              1 << 77 % 8);
    // Whoever does not answer for it takes it for an error.
    engine::set_fault_hook([&](std::uint64_t run, std::uint32_t at, std::span<std::uint8_t> bytes) {
        if (run == 1 && at == op) bytes[77 / 8] ^= 1U << 77 % 8;
    });
    const auto strict = dispute::MacroTrace::create(unit.unit(), unit.trace, step, op);
    engine::set_fault_hook({});
    ASSERT_FALSE(strict.ok());
    EXPECT_EQ(strict.error().code, ErrorCode::kInternal);
}

TEST(RerunWork, OpensTheDatasetsTokens) {
    const SampleUnit unit(kSamples[0]);
    const auto work = testing::rerun(unit);
    EXPECT_EQ(work->dataset_tokens(), 5000U);
    for (const std::uint64_t token : {0U, 512U, 4999U}) {
        const auto opening = must(work->dataset_chunk(token));
        ASSERT_EQ(opening.chunks.size(), 1U);
        EXPECT_TRUE(commit::merkle_verify(opening.tree_root, {token / 512, 10},
                                          commit::chunk_leaf(opening.chunks[0].content),
                                          opening.chunks[0].path)
                        .ok());
    }
    EXPECT_FALSE(work->dataset_chunk(5000).ok());
}

TEST(RerunWork, OpensTheTokensOfADatasetWithAHead) {
    const Digest tokenizer = engine::testing::seed_of("tokenizer");
    const SampleUnit narrow(kSamples[0], {256, tokenizer});
    const SampleUnit wide(dispute::testing::kWideSample, {70'000, tokenizer});
    for (const SampleUnit* unit : {&narrow, &wide}) {
        const auto work = testing::rerun(*unit);
        const blob::DatasetHeader& header = unit->dataset.header();
        const std::uint64_t count = 5000, bytes = header.token_bytes();
        for (const std::uint64_t token : {0U, 512U, 4999U}) {
            const auto opening = must(work->dataset_chunk(token));
            const Digest tensor =
                commit::tensor_digest(header.dtype(), {&count, 1}, opening.tree_root);
            EXPECT_TRUE(
                commit::merkle_verify(unit->dataset.root(), {1, 2}, tensor, opening.path).ok());
            const auto content =
                must(dispute::check_chunks(opening, {count * bytes, token * bytes, bytes}));
            EXPECT_EQ(blob::token_at(header, content, 0), unit->dataset.tokens()[token]);
        }
    }
}

TEST(RerunWork, SaysWhatAUnitDoesNotHave) {
    const SampleUnit unit(kSamples[0]);
    const auto work = testing::rerun(unit);
    EXPECT_EQ(work->step(4).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(work->windows(4).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(work->primitives(0, 0).error().code, ErrorCode::kOutOfRange) << "an input";
    EXPECT_EQ(work->primitives(0, 1U << 20).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(work->slot_element(1U << 20, 0).error().code, ErrorCode::kOutOfRange);
}

TEST(RerunWork, StopsWhenAsked) {
    const SampleUnit unit(kSamples[0]);
    std::stop_source stop;
    RerunWorkOptions options;
    options.cancel = stop.get_token();
    options.progress = [&](const engine::UnitProgress& progress) {
        if (progress.step == 2) stop.request_stop();
    };
    const auto work = testing::rerun(unit, options);
    EXPECT_EQ(work->states().error().code, ErrorCode::kCancelled);
    EXPECT_EQ(work->step(3).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace gym::game
