#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "players.hpp"
#include "random_seed.hpp"

namespace gym::game {
namespace {

using testing::Fault;
using testing::FaultyWork;
using testing::kSamples;
using testing::must;
using testing::Outcome;
using testing::SampleUnit;

/// A sample unit and the honest side's work, which all games about it share.
struct Table {
    explicit Table(const dispute::testing::Sample& sample) : unit(sample) {
        honest = testing::rerun(unit);
        initial_root = must(honest->states())->initial_root;
    }
    [[nodiscard]] Fault random_fault(std::mt19937_64& rng) const {
        return {rng() % unit.spec.steps,
                static_cast<std::uint32_t>(rng() % unit.trace.macros.size()), rng(), rng()};
    }
    [[nodiscard]] std::uint64_t outputs(std::uint32_t op) const {
        return unit.trace.macros[op].leaves;
    }

    SampleUnit unit;
    std::unique_ptr<RerunWork> honest;
    Digest initial_root;
};

class Games : public ::testing::TestWithParam<dispute::testing::Sample> {
  protected:
    Table table_{GetParam()};
    std::mt19937_64 rng_{gym::testing::random_seed()};
};
INSTANTIATE_TEST_SUITE_P(Samples, Games, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });

/// Over the samples at least 200 games; a quarter of that with sanitizers.
TEST_P(Games, AFaultAnywhereIsProvenByTheLastElement) {
    const std::size_t wanted = gym::testing::test_count(42);
    const Facts right = testing::facts_of(table_.unit, *table_.honest, table_.initial_root);
    std::map<std::string, std::size_t> endings;
    std::size_t proven = 0;
    for (std::size_t tries = 0; proven < wanted && tries < 2 * wanted; ++tries) {
        const Fault fault = table_.random_fault(rng_);
        SCOPED_TRACE(fault);
        const auto own = testing::rerun(table_.unit);
        FaultyWork faulty(*own, fault, table_.outputs(fault.op));
        const Facts facts = testing::facts_of(table_.unit, faulty, table_.initial_root);
        if (facts == right) continue;  // the bit had no effect on anything that is committed to
        const Outcome outcome =
            testing::play(testing::transcript_of(facts), testing::asserter_of(faulty),
                          testing::challenger_of(*table_.honest));
        ASSERT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
        ++endings[std::string(name_of(outcome.last))];
        ASSERT_LE(outcome.count, 12U) << outcome.moves;
        ++proven;
    }
    EXPECT_EQ(proven, wanted);
    EXPECT_EQ(endings["proveElement"], wanted) << "ops' outputs are elements";
}

/// A challenger whose device is broken takes a right step for a wrong one.
TEST_P(Games, AChallengerThatIsWrongHasNoProof) {
    const Facts right = testing::facts_of(table_.unit, *table_.honest, table_.initial_root);
    const std::size_t games = gym::testing::test_count(8);
    for (std::size_t i = 0; i < games; ++i) {
        const Fault fault = table_.random_fault(rng_);
        SCOPED_TRACE(fault);
        const auto own = testing::rerun(table_.unit);
        FaultyWork wrong(*own, fault, table_.outputs(fault.op));
        const Outcome outcome =
            testing::play(testing::transcript_of(right), testing::asserter_of(*table_.honest),
                          testing::challenger_of(wrong));
        ASSERT_EQ(outcome.end, Outcome::End::kChallengerSilent)
            << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict) << outcome.reason.message;
    }
}

TEST_P(Games, AgainstARightUnitThereIsNoMove) {
    const Facts right = testing::facts_of(table_.unit, *table_.honest, table_.initial_root);
    const auto other = testing::rerun(table_.unit);
    const Outcome outcome =
        testing::play(testing::transcript_of(right), testing::asserter_of(*table_.honest),
                      testing::challenger_of(*other));
    EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent);
    EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict);
    EXPECT_EQ(outcome.moves, "declareStates ");
}

/// More steps than one answer lists: both trees go down twice.
TEST(LongGames, ReachTheStepInTwoAnswers) {
    SampleUnit unit(kSamples[4]);
    unit.spec.steps = 300;
    unit.spec.checkpoint_every = 50;
    std::mt19937_64 rng(gym::testing::random_seed());
    const auto honest = testing::rerun(unit);
    const Digest initial_root = must(honest->states())->initial_root;
    const Facts right = testing::facts_of(unit, *honest, initial_root);
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{64},
                                     std::uint64_t{299}, rng() % 300}) {
        Facts facts = right;
        Fault fault{step, 0, 0, 0};
        const auto own = testing::rerun(unit);
        std::optional<FaultyWork> faulty;
        while (facts == right) {
            fault = {step, static_cast<std::uint32_t>(rng() % unit.trace.macros.size()), rng(),
                     rng()};
            const auto tried = testing::rerun(unit);
            FaultyWork wrong(*tried, fault, unit.trace.macros[fault.op].leaves);
            facts = testing::facts_of(unit, wrong, initial_root);
        }
        SCOPED_TRACE(fault);
        faulty.emplace(*own, fault, unit.trace.macros[fault.op].leaves);
        const Outcome outcome =
            testing::play(testing::transcript_of(facts), testing::asserter_of(*faulty),
                          testing::challenger_of(*honest));
        EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
        EXPECT_TRUE(outcome.moves.starts_with("declareStates pick answerSteps pickStep "))
            << outcome.moves;
    }
}

/// Records and states are right, but the commitment ends in another state: the worker cannot list
/// the last of them.
TEST(LongGames, EndInTheStateThatWasCommittedTo) {
    SampleUnit unit(kSamples[4]);
    unit.spec.steps = 70;
    const auto asserter = testing::rerun(unit), challenger = testing::rerun(unit);
    Facts facts = testing::facts_of(unit, *asserter, must(asserter->states())->initial_root);
    facts.final_state_root.data[3] ^= 1;
    const Outcome outcome =
        testing::play(testing::transcript_of(facts), testing::asserter_of(*asserter),
                      testing::challenger_of(*challenger));
    EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
    EXPECT_EQ(outcome.moves, "declareStates pick ");
}

}  // namespace
}  // namespace gym::game
