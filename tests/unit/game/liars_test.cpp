#include <gtest/gtest.h>

#include <algorithm>

#include "liars.hpp"
#include "random_seed.hpp"

namespace gym::game {
namespace {

using dispute::LeafRecord;
using dispute::Source;
using testing::kSamples;
using testing::Liar;
using testing::must;
using testing::Outcome;
using testing::SampleUnit;

/// A liar against an honest challenger.
class Liars : public ::testing::TestWithParam<dispute::testing::Sample> {
  protected:
    Outcome play(Liar& liar) {
        const Facts facts = testing::facts_of(unit_, liar, must(honest_->states())->initial_root);
        return testing::play(testing::transcript_of(facts), liar.player(),
                             testing::challenger_of(*honest_));
    }
    /// The game ends with this proof.
    void expect_proof(Liar& liar, const std::string& name) {
        const Outcome outcome = play(liar);
        EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
        EXPECT_EQ(name_of(outcome.last), name) << outcome.moves;
        EXPECT_NE(outcome.finding.claimed, outcome.finding.computed);
    }
    Digest random_digest() {
        Digest digest;
        for (std::uint8_t& byte : digest.data)
            byte = static_cast<std::uint8_t>(rng_());
        return digest;
    }
    [[nodiscard]] std::uint32_t leaf_of(LeafRecord::Kind kind) const {
        const auto found = std::ranges::find(unit_.trace.leaves, kind, &LeafRecord::kind);
        return static_cast<std::uint32_t>(found - unit_.trace.leaves.begin());
    }
    [[nodiscard]] bool has(LeafRecord::Kind kind) const {
        return leaf_of(kind) < unit_.trace.leaves.size();
    }
    std::vector<Digest> state_after(std::uint32_t step) {
        const dispute::StepTrace& trace = *must(honest_->step(step));
        return dispute::next_state_roots(unit_.trace, trace.before_roots, trace.leaf_roots);
    }
    void claim_state(Liar& liar, std::uint32_t step, std::vector<Digest> roots) {
        const Digest root = commit::merkle_root(roots);
        liar.lie_about_unit().state_roots[step] = root;
        if (liar.unit->records[step].state_root)
            liar.lie_in_record(step, [&](engine::StepRecord& r) { r.state_root = root; });
        liar.answers[Stage::kState] = std::move(roots);
    }

    SampleUnit unit_{GetParam()};
    std::unique_ptr<RerunWork> honest_ = testing::rerun(unit_);
    std::mt19937_64 rng_{gym::testing::random_seed()};
};
INSTANTIATE_TEST_SUITE_P(Samples, Liars, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Liars, AreCaughtByAWrongFieldOfARecord) {
    const auto field = [&](std::uint32_t step, auto change) {
        Liar liar(*honest_);
        liar.lie_in_record(step, change);
        expect_proof(liar, "proveRecord");
    };
    field(0, [](engine::StepRecord& r) { r.loss_bits ^= 1; });
    field(1, [](engine::StepRecord& r) { r.grad_norm_bits ^= 0x80; });
    field(2, [](engine::StepRecord& r) { r.batch_root.data[7] ^= 1; });
    field(3, [](engine::StepRecord& r) { r.skipped = !r.skipped; });
}

TEST_P(Liars, AreCaughtByAWrongToken) {
    for (const std::uint32_t step : {0U, 3U}) {
        Liar liar(*honest_);
        const dispute::TracedTensor& right = *must(honest_->windows(step));
        const std::uint64_t token = rng_() % element_count(right.shape);
        const auto windows = testing::changed(right, token * 4, 1);
        liar.lie_about(step).leaf_roots[leaf_of(LeafRecord::Kind::kBatch)] = windows.root();
        liar.lie_in_record(step, [&](engine::StepRecord& r) { r.batch_root = windows.root(); });
        liar.token_windows.emplace(step, windows);
        const Outcome outcome = play(liar);
        EXPECT_EQ(name_of(outcome.last), "proveToken") << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element, token);
    }
}

TEST_P(Liars, AreCaughtByAWrongClockOrRandomPosition) {
    for (const auto kind : {LeafRecord::Kind::kClock, LeafRecord::Kind::kRandom}) {
        if (!has(kind)) continue;
        Liar liar(*honest_);
        liar.lie_about(1).leaf_roots[leaf_of(kind)] = random_digest();
        liar.lie_in_record(1, [](engine::StepRecord& r) { r.loss_bits ^= 1; });
        expect_proof(liar, "proveInput");
    }
}

TEST_P(Liars, AreCaughtByAWrongGradient) {
    for (const std::uint32_t step : {1U, 3U}) {  // the checkpoints
        Liar liar(*honest_);
        const dispute::StepTrace& trace = *must(honest_->step(step));
        std::vector<Digest> roots;
        for (const std::uint32_t leaf : unit_.trace.gradients)
            roots.push_back(trace.leaf_roots[leaf]);
        roots[rng_() % roots.size()] = random_digest();
        liar.lie_in_record(
            step, [&](engine::StepRecord& r) { r.gradient_root = commit::merkle_root(roots); });
        liar.answers[Stage::kGradients] = roots;
        expect_proof(liar, "proveGradient");
    }
}

TEST_P(Liars, AreCaughtByAWrongSlotOfTheStateAfterAStep) {
    for (std::uint32_t step = 0; step < unit_.spec.steps; ++step) {
        Liar liar(*honest_);
        std::vector<Digest> roots = state_after(step);
        roots[rng_() % roots.size()] = random_digest();
        claim_state(liar, step, std::move(roots));
        expect_proof(liar, "proveSlot");
    }
}

TEST_P(Liars, AreCaughtByASkippedStep) {
    for (std::uint32_t step = 0; step < unit_.spec.steps; ++step) {
        Liar liar(*honest_);
        claim_state(liar, step, must(honest_->step(step))->before_roots);
        expect_proof(liar, "proveSlot");
    }
}

TEST_P(Liars, AreCaughtByAWrongWordOfTheDelta) {
    const dispute::TracedTensor right = *must(honest_->delta());
    const bool dense = honest_->trace().header.delta_codec == program::DeltaCodec::kDense;
    const std::uint64_t size = dense ? 1 : 4, words = right.bytes().size() / size;
    std::vector<std::uint64_t> wrong{0, 3, 4, words - 1};
    // Codec, count and the rest of the head's row; a scale, a level, the byte behind 31 rows.
    if (dense) wrong.insert(wrong.end(), {11, 15, 16, 32, 33, 34, 66, 1023});
    for (int i = 0; i < 4; ++i)
        wrong.push_back(rng_() % words);
    for (const std::uint64_t word : wrong) {
        Liar liar(*honest_);
        liar.whole_delta = testing::changed(right, word * size + size / 2, 1);
        const Outcome outcome = play(liar);
        EXPECT_EQ(name_of(outcome.last), "proveDelta") << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element, word);
    }
}

TEST_P(Liars, CannotPostGarbageBehindTheLastElement) {
    Liar liar(*honest_);
    dispute::TracedTensor windows = *must(honest_->windows(2));
    Bytes last(windows.chunk(windows.chunk_leaves.size() - 1).begin(),
               windows.chunk(windows.chunk_leaves.size() - 1).end());
    ASSERT_LT(last.size(), commit::kChunkBytes);
    last.push_back(1);
    windows.chunk_leaves.back() = commit::chunk_leaf(last);
    liar.lie_about(2).leaf_roots[leaf_of(LeafRecord::Kind::kBatch)] = windows.root();
    liar.lie_in_record(2, [&](engine::StepRecord& r) { r.batch_root = windows.root(); });
    liar.token_windows.emplace(2, windows);
    const Outcome outcome = play(liar);
    EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.moves;
    EXPECT_NE(outcome.reason.message.find("postChunk"), std::string::npos)
        << outcome.reason.message;
}

/// Everything behind the first wrong byte is garbage, at every level; it all folds.
TEST_P(Liars, AreCaughtAtTheFirstOfManyDifferences) {
    const std::size_t games = gym::testing::test_count(8);
    for (std::size_t game = 0; game < games; ++game) {
        Liar liar(*honest_);
        const auto step = static_cast<std::uint32_t>(rng_() % unit_.spec.steps);
        dispute::StepTrace& trace = liar.lie_about(step);
        const std::uint32_t inputs = unit_.trace.header.input_leaves;
        const auto leaf =
            static_cast<std::uint32_t>(inputs + rng_() % (unit_.trace.leaves.size() - inputs));
        const LeafRecord& record = unit_.trace.leaves[leaf];
        const auto primitive = static_cast<std::uint32_t>(rng_() % (record.writer + 1));
        SCOPED_TRACE("step " + std::to_string(step) + ", leaf " + std::to_string(leaf) +
                     ", primitive " + std::to_string(primitive));
        liar.outputs = *must(honest_->primitives(step, leaf));
        liar.output = *must(honest_->tensor(step, leaf, primitive));
        const std::uint64_t size = liar.output->output.bytes().size();
        const std::uint64_t byte = rng_() % size;
        liar.output->output = testing::changed(liar.output->output, byte, size);
        for (std::size_t i = primitive; i < liar.outputs->size(); ++i)
            (*liar.outputs)[i] = random_digest();
        (*liar.outputs)[primitive] = liar.output->output.root();
        for (std::size_t i = leaf; i < trace.leaf_roots.size(); ++i)
            trace.leaf_roots[i] = random_digest();
        trace.leaf_roots[leaf] = (*liar.outputs)[record.writer];
        for (std::size_t i = step; i < unit_.spec.steps; ++i)
            liar.lie_about_unit().state_roots[i] = random_digest();
        liar.lie_in_record(step, [&](engine::StepRecord& r) {
            r.loss_bits ^= 1;
            if (r.state_root) r.state_root = liar.unit->state_roots[step];
        });
        const Outcome outcome = play(liar);
        ASSERT_EQ(name_of(outcome.last), "proveElement") << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element,
                  byte / commit::size_bytes(liar.output->output.shape.dtype));
    }
}

}  // namespace
}  // namespace gym::game
