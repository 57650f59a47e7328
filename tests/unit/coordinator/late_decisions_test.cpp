// Which rounds take late commitments, and for how long.

#include <gtest/gtest.h>

#include "gym/coordinator/decisions.hpp"

namespace gym::coordinator {
namespace {

registry::Job job(bool accept_late) {
    registry::Job out;
    out.terms.rounds = 3;
    out.terms.elastic.accept_late = accept_late;
    out.artifacts.emplace();
    out.terms.slots_max = 9;
    out.artifacts->delta_bytes = 10;
    return out;
}

TEST(LateUnits, AreTakenInAllRoundsButTheLast) {
    for (const std::uint64_t round : {1U, 2U, 3U, 4U}) {
        EXPECT_EQ(takes_late(job(true).terms, round), round < 3) << round;
        EXPECT_FALSE(takes_late(job(false).terms, round)) << round;
        registry::Round last;
        last.round = round - 1;
        last.next_base.emplace();
        last.next_momentum.emplace();
        const auto before = round == 1 ? std::nullopt : std::optional(last);
        EXPECT_EQ(make_plan(job(true), before, {}, {}).record.accept_late, round < 3) << round;
        EXPECT_FALSE(make_plan(job(false), before, {}, {}).record.accept_late) << round;
    }
}

TEST(LateUnits, HaveTheTimeOfReportsAndOfTheNextRoundsUnits) {
    registry::Job late = job(true);
    late.terms.lifecycle = {100, 200, 50, 300, 400, 2, 30};
    protocol::LifecycleParams expected = late.terms.lifecycle;
    EXPECT_EQ(lifecycle_of(late, 3), expected) << "the last round takes none";
    EXPECT_EQ(lifecycle_of(job(false), 1), job(false).terms.lifecycle);
    expected.late_ms = 350;
    EXPECT_EQ(lifecycle_of(late, 1), expected);
    late.ended_at_ms = 1;
    EXPECT_EQ(lifecycle_of(late, 1).late_ms, 0) << "no round follows";
}

TEST(LateUnits, HaveRoomInTheAggregate) {
    EXPECT_EQ(slots_of_round(job(false), 90), 9U);
    EXPECT_EQ(slots_of_round(job(true), 90), 6U) << "half as many again fit in";
    EXPECT_EQ(deltas_of_aggregate(job(true), 90), 9U);
}

}  // namespace
}  // namespace gym::coordinator
