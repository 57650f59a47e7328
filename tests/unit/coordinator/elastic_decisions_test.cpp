// Rounds with slow workers, quorums and held deltas.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "decision_samples.hpp"
#include "gym/registry/units.hpp"

namespace gym::coordinator {
namespace {

using namespace samples;
using registry::RoundState;

registry::JobTerms adaptive() {
    registry::JobTerms terms = job().terms;
    terms.steps = 100;
    terms.elastic.adapt_steps = true;
    return terms;
}

using Steps = std::vector<std::uint32_t>;

TEST(StepsOfSlots, AreTheJobsUnlessItAdaptsThem) {
    const std::vector<registry::Node> workers{node(1), node(2)};
    const Paces paces{{{address(1), 100}, {address(2), 1}}};
    EXPECT_EQ(steps_of(job().terms, workers, paces), Steps({20, 20}));
}

TEST(StepsOfSlots, FollowThePaceOfSlowWorkers) {
    const std::vector<registry::Node> workers{node(1), node(2), node(3), node(4), node(5)};
    const Paces paces{{{address(1), 400},
                       {address(2), 100},
                       {address(3), 101},
                       {address(4), 25},
                       {address(5), 0.01}}};
    EXPECT_EQ(steps_of(adaptive(), workers, paces), Steps({100, 100, 100, 25, 1}))
        << "none has more than the job's, and everybody has one";
    const Paces close{{{address(1), 100},
                       {address(2), 100},
                       {address(3), 99},
                       {address(4), 80},
                       {address(5), 79}}};
    EXPECT_EQ(steps_of(adaptive(), workers, close), Steps({100, 100, 100, 81, 80}))
        << "the median's time is the round's";
    registry::JobTerms few = adaptive();
    few.steps = 4;
    EXPECT_EQ(steps_of(few, workers, close), Steps({4, 4, 4, 3, 3})) << "to the nearest step";
}

/// They fetch the dataset first, and a verifier has to finish before the next aggregate.
TEST(StepsOfSlots, AreATenthLessForTheFewWhoseUnitsAreAllDrawn) {
    std::vector<registry::Node> workers{node(1), node(2), node(3)};
    workers[0].valid_value = record(100, 100);
    workers[1].valid_value = record(2, 100);
    EXPECT_EQ(steps_of(adaptive(), workers, {}, 1'000), Steps({100, 100, 90}));
    workers[1].valid_value = record(1, 100);
    EXPECT_EQ(steps_of(adaptive(), workers, {}, 1'000), Steps({100, 100, 100}))
        << "a round of new workers waits for its verification";
    workers[1].valid_value = record(2, 100);
    const Paces paces{{{address(1), 100}, {address(2), 100}, {address(3), 50}}};
    EXPECT_EQ(steps_of(adaptive(), workers, paces, 1'000), Steps({100, 100, 45}));
}

TEST(StepsOfSlots, AreNoMoreThanAStakeBacks) {
    const std::vector<registry::Node> workers{node(1), node(2), node(3)};
    Paces paces;
    paces.backed = {{address(1), 100}, {address(2), 7}};
    EXPECT_EQ(steps_of(adaptive(), workers, paces, 1'000), Steps({100, 7, 100}));
    EXPECT_EQ(steps_of(job().terms, workers, paces, 1'000), Steps({20, 20, 20}))
        << "a job that does not adapt its units gives whole ones or none";
}

/// A line that is too slow for a whole unit is never measured otherwise.
TEST(StepsOfSlots, AreHalvedForEachUnitInARowThatExpired) {
    const std::vector<registry::Node> workers{node(1), node(2), node(3)};
    Paces paces{{{address(1), 100}, {address(2), 100}}};
    paces.expired = {{address(2), 1}, {address(3), 3}};
    EXPECT_EQ(steps_of(adaptive(), workers, paces), Steps({100, 50, 13}));
    paces.expired[address(3)] = registry::kExpiredMax;
    EXPECT_EQ(steps_of(adaptive(), workers, paces), Steps({100, 50, 1}));
}

TEST(StepsOfSlots, NewWorkersAreAsFastAsTheirBenchmarkSays) {
    std::vector<registry::Node> workers{node(1), node(2), node(3), node(4)};
    EXPECT_EQ(steps_of(adaptive(), workers, {}), Steps({100, 100, 100, 100})) << "nothing is known";
    for (std::size_t i = 0; i < 4; ++i)
        workers[i].profile.flops_per_second = 1'000;
    workers[3].profile.flops_per_second = 250;
    EXPECT_EQ(steps_of(adaptive(), workers, {}), Steps({100, 100, 100, 25}));
    // What has been measured is a tenth of the benchmarks.
    const Paces paces{{{address(1), 100}, {address(2), 100}, {address(3), 100}}};
    EXPECT_EQ(steps_of(adaptive(), workers, paces), Steps({100, 100, 100, 25}));
    // A benchmark that lies is found out by the first unit.
    workers[3].profile.flops_per_second = 1'000'000;
    EXPECT_EQ(steps_of(adaptive(), workers, paces), Steps({100, 100, 100, 100}));
    Paces measured = paces;
    measured.measured[address(4)] = 50;
    EXPECT_EQ(steps_of(adaptive(), workers, measured), Steps({100, 100, 100, 50}));
}

TEST(Quorum, CountsTheStepsThatAreCommitted) {
    registry::JobTerms terms = adaptive();
    terms.elastic.quorum_ppm = 600'000;
    protocol::RoundRecord record;
    for (std::uint32_t slot = 0; slot < 4; ++slot)
        record.slots.push_back({slot, address(1), kPpm, slot == 3 ? 40U : 20U});
    const auto reached = [&](std::vector<std::uint32_t> committed) {
        std::vector<registry::Unit> units;
        for (std::uint32_t slot = 0; slot < 4; ++slot)
            units.push_back(unit(std::ranges::count(committed, slot) != 0 ? UnitState::kCommitted
                                                                          : UnitState::kAssigned,
                                 slot));
        return has_quorum(terms, record, units);
    };
    EXPECT_FALSE(reached({}));
    EXPECT_FALSE(reached({0, 1}));
    EXPECT_TRUE(reached({0, 1, 2})) << "60 of 100 steps";
    EXPECT_TRUE(reached({0, 3}));
    terms.elastic.quorum_ppm = kPpm;
    EXPECT_FALSE(reached({0, 1, 2}));
    EXPECT_TRUE(reached({0, 1, 2, 3}));
}

TEST(Quorum, DoesNotCountUnitsOfWorkersThatAreGone) {
    registry::JobTerms terms = adaptive();
    terms.elastic.quorum_ppm = 900'000;
    protocol::RoundRecord record;
    std::vector<registry::Unit> units;
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
        record.slots.push_back({slot, address(slot + 1), kPpm, 25});
        units.push_back(unit(UnitState::kAssigned, slot));
        units.back().worker = address(slot + 1);
    }
    const auto commit = [&](std::uint32_t slot) {
        units[slot].status.state = UnitState::kCommitted;
    };
    commit(0);
    EXPECT_FALSE(has_quorum(terms, record, units, {address(2), address(3), address(4)}))
        << "a quarter is no round, whoever is gone";
    commit(1);
    EXPECT_FALSE(has_quorum(terms, record, units, {address(3)}));
    EXPECT_TRUE(has_quorum(terms, record, units, {address(3), address(4)}));
    commit(2);
    EXPECT_FALSE(has_quorum(terms, record, units));
    EXPECT_TRUE(has_quorum(terms, record, units, {address(4)}));
    EXPECT_FALSE(has_quorum(terms, record, units, {address(1), address(2)}))
        << "what they committed counts as before";
}

TEST(HeldUnits, DoNotKeepARoundWhereHalfOfItsStepsAreAccepted) {
    registry::JobTerms terms = adaptive();
    terms.rounds = 3;
    terms.elastic.hold_drawn = true;
    protocol::RoundRecord record;
    record.round = 2;
    for (std::uint32_t slot = 0; slot < 4; ++slot)
        record.slots.push_back({slot, address(1), kPpm, slot == 3 ? 60U : 20U});
    const auto may = [&](std::vector<UnitState> states) {
        std::vector<registry::Unit> units;
        for (std::uint32_t slot = 0; slot < states.size(); ++slot)
            units.push_back(unit(states[slot], slot));
        return may_hold(terms, record, units);
    };
    using enum UnitState;
    EXPECT_TRUE(may({kUnsampled, kUnsampled, kVerified, kSampled})) << "60 of 120 steps";
    EXPECT_FALSE(may({kUnsampled, kUnsampled, kSampled, kReported}));
    EXPECT_TRUE(may({kSampled, kSampled, kSampled, kUnsampled}));
    EXPECT_FALSE(may({kSampled, kSampled, kSampled, kSampled}));
    record.round = 3;
    EXPECT_FALSE(may({kUnsampled, kUnsampled, kUnsampled, kSampled})) << "the last round waits";
    record.round = 2;
    terms.elastic.hold_drawn = false;
    EXPECT_FALSE(may({kUnsampled, kUnsampled, kUnsampled, kSampled}));
}

TEST(HeldUnits, LeaveRoomForThoseOfTheRoundBefore) {
    registry::Job wanted = job();
    wanted.terms.slots_max = 8'000;
    const std::uint64_t delta = delta_bytes_max(wanted);
    EXPECT_EQ(slots_of_round(wanted, 30 * delta), 30U);
    EXPECT_EQ(deltas_of_aggregate(wanted, 30 * delta), 30U);
    wanted.terms.elastic.hold_drawn = true;
    EXPECT_EQ(slots_of_round(wanted, 30 * delta), 20U);
    EXPECT_EQ(slots_of_round(wanted, 1'000'000 * delta), 5'461U);
    EXPECT_EQ(slots_of_round(wanted, delta), 1U);
    wanted.terms.slots_max = 4;
    EXPECT_EQ(slots_of_round(wanted, 30 * delta), 4U);
}

}  // namespace
}  // namespace gym::coordinator
