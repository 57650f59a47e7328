#include <gtest/gtest.h>

#include "gym/dispute/outer_step.hpp"
#include "gym/game/column_parts.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/strategy.hpp"
#include "outer_liars.hpp"

// Whole games about aggregates of more deltas than one answer has values of.
namespace gym::game {
namespace {

using testing::must;
using testing::Outcome;
using testing::OuterLiar;
using testing::SampleOuter;

class LongColumn : public ::testing::TestWithParam<dispute::testing::Sample> {
  protected:
    static constexpr std::uint32_t kSlots = 2'100;

    LongColumn() : sample_(GetParam()) {
        sample_.fill(kSlots);
        honest_ = sample_.rerun();
        asserter_ = sample_.rerun();
    }
    Outcome play(OuterWork& liar, const testing::Player& player) {
        return testing::play(testing::transcript_of(sample_.facts(liar)), player,
                             testing::challenger_of(*honest_), &sample_.domain);
    }
    /// Of a momentum, whose columns are disputed in programs with and without an update.
    void lie(OuterLiar& liar) { liar.lie_about(OuterTree::kMomentum, 0, 4 * kElement); }
    static constexpr std::uint64_t kElement = 5;
    SampleOuter sample_;
    std::unique_ptr<RerunOuter> honest_, asserter_;
};
INSTANTIATE_TEST_SUITE_P(Samples, LongColumn,
                         ::testing::Values(dispute::testing::kSamples[0],
                                           dispute::testing::kUpdateSample),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(LongColumn, AWrongElementIsProvenByWhatThePartsAdd) {
    OuterLiar liar(*asserter_);
    lie(liar);
    const Outcome outcome = play(liar, liar.player());
    ASSERT_EQ(name_of(outcome.last), "proveOuter") << outcome.moves << outcome.reason.message;
    EXPECT_TRUE(outcome.moves.ends_with("pickElement postColumn proveOuter ")) << outcome.moves;
    EXPECT_EQ(std::get<move::ProveOuter>(outcome.last).values.size(), 27U);
}

/// Two moves more than in a game about fewer deltas.
TEST_P(LongColumn, AWrongValueIsFoundInItsPart) {
    for (const std::uint32_t position : {0U, 1023U, 1024U, 2047U, 2048U, kSlots - 1}) {
        OuterLiar liar(*asserter_);
        lie(liar);
        liar.values = must(asserter_->column(0, kElement));
        liar.values->at(std::size_t{4} * position + 3) ^= 0x02;
        const Outcome outcome = play(liar, liar.player());
        ASSERT_EQ(name_of(outcome.last), "proveColumn") << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element, position);
        EXPECT_TRUE(
            outcome.moves.ends_with("pickElement postColumn pickPart postColumn proveColumn "))
            << outcome.moves;
    }
}

/// The values are right, and what they are said to add is not.
TEST_P(LongColumn, APartThatAddsSomethingElseIsFound) {
    for (const std::uint8_t part : {0, 1, 2}) {
        for (const bool exponent : {false, true}) {
            OuterLiar liar(*asserter_);
            lie(liar);
            const auto player = [&](const GameTranscript& transcript) -> Result<Move> {
                GYM_TRY(Move move, liar.player()(transcript));
                auto* posted = std::get_if<move::PostColumn>(&move);
                if (posted != nullptr && transcript.at().stage == Stage::kColumn)
                    posted->values[kPartBytes * part + (exponent ? 0 : 8)] ^= 0x01;
                return move;
            };
            const Outcome outcome = play(liar, player);
            ASSERT_EQ(name_of(outcome.last), "provePart")
                << outcome.moves << outcome.reason.message;
            EXPECT_EQ(outcome.finding.element, part);
        }
    }
}

/// What an honest asserter posts cannot be proven wrong, whichever part is asked for.
TEST_P(LongColumn, RightPartsAreNotLost) {
    GameTranscript transcript = testing::transcript_of(sample_.facts(*asserter_));
    const auto answer = [&] {
        ASSERT_TRUE(transcript.play(must(plan_answer(*asserter_, transcript))).ok());
    };
    OuterLiar liar(*asserter_);
    lie(liar);
    // Where a challenger goes with another run of its own.
    while (transcript.at().stage != Stage::kColumn || !transcript.at().answered) {
        if (!transcript.at().answered) {
            answer();
            continue;
        }
        const Move move = must(plan_challenge(liar, transcript));
        ASSERT_FALSE(is_proof(move)) << name_of(move);
        ASSERT_TRUE(transcript.play(move).ok());
    }
    const Bytes added = transcript.values();
    for (std::uint8_t part = 0; part < dispute::column_parts(kSlots); ++part) {
        GameTranscript picked = transcript;
        ASSERT_TRUE(picked.play(move::PickPart{added, part}).ok());
        ASSERT_TRUE(picked.play(must(plan_answer(*asserter_, picked))).ok());
        const move::ProvePart proof{*picked.op(), *picked.outer(), picked.values()};
        const auto ruling = decide(picked.at(), proof, &sample_.domain);
        ASSERT_FALSE(ruling.ok());
        EXPECT_EQ(ruling.error().code, ErrorCode::kConflict) << ruling.error().message;
    }
    EXPECT_FALSE(transcript.play(move::PickPart{added, 3}).ok()) << "there are three";
}

/// As the contract, whose subtraction fails there.
TEST(ColumnParts, APartBeyondTheColumnHasNoAnswer) {
    Cursor at;
    at.stage = Stage::kPart;
    at.leaves = 2'100;
    at.height = 2;
    const Bytes rest(std::size_t{4} * (2'100 - 2 * dispute::kColumnPart));
    EXPECT_TRUE(decide(at, move::PostColumn{rest}, nullptr).ok());
    at.height = 3;
    for (const Bytes& values : {Bytes(), rest}) {
        const auto ruling = decide(at, move::PostColumn{values}, nullptr);
        ASSERT_FALSE(ruling.ok()) << values.size();
    }
}

}  // namespace
}  // namespace gym::game
