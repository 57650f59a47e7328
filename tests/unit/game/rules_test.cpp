#include "gym/game/rules.hpp"

#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/transcript.hpp"
#include "move_samples.hpp"

// From the unit to a step, by hand. tests/integration/game plays whole games of real units, against
// the contracts.

namespace gym::game {
namespace {

using testing::filled;
using testing::Rng;

/// A tree whose inner nodes can be asked for.
struct Tree {
    explicit Tree(std::vector<Digest> all) : leaves(std::move(all)), tree(leaves) {}
    [[nodiscard]] Digest node(unsigned height, std::uint64_t index) const {
        const std::uint64_t begin = index << height, end = (index + 1) << height;
        std::vector<Digest> below;
        for (std::uint64_t i = begin; i < end && i < leaves.size(); ++i)
            below.push_back(leaves[i]);
        return commit::merkle_fold(below, 0, height);
    }
    [[nodiscard]] std::vector<Digest> children(unsigned height, std::uint64_t index,
                                               unsigned levels) const {
        std::vector<Digest> out;
        const unsigned to = height - levels;
        for (std::uint64_t i = index << levels; i < (index + 1) << levels; ++i)
            if (i << to < leaves.size()) out.push_back(node(to, i));
        return out;
    }
    /// From a level up to another.
    [[nodiscard]] std::vector<Digest> path(std::uint64_t leaf, unsigned from, unsigned to) const {
        const auto whole = tree.prove(leaf).value();
        return {whole.begin() + from, whole.begin() + to};
    }
    std::vector<Digest> leaves;
    commit::MerkleTree tree;
};

constexpr std::uint32_t kSteps = 100;  // 7 levels: two answers, of 4 and 3

class StepsGame : public ::testing::Test {
  protected:
    StepsGame() {
        facts_ = testing::sample_facts();
        facts_.records_root = records_.tree.root();
        facts_.final_state_root = states_.leaves.back();
        facts_.steps = kSteps;
        transcript_.emplace(facts_, start_of(filled(99), facts_));
    }
    static Tree random_tree(std::uint64_t seed) {
        Rng rng(seed);
        std::vector<Digest> leaves(kSteps);
        for (Digest& leaf : leaves)
            leaf = testing::random_digest(rng);
        return Tree(std::move(leaves));
    }
    [[nodiscard]] move::DeclareStates declare() const {
        return {facts_, states_.tree.root(), records_.children(7, 0, 4), states_.children(7, 0, 4)};
    }
    [[nodiscard]] Pick pick(std::uint64_t leaf, unsigned from, unsigned to) const {
        const std::uint64_t index = leaf >> from;
        return {index, records_.node(from, index), records_.path(leaf, from, to),
                states_.node(from, index), states_.path(leaf, from, to)};
    }
    [[nodiscard]] move::AnswerSteps answer(std::uint64_t index) const {
        return {facts_, states_.tree.root(), records_.children(3, index, 3),
                states_.children(3, index, 3)};
    }
    [[nodiscard]] move::PickStep pick_step(std::uint64_t step) const {
        StepPick to{states_.tree.root(), pick(step, 0, 3), {}};
        if (step > 0) to.before = pick(step - 1, 0, 7);
        return {facts_, to};
    }
    void expect_refused(const Move& move, ErrorCode code) const {
        const auto ruling = decide(transcript_->at(), move);
        ASSERT_FALSE(ruling.ok());
        EXPECT_EQ(ruling.error().code, code) << ruling.error().message;
    }
    void play(const Move& move) {
        const Status played = transcript_->play(move);
        ASSERT_TRUE(played.ok()) << played.error().message;
    }

    Tree records_ = random_tree(1);
    Tree states_ = random_tree(2);
    Facts facts_;
    std::optional<GameTranscript> transcript_;
};

TEST_F(StepsGame, LeadsToAStep) {
    play(declare());
    EXPECT_EQ(transcript_->at().stage, Stage::kSteps);
    EXPECT_EQ(transcript_->at().height, 7);
    EXPECT_TRUE(transcript_->at().answered);
    EXPECT_EQ(transcript_->states_root(), states_.tree.root());
    play(move::PickNode{pick(42, 3, 7)});
    EXPECT_EQ(transcript_->at().index, 5U);
    EXPECT_FALSE(transcript_->at().answered);
    play(answer(5));
    play(pick_step(42));
    EXPECT_EQ(transcript_->at().stage, Stage::kStep);
    ASSERT_TRUE(transcript_->step().has_value());
    EXPECT_EQ(transcript_->step()->step, 42U);
    EXPECT_EQ(transcript_->step()->hash_before, records_.leaves[41]);
    EXPECT_EQ(transcript_->step()->state_after, states_.leaves[42]);
    EXPECT_EQ(transcript_->at().frame, hash_of(*transcript_->step()));
    EXPECT_EQ(transcript_->moves().size(), 4U);
}

TEST_F(StepsGame, TheFirstStepComesAfterTheRoundsState) {
    play(declare());
    play(move::PickNode{pick(0, 3, 7)});
    play(answer(0));
    move::PickStep first = pick_step(0);
    first.to.before = pick(1, 0, 7);
    expect_refused(first, ErrorCode::kMalformed);
    play(pick_step(0));
    EXPECT_EQ(transcript_->step()->state_before, facts_.initial_state_root);
    EXPECT_TRUE(transcript_->step()->hash_before.is_zero());
}

TEST_F(StepsGame, TheLastStateIsTheCommittedOne) {
    play(declare());
    play(move::PickNode{pick(99, 3, 7)});
    EXPECT_EQ(transcript_->at().index, 12U);
    play(answer(12));
    // The same game of an asserter that committed to another final state.
    facts_.final_state_root.data[0] ^= 1;
    transcript_.emplace(facts_, start_of(filled(99), facts_));
    play(declare());
    play(move::PickNode{pick(99, 3, 7)});
    expect_refused(answer(12), ErrorCode::kMismatch);
}

TEST_F(StepsGame, RefusesAnswersThatAreNotTheNodes) {
    expect_refused(answer(0), ErrorCode::kConflict);  // another stage
    move::DeclareStates m = declare();
    m.records.pop_back();
    expect_refused(m, ErrorCode::kMalformed);
    m = declare();
    m.states.push_back(filled(1));
    expect_refused(m, ErrorCode::kMalformed);
    m = declare();
    m.records[3].data[5] ^= 1;
    expect_refused(m, ErrorCode::kMismatch);
    m = declare();
    m.states[0] = {};
    expect_refused(m, ErrorCode::kMalformed);
    m = declare();
    m.facts.round ^= 1;
    expect_refused(m, ErrorCode::kMismatch);
    m = declare();
    m.states_root = {};
    expect_refused(m, ErrorCode::kMalformed);
}

TEST_F(StepsGame, RefusesPicksOfWhatIsNotThere) {
    play(declare());
    move::PickNode m{pick(42, 3, 7)};
    m.to.index = 6;
    expect_refused(m, ErrorCode::kMismatch);
    m.to.index = 13;  // absent leaves
    expect_refused(m, ErrorCode::kOutOfRange);
    m.to.index = 5 + 16;
    expect_refused(m, ErrorCode::kOutOfRange);
    m = {pick(42, 3, 7)};
    m.to.twin.data[0] ^= 1;
    expect_refused(m, ErrorCode::kMismatch);
    m = {pick(42, 3, 7)};
    m.to.twin_path.pop_back();
    expect_refused(m, ErrorCode::kMalformed);
    m = {pick(42, 3, 7)};
    m.to.path.push_back(filled(1));
    expect_refused(m, ErrorCode::kMismatch);
    expect_refused(move::PickNode{pick(42, 7, 7)}, ErrorCode::kMalformed);  // itself
    expect_refused(move::PickNode{pick(42, 0, 7)}, ErrorCode::kMalformed);  // a leaf
}

TEST_F(StepsGame, AProofIsNoMoveOfALine) {
    EXPECT_EQ(transcript_->play(move::ProveInput{}).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(transcript_->moves().empty());
}

}  // namespace
}  // namespace gym::game
