#include <gtest/gtest.h>

#include <functional>

#include "gym/game/strategy.hpp"
#include "outer_liars.hpp"
#include "outer_plan.hpp"
#include "random_seed.hpp"

// Whole games about aggregates that subtract deltas which went in before.

namespace gym::game {
namespace {

using testing::kSamples;
using testing::must;
using testing::Outcome;
using testing::OuterLiar;
using testing::SampleOuter;

class WithdrawnGames : public ::testing::TestWithParam<bool> {
  protected:
    static SampleOuter sample_of(bool held) {
        SampleOuter sample(kSamples[0]);
        if (held) sample.add_held();
        sample.add_withdrawn();
        return sample;
    }
    Outcome play(OuterLiar& liar) {
        return testing::play(testing::transcript_of(sample_.facts(liar)), liar.player(),
                             testing::challenger_of(*honest_), &sample_.domain);
    }
    Outcome challenge(OuterWork& own) {
        return testing::play(testing::transcript_of(sample_.facts(*asserter_)),
                             testing::asserter_of(*asserter_), testing::challenger_of(own),
                             &sample_.domain);
    }
    /// Where the asserter must show the delta in this place.
    GameTranscript asked_for(std::uint32_t position) {
        GameTranscript transcript = testing::transcript_of(sample_.facts(*asserter_));
        EXPECT_TRUE(transcript.play(must(plan_answer(*asserter_, transcript))).ok());
        const Move pick =
            move::PickIncluded{*transcript.outer(), slots_of(sample_.included), position};
        const Status picked = transcript.play(pick);
        EXPECT_TRUE(picked.ok()) << picked.error().message;
        return transcript;
    }
    [[nodiscard]] std::uint32_t count() const {
        return static_cast<std::uint32_t>(sample_.included.size());
    }

    SampleOuter sample_ = sample_of(GetParam());
    std::unique_ptr<RerunOuter> honest_ = sample_.rerun(), asserter_ = sample_.rerun();
    std::mt19937_64 rng_{gym::testing::random_seed()};
};
INSTANTIATE_TEST_SUITE_P(Held, WithdrawnGames, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "held" : "plain"; });

TEST_P(WithdrawnGames, AnHonestAggregateIsNotLost) {
    EXPECT_EQ(challenge(*honest_).moves, "declareOuter ");
    for (const std::uint32_t position : {count() - 2, count() - 1}) {
        GameTranscript transcript = asked_for(position);
        EXPECT_EQ(transcript.at().height, kWithdrawnHeight + (position + 1 == count() ? 1 : 0));
        ASSERT_TRUE(transcript.play(must(plan_answer(*asserter_, transcript))).ok());
        const auto next = plan_challenge(*honest_, transcript);
        ASSERT_FALSE(next.ok());
        EXPECT_NE(next.error().message.find("the asserter is right"), std::string::npos)
            << next.error().message;
    }
}

TEST_P(WithdrawnGames, WhatIsDeclaredIsReadAgain) {
    const GameTranscript transcript = asked_for(0);
    std::vector<OuterDelta> declared = transcript.included();
    ASSERT_EQ(declared.size(), sample_.included.size());
    for (std::size_t i = 0; i < declared.size(); ++i)
        declared[i].root = sample_.included[i].root;
    EXPECT_EQ(declared, sample_.included);
}

TEST_P(WithdrawnGames, WithdrawnDeltasThatAreAddedAreFound) {
    OuterLiar liar(*asserter_);
    liar.lie_about_weights();
    const Outcome outcome = play(liar);
    EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
    EXPECT_EQ(name_of(outcome.last), "proveOuter") << outcome.moves;
}

TEST_P(WithdrawnGames, AWrongElementIsFound) {
    OuterLiar liar(*asserter_);
    const std::uint64_t element = rng_() % (sample_.base.tensors[0].bytes.size() / 4);
    liar.lie_about(OuterTree::kBase, 0, 4 * element);
    const Outcome outcome = play(liar);
    ASSERT_EQ(name_of(outcome.last), "proveOuter") << outcome.moves << outcome.reason.message;
    EXPECT_EQ(outcome.finding.element, element);
}

TEST_P(WithdrawnGames, AWrongValueOfAWithdrawnDeltaIsFound) {
    OuterLiar liar(*asserter_);
    liar.lie_about(OuterTree::kMomentum, 0, 4);
    liar.values = must(asserter_->column(0, 1));
    liar.values->at(std::size_t{4} * (count() - 1)) ^= 1;
    const Outcome outcome = play(liar);
    ASSERT_EQ(name_of(outcome.last), "proveColumn") << outcome.moves << outcome.reason.message;
    EXPECT_EQ(outcome.finding.element, count() - 1);
}

/// Whoever knows that there is no reason asks for it.
TEST_P(WithdrawnGames, ADeltaThatIsSubtractedForNoReasonCannotBeShown) {
    for (const std::size_t which : {0U, 1U}) {
        OuterLiar liar(*asserter_), knows(*honest_);
        knows.reasons = liar.reasons = sample_.reasons();
        knows.reasons->at(which).reset();
        liar.reasons->at(which).reset();
        const Outcome outcome =
            testing::play(testing::transcript_of(sample_.facts(liar)), liar.player(),
                          testing::challenger_of(knows), &sample_.domain);
        EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
        EXPECT_EQ(outcome.moves, "declareOuter pickIncluded ");
    }
}

TEST_P(WithdrawnGames, WhoDoesNotKnowTheReasonsBelievesInThem) {
    OuterLiar knows(*honest_);
    knows.reasons.emplace();
    const Outcome outcome = challenge(knows);
    EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent);
    EXPECT_EQ(outcome.moves, "declareOuter ");
}

/// As the contract, which also asks the log and the games.
TEST_P(WithdrawnGames, AllThatIsShownMustFit) {
    const GameTranscript transcript = asked_for(count() - 2);
    const auto right = std::get<move::ShowIncluded>(must(plan_answer(*asserter_, transcript)));
    ASSERT_TRUE(decide(transcript.at(), Move(right)).ok());
    const auto refused = [&](const std::function<void(move::ShowIncluded&)>& change) {
        move::ShowIncluded move = right;
        change(move);
        return !decide(transcript.at(), Move(move)).ok();
    };
    EXPECT_TRUE(refused([](auto& m) { m.late = true; }));
    EXPECT_TRUE(refused([](auto& m) { m.index ^= 1; }));
    EXPECT_TRUE(refused([](auto& m) { m.path[0].data[0] ^= 1; }));
    EXPECT_TRUE(refused([](auto& m) { m.included[0].data[0] ^= 1; }));
    EXPECT_TRUE(refused([](auto& m) { m.commitment.pop_back(); }));
    EXPECT_TRUE(refused([](auto& m) { m.commitment.push_back(0); }));
    // Slot and delta root of the commitment, the unit, and all of the own head. Of the listing one
    // job, round, and the list: the log has the hash of the whole.
    const auto flipped = [&](std::size_t at) {
        return refused([at](auto& m) { m.commitment[at] ^= 1; });
    };
    for (const std::size_t at :
         {2U, 38U, 109U, 226U, 258U, 259U, 300U, 721U, 724U, 763U, 1153U, 1185U})
        EXPECT_TRUE(flipped(at)) << at;
    // What shows another delta shows nothing of this one.
    const GameTranscript other = asked_for(count() - 1);
    EXPECT_FALSE(decide(other.at(), Move(right)).ok());
    EXPECT_FALSE(decide(asked_for(0).at(), Move(right)).ok());
}

TEST_P(WithdrawnGames, AnAggregateThatSubtractsNothingHasNoneToShow) {
    sample_.record.subtract = false;
    asserter_ = sample_.rerun();
    const GameTranscript transcript = asked_for(count() - 1);
    const auto shown = plan_answer(*asserter_, transcript);
    ASSERT_FALSE(shown.ok());
    EXPECT_NE(shown.error().message.find("does not subtract"), std::string::npos)
        << shown.error().message;
}

TEST(DeclaredDeltas, AreInOrderAndOfLegalGroups) {
    const std::vector<OuterDelta> list{{2, {}, false},    {5, {}, false},    {1, {}, true},
                                       {9, {}, false, 1}, {3, {}, false, 2}, {4, {}, true, 1}};
    const std::uint32_t packed = program::packed(groups_of(list));
    EXPECT_EQ(packed, 1U | 3U << 16 | 1U << 24);
    EXPECT_EQ(slots_of(list).size(), 14U) << "two sets of a byte, three ages and slots";
    EXPECT_EQ(read_declared(slots_of(list), packed).value(), list);
    const auto refused = [&](const std::vector<OuterDelta>& other) {
        return !read_declared(slots_of(other), packed).ok();
    };
    std::vector<OuterDelta> wrong = list;
    std::swap(wrong[3], wrong[4]);
    EXPECT_TRUE(refused(wrong)) << "an older one first";
    wrong = list;
    wrong[4] = wrong[3];
    EXPECT_TRUE(refused(wrong)) << "one twice";
    const std::vector<OuterDelta> alone(list.begin() + 3, list.end());
    EXPECT_FALSE(read_declared(slots_of(alone), 3U << 16 | 1U << 24).ok()) << "nothing goes in";
    EXPECT_FALSE(read_declared(slots_of(list), 1).ok()) << "other groups";
    Bytes young = slots_of(list);
    young[3] = 0;
    EXPECT_FALSE(read_declared(young, packed).ok()) << "an age of 0";
}

}  // namespace
}  // namespace gym::game
