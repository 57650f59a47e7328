// The coordinator's decisions without a database, a chain or an engine, at times that the test
// names.
#include "gym/coordinator/decisions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "decision_samples.hpp"
#include "gym/protocol/delta_size.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;
using registry::JobRequest;
using registry::JobStatus;
using registry::RoundState;

using namespace samples;

// Jobs.

TEST(JobDecisions, AnOwnersPauseOutlastsTheWantOfMoney) {
    registry::Job paused = job();
    paused.status = registry::JobStatus::kPaused;
    paused.request = JobRequest::kPause;
    for (const char* want : {"budget: with another round the job may cost 2", "size: too large"}) {
        paused.status_reason = want;
        EXPECT_EQ(answer_request(paused), (JobChange{JobStatus::kPaused, "paused by its owner"}));
    }
    paused.status_reason = "a game on chain proved the aggregate unit of round 1 wrong";
    EXPECT_EQ(answer_request(paused), (JobChange{JobStatus::kPaused, paused.status_reason}));
}

TEST(JobDecisions, AnOwnersRequestChangesTheJobAccordingToItsStatus) {
    registry::Job asked = job();
    EXPECT_FALSE(answer_request(asked)) << "nothing was asked";
    asked.request = JobRequest::kPause;
    EXPECT_EQ(answer_request(asked), (JobChange{JobStatus::kPaused, "paused by its owner"}));
    asked.request_reason = "the escrow is in doubt";
    EXPECT_EQ(answer_request(asked), (JobChange{JobStatus::kPaused, "the escrow is in doubt"}));
    asked.status = JobStatus::kPaused;
    asked.status_reason = "paused by its owner";
    EXPECT_EQ(answer_request(asked), (JobChange{JobStatus::kPaused, "paused by its owner"}))
        << "a second pause changes nothing";
    asked.request = JobRequest::kResume;
    EXPECT_EQ(answer_request(asked), (JobChange{JobStatus::kRunning, ""}));
    asked.request = JobRequest::kCancel;
    EXPECT_EQ(answer_request(asked)->status, JobStatus::kCancelled);
}

TEST(JobDecisions, AnOwnersPauseThatComesAfterTheLastRoundDoesNotKeepTheJobFromItsEnd) {
    registry::Job asked = job();
    asked.rounds_done = asked.terms.rounds;
    asked.request = JobRequest::kPause;
    EXPECT_EQ(answer_request(asked), (JobChange{JobStatus::kRunning, ""}));
    asked.request_reason = "the escrow is in doubt";
    EXPECT_EQ(answer_request(asked), (JobChange{JobStatus::kPaused, "the escrow is in doubt"}));
}

TEST(JobDecisions, ARequestWaitsUntilTheJobIsPreparedUnlessItCancels) {
    registry::Job asked = job();
    asked.status = JobStatus::kSubmitted;
    asked.request = JobRequest::kPause;
    EXPECT_FALSE(answer_request(asked));
    asked.request = JobRequest::kCancel;
    EXPECT_EQ(answer_request(asked)->status, JobStatus::kCancelled);
}

TEST(JobDecisions, AJobIsCompleteWhenAllItsRoundsAreClosed) {
    registry::Job done = job();
    done.rounds_done = 2;
    EXPECT_FALSE(is_complete(done, 0));
    done.rounds_done = 3;
    EXPECT_FALSE(is_complete(done, 1));
    EXPECT_TRUE(is_complete(done, 0));
    done.status = JobStatus::kPaused;
    EXPECT_FALSE(is_complete(done, 0));
}

TEST(JobDecisions, ABudgetThatCoversAnotherRoundExactlyIsEnough) {
    registry::Job paid = job();
    EXPECT_FALSE(budget_pause(paid, paid.budget_wei));
    const auto reason = budget_pause(paid, Amount(1'001));
    ASSERT_TRUE(reason);
    EXPECT_NE(reason->find("gym job fund"), std::string::npos) << *reason;
    paid.status = JobStatus::kPaused;
    EXPECT_FALSE(budget_pause(paid, Amount(1'001))) << "it is paused already";
}

// The next round.

TEST(RoundPlanning, ARoundFollowsTheOneBeforeOnceThatIsAggregated) {
    EXPECT_EQ(next_round(job(), std::nullopt), 1U);
    registry::Round last;
    last.round = 1;
    EXPECT_FALSE(next_round(job(), last));
    last.next_base = registry::StateRef{};
    EXPECT_EQ(next_round(job(), last), 2U);
    last.round = 3;
    EXPECT_FALSE(next_round(job(), last)) << "the job has three";
}

TEST(RoundPlanning, ARoundHasNoMoreSlotsThanDeltasFitInMemoryButAtLeastOne) {
    const std::uint64_t one = delta_bytes_max(job());
    EXPECT_EQ(slots_of_round(job(), 100 * one), 8U) << "the job's own bound";
    EXPECT_EQ(slots_of_round(job(), 3 * one), 3U);
    EXPECT_EQ(slots_of_round(job(), 3 * one - 1), 2U);
    EXPECT_EQ(slots_of_round(job(), 0), 1U);
}

TEST(RoundPlanning, AJobWhoseDeltasAreTooLargePauses) {
    registry::Job running = job();
    running.terms.workers_min = 3;
    const std::uint64_t one = delta_bytes_max(running);
    EXPECT_FALSE(size_pause(running, {one, 3 * one}));
    const auto blob = size_pause(running, {one - 1, 3 * one});
    ASSERT_TRUE(blob);
    EXPECT_NE(blob->find("blob_bytes_max"), std::string::npos) << *blob;
    const auto workers = size_pause(running, {one, 3 * one - 1});
    ASSERT_TRUE(workers);
    EXPECT_NE(workers->find("no more than 2 of them in a round, where the job demands 3"),
              std::string::npos)
        << *workers;
    running.status = JobStatus::kPaused;
    EXPECT_FALSE(size_pause(running, {one - 1, 3 * one})) << "it is paused already";
}

/// The job of the announced line: 26.9 GB a delta, which no count of bytes in 32 bits holds.
TEST(RoundPlanning, ADeltaOfSevenBillionParametersIsNotCutTo32Bits) {
    registry::Job large = job();
    large.artifacts->delta_bytes = protocol::plain_delta_bytes(6'738'415'616);
    EXPECT_EQ(delta_bytes_max(large), 64 + 4 * 6'738'415'616U);
    large.terms.slots_max = 100;
    EXPECT_EQ(slots_of_round(large, std::uint64_t{16} << 30), 1U);
    EXPECT_EQ(slots_of_round(large, std::uint64_t{2600} << 30), 100U);
}

TEST(RoundPlanning, AWorkerIsFreeWithoutAssignedOrReportedUnits) {
    EXPECT_TRUE(is_free({}));
    EXPECT_TRUE(is_free(std::vector{unit(UnitState::kCommitted), unit(UnitState::kVerified)}));
    EXPECT_FALSE(is_free(std::vector{unit(UnitState::kAssigned)}));
    EXPECT_FALSE(is_free(std::vector{disputed(protocol::ReasonCode::kStepDiffers)}));
    EXPECT_TRUE(is_free(std::vector{disputed(protocol::ReasonCode::kChallenged)}))
        << "a bond keeps nobody from work";
}

TEST(RoundPlanning, SlotsDependOnTheBeaconBeforeJobRoundAndAddressesAlone) {
    std::vector<registry::Node> workers;
    for (std::uint8_t i = 1; i <= 20; ++i)
        workers.push_back(node(i));
    const auto order = [&](std::uint64_t round, const std::vector<registry::Node>& from,
                           std::uint64_t slots) {
        std::vector<Address> out;
        for (const registry::Node& chosen : choose_workers({digest(1), round, {}}, from, slots))
            out.push_back(chosen.address);
        return out;
    };
    const auto all = order(1, workers, 100);
    EXPECT_EQ(all.size(), workers.size());
    std::vector<registry::Node> reversed(workers.rbegin(), workers.rend());
    EXPECT_EQ(order(1, reversed, 100), all) << "the database's order does not matter";
    EXPECT_NE(order(2, workers, 100), all) << "another round, another order";
    const auto few = order(1, workers, 5);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
    EXPECT_EQ(few.size(), 5U);
}

TEST(RoundPlanning, AnAddressThatWasMadeUpForABeaconComesBehindAllOthers) {
    constexpr UnixMs kSealedMs = 1'000;
    std::vector<registry::Node> workers;
    for (std::uint8_t i = 1; i <= 20; ++i) {
        workers.push_back(node(i));
        workers.back().registered_at_ms = kSealedMs;
    }
    const auto first = [](const SlotDraw& draw, const std::vector<registry::Node>& of) {
        return choose_workers(draw, of, 1).at(0);
    };
    SlotDraw draw{digest(1), 7, registry::DrawnBeacon{digest(2), kSealedMs}};
    const registry::Node honest = first(draw, workers);
    // Whoever knows the beacon tries addresses until some have a lower hash.
    std::vector<registry::Node> made_up;
    for (std::uint32_t i = 0; i < 100'000 && made_up.size() < 3; ++i) {
        registry::Node candidate = honest;
        for (std::size_t byte = 0; byte < 4; ++byte)
            candidate.address.data[byte] = static_cast<std::uint8_t>(i >> (8 * byte));
        if (first(draw, {honest, candidate}).address == candidate.address)
            made_up.push_back(candidate);
    }
    ASSERT_EQ(made_up.size(), 3U) << "trying costs nothing";
    UnixMs now_ms = kSealedMs + made_up.size();
    for (registry::Node& late : made_up) {
        late.registered_at_ms = now_ms--;
        workers.push_back(late);
    }
    EXPECT_EQ(first(draw, workers).address, honest.address);
    const auto all = choose_workers(draw, workers, 100);
    ASSERT_EQ(all.size(), workers.size()) << "a free slot is anybody's";
    for (std::size_t i = 0; i < made_up.size(); ++i)
        EXPECT_EQ(all[20 + i].address, made_up[made_up.size() - 1 - i].address)
            << "the first to come before the next";
    // The next beacon ranks them like everybody else, and they could not choose it.
    std::set<Address> winners;
    for (std::uint8_t i = 1; i <= 60; ++i) {
        draw.before = registry::DrawnBeacon{digest(i), kSealedMs + 100};
        winners.insert(first(draw, workers).address);
    }
    EXPECT_GT(winners.size(), 10U) << "another beacon, another order";
}

TEST(RoundPlanning, APlanContinuesFromTheStateOfTheRoundBefore) {
    std::vector<registry::Node> workers{node(1), node(2)};
    workers[1].valid_value = record(4);
    const Plan first = make_plan(job(), std::nullopt, {}, workers);
    EXPECT_EQ(first.record.round, 1U);
    EXPECT_EQ(first.record.base_state_root, digest(3));
    EXPECT_TRUE(first.record.previous_record.is_zero());
    ASSERT_EQ(first.record.slots.size(), 2U);
    EXPECT_EQ(first.record.slots[0].sampling_rate_ppm, kPpm) << "without a record: always";
    EXPECT_EQ(first.record.slots[1].sampling_rate_ppm, kPpm / 4);
    registry::Round last;
    last.round = 1;
    last.record_hash = digest(5);
    last.next_base = registry::StateRef{digest(6), digest(7)};
    last.next_momentum = registry::StateRef{digest(8), digest(9)};
    const Plan second = make_plan(job(), last, {{0, digest(10), digest(11)}}, workers);
    EXPECT_EQ(second.record.round, 2U);
    EXPECT_EQ(second.record.previous_record, digest(5));
    EXPECT_EQ(second.record.base_state_root, digest(6));
    EXPECT_EQ(second.base, *last.next_base);
    EXPECT_EQ(second.record.included.size(), 1U);
}

// A round on its way.

TEST(RoundSteps, ARoundTakesOneStepAfterTheOther) {
    using enum RoundStep;
    RoundFacts facts;
    EXPECT_EQ(next_step(facts), kPostRecord);
    facts.record_on_chain = true;
    EXPECT_EQ(next_step(facts), kAssignUnits);
    facts.state = RoundState::kOpen;
    facts.held = true;
    EXPECT_EQ(next_step(facts), kWait) << "a unit waits for its commitment";
    facts.held = false;
    EXPECT_EQ(next_step(facts), kSeal);
    facts.state = RoundState::kSealed;
    EXPECT_EQ(next_step(facts), kPostEpoch);
    facts.epoch_on_chain = true;
    EXPECT_EQ(next_step(facts), kSetBeaconBlock);
    facts.state = RoundState::kPosted;
    EXPECT_EQ(next_step(facts), kWait) << "the beacon's block is not there yet";
    facts.beacon_known = true;
    EXPECT_EQ(next_step(facts), kDrawSample);
    facts.state = RoundState::kVerifying;
    EXPECT_EQ(next_step(facts), kAggregate);
    facts.state = RoundState::kAggregated;
    EXPECT_EQ(next_step(facts), kClose);
    facts.state = RoundState::kClosed;
    EXPECT_EQ(next_step(facts), kWait);
}

/// A round of three units, moved by the protocol's own rules at times that the test names.
class RoundOfThree : public ::testing::Test {
  protected:
    RoundOfThree() {
        for (protocol::UnitStatus& status : units_)
            status = protocol::assigned(params_, kNow);
    }
    void apply(std::size_t at, const protocol::UnitEvent& event, UnixMs now_ms) {
        const auto next = protocol::apply(units_[at], event, params_, now_ms);
        ASSERT_TRUE(next.ok()) << next.error().message;
        units_[at] = *next;
    }
    [[nodiscard]] RoundStep step(RoundState state) const {
        RoundFacts facts;
        facts.state = state;
        const auto holding = states_that_hold(state);
        for (const protocol::UnitStatus& status : units_)
            facts.held = facts.held ||
                         std::find(holding.begin(), holding.end(), status.state) != holding.end();
        return next_step(facts);
    }

    const protocol::LifecycleParams params_{600'000, 60'000, 60'000, 60'000, 60'000, 2};
    std::array<protocol::UnitStatus, 3> units_;
};

TEST_F(RoundOfThree, SealsWhenTheLastUnitIsCommittedOrExpired) {
    apply(0, protocol::event::Committed{}, kNow + 1);
    apply(1, protocol::event::Committed{}, kNow + 2);
    EXPECT_EQ(step(RoundState::kOpen), RoundStep::kWait);
    apply(2, protocol::event::TimePassed{}, kNow + 600'000);
    EXPECT_EQ(step(RoundState::kOpen), RoundStep::kWait) << "the deadline itself is in time";
    apply(2, protocol::event::TimePassed{}, kNow + 600'001);
    EXPECT_EQ(units_[2].state, UnitState::kExpired);
    EXPECT_EQ(step(RoundState::kOpen), RoundStep::kSeal);
}

TEST_F(RoundOfThree, AggregatesWhileADisputeIsOpenAndClosesWhenEverythingHasEnded) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
        apply(i, protocol::event::Committed{}, kNow);
        apply(i, protocol::event::Drawn{i != 0}, kNow);
    }
    EXPECT_EQ(units_[0].state, UnitState::kUnsampled);
    EXPECT_EQ(step(RoundState::kVerifying), RoundStep::kWait) << "two reports are due";
    for (const std::size_t i : {1U, 2U}) {
        apply(i, protocol::event::Reported{}, kNow + 10);
        EXPECT_EQ(step(RoundState::kVerifying), RoundStep::kWait);
        apply(i, protocol::event::Revealed{}, kNow + 20);
        apply(i, protocol::event::Compared{i == 1}, kNow + 20);
    }
    EXPECT_EQ(units_[2].state, UnitState::kDisputed);
    EXPECT_EQ(step(RoundState::kVerifying), RoundStep::kAggregate)
        << "a disputed delta is left out; nobody waits for the dispute";
    EXPECT_EQ(step(RoundState::kAggregated), RoundStep::kWait);
    const UnixMs late = kNow + 600'000;
    for (std::size_t i = 0; i < units_.size(); ++i)
        apply(i, protocol::event::TimePassed{}, late);
    EXPECT_EQ(units_[0].state, UnitState::kFinal);
    EXPECT_EQ(units_[2].state, UnitState::kRejected);
    EXPECT_EQ(step(RoundState::kAggregated), RoundStep::kClose);
}

TEST_F(RoundOfThree, AUnitThatNobodyReportsOnHoldsTheRoundUntilItsLastDraw) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
        apply(i, protocol::event::Committed{}, kNow);
        apply(i, protocol::event::Drawn{i == 0}, kNow);
    }
    apply(0, protocol::event::TimePassed{}, kNow + 60'001);
    EXPECT_EQ(units_[0].draws, 2U) << "drawn again";
    EXPECT_EQ(step(RoundState::kVerifying), RoundStep::kWait);
    apply(0, protocol::event::TimePassed{}, kNow + 120'002);
    EXPECT_EQ(units_[0].state, UnitState::kUnpaid);
    EXPECT_EQ(step(RoundState::kVerifying), RoundStep::kAggregate);
}

TEST(RoundSteps, EveryStateThatHoldsAnOpenOrVerifyingRoundIsOpen) {
    for (const RoundState state : {RoundState::kOpen, RoundState::kVerifying})
        for (const UnitState holding : states_that_hold(state))
            EXPECT_FALSE(protocol::is_terminal(holding));
    EXPECT_EQ(registry::open_states().size() + registry::terminal_states().size(),
              protocol::kUnitStateCount);
    EXPECT_TRUE(states_that_hold(RoundState::kSealed).empty());
}

// Draws.

class Draws : public ::testing::Test {
  protected:
    Draws() {
        round_.sealed_at_ms = kNow;
        round_.beacon = digest(42);
        drawn_.status.draws = 1;
        for (std::uint8_t i = 1; i <= 5; ++i)
            verifiers_.push_back(node(i));
    }
    std::optional<Address> chosen(const std::vector<registry::MissedDraws>& missed = {}) {
        return choose_verifier(round_, drawn_, verifiers_, missed, waiting_, admits_);
    }
    std::map<Address, std::uint32_t> waiting_;
    registry::Round round_;
    registry::Unit drawn_ = unit(UnitState::kSampled);
    std::vector<registry::Node> verifiers_;
    std::function<bool(const registry::Node&)> admits_ = [](const registry::Node&) { return true; };
};

TEST_F(Draws, AVerifierThatLetADrawPassComesLast) {
    const auto first = chosen();
    ASSERT_TRUE(first);
    drawn_.status.draws = 2;
    EXPECT_NE(chosen({{*first, 1}}), first);
    verifiers_ = {verifiers_[static_cast<std::size_t>(first->data[0]) - 1]};
    EXPECT_EQ(chosen({{*first, 1}}), first) << "nobody else is there";
}

/// It would find its owner's work right, whatever it is.
TEST_F(Draws, WorkerAndVerifierOfOneOwnerAreNeverPaired) {
    const auto first = chosen();
    ASSERT_TRUE(first);
    for (registry::Node& verifier : verifiers_)
        if (verifier.address == *first) verifier.owner = drawn_.owner;
    EXPECT_NE(chosen(), first);
    for (registry::Node& verifier : verifiers_)
        verifier.owner = drawn_.owner;
    EXPECT_FALSE(chosen()) << "not even where nobody else is there";
}

TEST_F(Draws, AVerifierWithFewerUnitsComesFirst) {
    for (const registry::Node& verifier : verifiers_)
        waiting_[verifier.address] = 2;
    const auto by_lot = chosen();
    waiting_[address(3)] = 1;
    EXPECT_EQ(chosen(), address(3));
    waiting_.erase(address(5));
    EXPECT_EQ(chosen(), address(5));
    EXPECT_NE(chosen({{address(5), 1}}), address(5)) << "it let this unit's draw pass";
    waiting_.clear();
    EXPECT_EQ(chosen(), by_lot);
}

TEST_F(Draws, AnAddressMadeUpAfterTheSealTakesNoPart) {
    for (registry::Node& late : verifiers_)
        late.registered_at_ms = kNow + 1;
    EXPECT_FALSE(chosen());
    verifiers_[2].registered_at_ms = kNow;
    EXPECT_EQ(chosen(), verifiers_[2].address);
}

TEST_F(Draws, WhomTheOperatorDoesNotAdmitAndTheWorkerItselfAreNotChosen) {
    admits_ = [](const registry::Node& of) { return of.address == address(4); };
    EXPECT_EQ(chosen(), address(4));
    drawn_.worker = address(4);
    EXPECT_FALSE(chosen());
}

// Disputes.

TEST(Disputes, TheChainIsWaitedForUntilNoGameCanBeOpenedAnyMore) {
    const registry::GameWatch games{address(1), 100, 50};
    EXPECT_EQ(verdict_of(games, 50, std::nullopt), GameVerdict::kOpen) << "the last block counts";
    EXPECT_EQ(verdict_of(games, 49, std::nullopt), GameVerdict::kNeverOpened);
    registry::DisputedUnit known;
    EXPECT_EQ(verdict_of(games, 49, known), GameVerdict::kUpheld);
    known.open_games = 1;
    EXPECT_EQ(verdict_of(games, 49, known), GameVerdict::kOpen);
    known = {};
    known.faulty = true;
    EXPECT_EQ(verdict_of(games, 49, known), GameVerdict::kOpen) << "the fault is noted elsewhere";
}

TEST(Disputes, WithoutGamesTheRefereeActsOnADefenceOrAfterTheDeadline) {
    DisputeFacts facts{disputed(protocol::ReasonCode::kStepDiffers), false, std::nullopt};
    EXPECT_EQ(next_step(facts, kNow), DisputeStep::kWait);
    EXPECT_EQ(next_step(facts, kNow + 60'000), DisputeStep::kWait);
    EXPECT_EQ(next_step(facts, kNow + 60'001), DisputeStep::kRule);
    facts.unit.status.defended = true;
    EXPECT_EQ(next_step(facts, kNow), DisputeStep::kRule);
}

TEST(Disputes, TheCoordinatorDefendsItsOwnUnitsAtOnce) {
    DisputeFacts facts{disputed(protocol::ReasonCode::kStepDiffers), true, std::nullopt};
    EXPECT_EQ(next_step(facts, kNow), DisputeStep::kDefendAndRule);
    facts.unit.status.defended = true;
    EXPECT_EQ(next_step(facts, kNow), DisputeStep::kRule);
    facts.games = GameVerdict::kOpen;
    EXPECT_EQ(next_step(facts, kNow), DisputeStep::kWait) << "the chain comes first";
}

TEST(Disputes, AGameThatProvedNothingEndsOnlyADisputeOfItsOwn) {
    const UnixMs late = kNow + 60'001;
    DisputeFacts facts{disputed(protocol::ReasonCode::kChallenged), false, GameVerdict::kUpheld};
    EXPECT_EQ(next_step(facts, late), DisputeStep::kUphold);
    facts.unit = disputed(protocol::ReasonCode::kStepDiffers);
    EXPECT_EQ(next_step(facts, late), DisputeStep::kRule) << "the report is looked at nonetheless";
    facts.games = GameVerdict::kOpen;
    EXPECT_EQ(next_step(facts, late), DisputeStep::kLookEarly) << "and decides no pay yet";
    facts.games = GameVerdict::kNeverOpened;
    EXPECT_EQ(next_step(facts, late), DisputeStep::kRule);
}

TEST(Disputes, ARefutedReportKeepsNobodyFromWorkAndIsNotLookedAtAgain) {
    DisputeFacts facts{disputed(protocol::ReasonCode::kFalseReport), false, GameVerdict::kOpen};
    const std::vector<registry::Unit> open{disputed(protocol::ReasonCode::kFalseReport)};
    EXPECT_TRUE(is_free(open));
    EXPECT_FALSE(is_disputed(open));
    EXPECT_FALSE(is_free({{disputed(protocol::ReasonCode::kStepDiffers)}}));
    EXPECT_EQ(next_step(facts, kNow), DisputeStep::kWait) << "its pay waits for the window";
    facts.games = GameVerdict::kNeverOpened;
    EXPECT_EQ(next_step(facts, kNow + 60'001), DisputeStep::kRule);
    EXPECT_EQ(slash_reason(open.front()).code, protocol::ReasonCode::kGameProved)
        << "a proof counts whatever the referee found";
}

TEST(Disputes, AnUpheldUnitRefutesItsReporterIfItHasOne) {
    const registry::Unit reported = disputed(protocol::ReasonCode::kStepDiffers);
    EXPECT_EQ(reporter_of(reported), address(7));
    const UnitChange change = uphold(reported, protocol::event::Ruled{true});
    ASSERT_TRUE(change.reason);
    EXPECT_EQ(change.reason->code, protocol::ReasonCode::kFalseReport);
    const registry::Unit challenged = disputed(protocol::ReasonCode::kChallenged);
    EXPECT_FALSE(reporter_of(challenged));
    EXPECT_FALSE(uphold(challenged, protocol::event::GameEnded{true}).reason);
}

TEST(Disputes, ARejectionNamesTheDefenceAndWhetherStakeIsLost) {
    registry::Unit wrong = disputed(protocol::ReasonCode::kStepDiffers);
    auto change = reject(wrong, std::nullopt);
    ASSERT_TRUE(change.ok());
    EXPECT_TRUE(std::holds_alternative<protocol::event::TimePassed>(change->event));
    const std::string undefended = change->reason->sentence;
    wrong.status.defended = true;
    change = reject(wrong, std::nullopt);
    EXPECT_TRUE(std::holds_alternative<protocol::event::Ruled>(change->event));
    EXPECT_EQ(change->reason->code, protocol::ReasonCode::kStepDiffers);
    EXPECT_NE(change->reason->sentence, undefended);
    EXPECT_NE(reject(wrong, GameVerdict::kNeverOpened)->reason->sentence.find("no game about it"),
              std::string::npos);
    EXPECT_NE(reject(wrong, GameVerdict::kUpheld)->reason->sentence.find("lost every game"),
              std::string::npos);
    wrong.reason_code = "no such code";
    EXPECT_EQ(reject(wrong, std::nullopt).error().code, ErrorCode::kMalformed);
}

TEST(Disputes, ASlashedUnitKeepsWhatWasFoundBefore) {
    EXPECT_EQ(slash_reason(disputed(protocol::ReasonCode::kStepDiffers)).code,
              protocol::ReasonCode::kStepDiffers);
    EXPECT_EQ(slash_reason(disputed(protocol::ReasonCode::kChallenged)).code,
              protocol::ReasonCode::kGameProved);
    EXPECT_EQ(slash_reason(unit(UnitState::kVerified)).code, protocol::ReasonCode::kGameProved);
}

// Nodes.

TEST(IdleReasons, AWorkerIsToldWhatItWaitsFor) {
    std::vector<registry::Job> running;
    EXPECT_EQ(worker_idle_because({}, running), "no job is running");
    running.push_back(job());
    EXPECT_EQ(worker_idle_because({}, running), "waiting for the next round to begin");
    running[0].rounds_done = 3;
    EXPECT_EQ(worker_idle_because({}, running), "every running job has done all its rounds");
    std::vector<registry::Unit> open{disputed(protocol::ReasonCode::kStepDiffers)};
    EXPECT_NE(worker_idle_because(open, running).find("is disputed"), std::string::npos);
    open.push_back(unit(UnitState::kAssigned));
    EXPECT_EQ(worker_idle_because(open, running), "") << "it has work";
}

TEST(IdleReasons, AVerifierHasWorkWhileADrawOfItsOwnIsOpen) {
    std::vector<registry::Unit> open{unit(UnitState::kSampled)};
    EXPECT_NE(verifier_idle_because(address(5), open), "");
    open[0].verifier = address(5);
    EXPECT_EQ(verifier_idle_because(address(5), open), "");
    open[0].status.state = UnitState::kDisputed;
    EXPECT_NE(verifier_idle_because(address(5), open), "");
}

}  // namespace
}  // namespace gym::coordinator
