#include "gym/protocol/lifecycle.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gym::protocol {
namespace {

constexpr LifecycleParams kParams = {100, 200, 50, 300, 400, 2, 30};
constexpr UnixMs kNow = 1'000;

std::vector<UnitState> all_states() {
    std::vector<UnitState> out;
    for (std::size_t i = 0; i < kUnitStateCount; ++i)
        out.push_back(static_cast<UnitState>(i));
    return out;
}

std::vector<UnitEvent> all_events() {
    return {event::Overtaken{},     event::Hurried{},        event::Committed{},
            event::Drawn{true},     event::Drawn{false},     event::SingledOut{},
            event::Redrawn{},       event::Reported{},       event::Revealed{},
            event::Compared{true},  event::Compared{false},  event::Challenged{},
            event::Defended{},      event::Ruled{true},      event::Ruled{false},
            event::GameEnded{true}, event::GameEnded{false}, event::FaultProven{},
            event::Voided{},        event::TimePassed{}};
}

UnitStatus status(UnitState state, UnixMs deadline_ms = kNow + 10, bool defended = false) {
    return {state, deadline_ms, 1, defended};
}

/// Runs events one after another from the assignment, one millisecond apart.
Result<UnitStatus> run(const std::vector<UnitEvent>& events) {
    UnixMs now = kNow;
    UnitStatus current = assigned(kParams, now);
    for (const UnitEvent& event : events) {
        GYM_TRY(current, apply(current, event, kParams, ++now));
    }
    return current;
}

TEST(Lifecycle, TheWaysThrough) {
    using namespace event;
    const std::vector<std::pair<std::vector<UnitEvent>, UnitState>> ways = {
        {{Committed{}, Drawn{false}}, UnitState::kUnsampled},
        {{Committed{}, Drawn{true}, Reported{}, Revealed{}, Compared{true}}, UnitState::kVerified},
        {{Committed{}, Drawn{true}, Reported{}, Revealed{}, Compared{false}}, UnitState::kDisputed},
        {{Committed{}, Drawn{false}, Challenged{}, Defended{}, Ruled{true}}, UnitState::kUpheld},
        {{Committed{}, Drawn{false}, Challenged{}, Defended{}, Ruled{false}}, UnitState::kRejected},
        {{Committed{}, Drawn{false}, Challenged{}, GameEnded{true}}, UnitState::kUpheld},
        {{Committed{}, Drawn{false}, Challenged{}, GameEnded{false}}, UnitState::kSlashed},
        {{Committed{}, GameEnded{false}}, UnitState::kSlashed},
        {{Committed{}, Drawn{true}, GameEnded{false}}, UnitState::kSlashed},
        {{Committed{}, Drawn{false}, GameEnded{false}}, UnitState::kSlashed},
        {{Committed{}, Drawn{false}, Challenged{}, GameEnded{true}, GameEnded{false}},
         UnitState::kSlashed},
        {{Committed{}, Drawn{false}, SingledOut{}, Reported{}, Revealed{}, Compared{true}},
         UnitState::kVerified},
        {{Committed{}, Drawn{false}, SingledOut{}, Redrawn{}, Redrawn{}}, UnitState::kUnpaid},
        {{Committed{}, Drawn{true}, Redrawn{}, Reported{}}, UnitState::kReported},
        {{Committed{}, Drawn{true}, Redrawn{}, Redrawn{}}, UnitState::kUnpaid},
        {{Committed{}, FaultProven{}}, UnitState::kRejected},
        {{Committed{}, Drawn{true}, Voided{}}, UnitState::kVoid},
    };
    for (const auto& [events, end] : ways) {
        const auto reached = run(events);
        ASSERT_TRUE(reached.ok()) << reached.error().message;
        EXPECT_EQ(to_string(reached->state), to_string(end));
    }
}

TEST(Lifecycle, TimeAloneEndsWhatWaits) {
    const std::vector<std::pair<UnitState, UnitState>> ends = {
        {UnitState::kAssigned, UnitState::kExpired},
        {UnitState::kSampled, UnitState::kSampled},
        {UnitState::kReported, UnitState::kSampled},
        {UnitState::kDisputed, UnitState::kRejected},
        {UnitState::kUnsampled, UnitState::kFinal},
        {UnitState::kVerified, UnitState::kFinal},
        {UnitState::kUpheld, UnitState::kFinal},
        {UnitState::kCommitted, UnitState::kCommitted},
        {UnitState::kRevealed, UnitState::kRevealed},
    };
    for (const auto& [from, to] : ends) {
        const UnitStatus waiting = status(from);
        const auto early = apply(waiting, event::TimePassed{}, kParams, waiting.deadline_ms);
        ASSERT_TRUE(early.ok());
        EXPECT_EQ(*early, waiting) << "not before the deadline";
        const auto late = apply(waiting, event::TimePassed{}, kParams, waiting.deadline_ms + 1);
        ASSERT_TRUE(late.ok());
        EXPECT_EQ(to_string(late->state), to_string(to)) << "from " << to_string(from);
    }
}

TEST(Lifecycle, ADrawIsRepeatedUpToTheLimit) {
    UnitStatus unit = status(UnitState::kSampled);
    unit = *apply(unit, event::TimePassed{}, kParams, kNow + 11);
    EXPECT_EQ(unit.draws, 2U);
    EXPECT_EQ(unit.deadline_ms, kNow + 11 + kParams.report_ms);
    unit = *apply(unit, event::TimePassed{}, kParams, unit.deadline_ms + 1);
    EXPECT_EQ(unit.state, UnitState::kUnpaid);
}

TEST(Lifecycle, WhatComesLateIsRefusedBeforeAnybodySaidSo) {
    const std::vector<std::pair<UnitState, UnitEvent>> cases = {
        {UnitState::kAssigned, event::Committed{}},
        {UnitState::kSampled, event::Reported{}},
        {UnitState::kReported, event::Revealed{}},
        {UnitState::kDisputed, event::Defended{}}};
    for (const auto& [state, event] : cases) {
        const UnitStatus waiting = status(state);
        EXPECT_TRUE(apply(waiting, event, kParams, waiting.deadline_ms).ok());
        EXPECT_EQ(apply(waiting, event, kParams, waiting.deadline_ms + 1).error().code,
                  ErrorCode::kTimeout);
    }
}

TEST(Lifecycle, AHurriedUnitHasTheGraceTimeAndNoMoreThanItHad) {
    const UnitStatus unit = assigned(kParams, kNow);
    const UnitStatus hurried = *apply(unit, event::Hurried{}, kParams, kNow + 10);
    EXPECT_EQ(hurried.state, UnitState::kAssigned);
    EXPECT_EQ(hurried.deadline_ms, kNow + 10 + kParams.grace_ms);
    EXPECT_EQ(*apply(hurried, event::Hurried{}, kParams, kNow + 20), hurried) << "once";
    EXPECT_EQ(apply(unit, event::Hurried{}, kParams, kNow + 90)->deadline_ms, unit.deadline_ms);
    EXPECT_TRUE(apply(hurried, event::Committed{}, kParams, hurried.deadline_ms).ok());
    EXPECT_EQ(apply(hurried, event::TimePassed{}, kParams, hurried.deadline_ms + 1)->state,
              UnitState::kExpired);
    EXPECT_FALSE(apply(status(UnitState::kCommitted), event::Hurried{}, kParams, kNow).ok());
}

/// The same terms, of a job that takes late commitments.
LifecycleParams lenient() {
    LifecycleParams params = kParams;
    params.late_ms = 40;
    return params;
}

TEST(Lifecycle, AnOverdueUnitIsLateAndThenExpires) {
    const UnitStatus unit = assigned(kParams, kNow);
    EXPECT_EQ(*apply(unit, event::TimePassed{}, lenient(), unit.deadline_ms), unit);
    const UnitStatus late = *apply(unit, event::TimePassed{}, lenient(), unit.deadline_ms + 7);
    EXPECT_EQ(late.state, UnitState::kAssigned);
    EXPECT_TRUE(late.late);
    EXPECT_EQ(late.deadline_ms, unit.deadline_ms + 40) << "from its deadline on, not from the tick";
    EXPECT_EQ(*apply(late, event::TimePassed{}, lenient(), late.deadline_ms), late);
    const UnitStatus over = *apply(late, event::TimePassed{}, lenient(), late.deadline_ms + 1);
    EXPECT_EQ(over.state, UnitState::kExpired);
    EXPECT_EQ(apply(unit, event::TimePassed{}, lenient(), late.deadline_ms + 1)->state,
              UnitState::kExpired)
        << "where no tick came in between";
    EXPECT_EQ(apply(unit, event::TimePassed{}, kParams, unit.deadline_ms + 1)->state,
              UnitState::kExpired)
        << "where the job takes none";
}

TEST(Lifecycle, ALateCommitmentStaysLate) {
    const UnitStatus unit = assigned(kParams, kNow);
    const UnixMs end = unit.deadline_ms + 40;
    EXPECT_FALSE(apply(unit, event::Committed{}, lenient(), unit.deadline_ms)->late);
    const UnitStatus late = *apply(unit, event::TimePassed{}, lenient(), unit.deadline_ms + 1);
    for (const UnitStatus& from : {unit, late}) {
        UnitStatus now = *apply(from, event::Committed{}, lenient(), end);
        EXPECT_EQ(now.state, UnitState::kCommitted);
        EXPECT_TRUE(now.late) << "whether or not a tick came before it";
        EXPECT_EQ(now.deadline_ms, 0);
        EXPECT_EQ(apply(from, event::Committed{}, lenient(), end + 1).error().code,
                  ErrorCode::kTimeout);
        for (const UnitEvent& event : std::vector<UnitEvent>{
                 event::Drawn{true}, event::Reported{}, event::Revealed{}, event::Compared{false},
                 event::Defended{}, event::Ruled{true}}) {
            now = *apply(now, event, lenient(), end + 1);
            EXPECT_TRUE(now.late) << name_of(event);
        }
    }
    EXPECT_EQ(apply(unit, event::Committed{}, kParams, unit.deadline_ms + 1).error().code,
              ErrorCode::kTimeout);
}

TEST(Lifecycle, OnlyALateUnitWithoutACommitmentIsOvertaken) {
    const UnitStatus unit = assigned(kParams, kNow);
    EXPECT_FALSE(apply(unit, event::Overtaken{}, lenient(), kNow).ok());
    const UnitStatus late = *apply(unit, event::TimePassed{}, lenient(), unit.deadline_ms + 1);
    EXPECT_EQ(apply(late, event::Overtaken{}, lenient(), unit.deadline_ms + 1)->state,
              UnitState::kExpired);
    EXPECT_FALSE(apply(late, event::Hurried{}, lenient(), unit.deadline_ms + 1).ok());
    const UnitStatus committed = *apply(late, event::Committed{}, lenient(), unit.deadline_ms + 1);
    EXPECT_FALSE(apply(committed, event::Overtaken{}, lenient(), unit.deadline_ms + 2).ok());
}

TEST(Lifecycle, WhatAGameOnChainSaysIsNeverLate) {
    for (const UnitState state : {UnitState::kUnsampled, UnitState::kVerified}) {
        const auto challenged =
            apply(status(state), event::Challenged{}, kParams, kNow + 1'000'000);
        ASSERT_TRUE(challenged.ok());
        EXPECT_EQ(challenged->state, UnitState::kDisputed);
    }
    for (const UnitState state : all_states()) {
        const auto slashed =
            apply(status(state), event::GameEnded{false}, kParams, kNow + 1'000'000);
        EXPECT_EQ(slashed.ok(), !is_terminal(state) && state != UnitState::kAssigned)
            << to_string(state);
        const auto upheld = apply(status(state), event::GameEnded{true}, kParams, kNow);
        EXPECT_EQ(upheld.ok(), state == UnitState::kDisputed) << to_string(state);
    }
}

TEST(Lifecycle, ADefenceInTimeCannotBeLostToTheClock) {
    const UnitStatus defended =
        *apply(status(UnitState::kDisputed), event::Defended{}, kParams, kNow);
    EXPECT_EQ(*apply(defended, event::TimePassed{}, kParams, kNow + 1'000'000), defended);
    EXPECT_EQ(apply(defended, event::Defended{}, kParams, kNow).error().code, ErrorCode::kConflict);
    EXPECT_EQ(apply(status(UnitState::kDisputed), event::Ruled{false}, kParams, kNow).error().code,
              ErrorCode::kConflict)
        << "against the worker only after a defence, or by the deadline";
    EXPECT_EQ(apply(status(UnitState::kDisputed), event::Ruled{true}, kParams, kNow + 11)->state,
              UnitState::kUpheld)
        << "for the worker at any time";
}

TEST(Lifecycle, EveryPairOfStateAndEventIsALegalStepOrAnError) {
    for (const UnitState state : all_states())
        for (const bool defended : {false, true})
            for (const UnixMs now : {kNow, kNow + 11})
                for (const UnitEvent& event : all_events()) {
                    if (defended && state != UnitState::kDisputed) continue;
                    const UnitStatus before = status(state, kNow + 10, defended);
                    const auto after = apply(before, event, kParams, now);
                    if (!after.ok()) {
                        EXPECT_TRUE(after.error().code == ErrorCode::kConflict ||
                                    after.error().code == ErrorCode::kTimeout);
                        continue;
                    }
                    if (after->state == state && after->draws == before.draws) continue;
                    EXPECT_TRUE(is_legal(state, after->state))
                        << to_string(state) << " + " << name_of(event);
                    EXPECT_FALSE(is_terminal(state));
                }
}

TEST(Lifecycle, NothingLeavesATerminalState) {
    std::size_t terminal = 0;
    for (const UnitState state : all_states()) {
        if (!is_terminal(state)) continue;
        ++terminal;
        for (const UnitEvent& event : all_events()) {
            const auto after = apply(status(state), event, kParams, kNow);
            EXPECT_TRUE(!after.ok() || *after == status(state)) << to_string(state);
        }
    }
    EXPECT_EQ(terminal, 6U);
}

TEST(Lifecycle, EveryLegalStepIsReachedBySomeEvent) {
    for (const UnitState from : all_states())
        for (const UnitState to : all_states()) {
            if (!is_legal(from, to)) continue;
            bool reached = false;
            for (const UnitEvent& event : all_events())
                for (const UnixMs now : {kNow, kNow + 11})
                    for (const bool defended : {false, from == UnitState::kDisputed})
                        for (const std::uint32_t draws : {1U, 2U}) {
                            UnitStatus before = status(from, kNow + 10, defended);
                            before.draws = draws;
                            const auto after = apply(before, event, kParams, now);
                            reached |= after.ok() && after->state == to && *after != before;
                        }
            EXPECT_TRUE(reached) << to_string(from) << " -> " << to_string(to);
        }
}

TEST(Lifecycle, NamesAreUniqueAndParse) {
    for (const UnitState state : all_states())
        EXPECT_EQ(*parse_unit_state(to_string(state)), state);
    EXPECT_EQ(parse_unit_state("lost").error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::protocol
