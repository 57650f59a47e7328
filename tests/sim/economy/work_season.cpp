#include "work_season.hpp"

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/rewards/formulas.hpp"
#include "must.hpp"

namespace gym::sim::economy {
namespace {

using gym::testing::must;
using protocol::UnitState;
namespace event = protocol::event;

constexpr std::uint64_t kTinyUnits = 20;
constexpr std::uint64_t kTinyShare = 1'000;  // of a unit's value
constexpr std::uint64_t kRecordUnits = 100;  // of an established worker

Digest digest_of(std::string_view what, std::uint64_t number) {
    commit::Encoder encoder;
    encoder.raw(as_bytes(what)).u64(number);
    return commit::sha256(encoder.view());
}

Address address_of(std::size_t number) {
    Address out;
    out.data[18] = 1;
    out.data[19] = static_cast<std::uint8_t>(number);
    return out;
}

bool is_final(UnitState state) {
    return state == UnitState::kFinal;
}

}  // namespace

WorkSeason::WorkSeason(const Network& net, const WorkPlan& plan, std::uint64_t seed)
    : net_(net), plan_(plan), dice_(seed), beacon_(digest_of("beacon", seed)) {
    for (std::size_t i = 0; i < net.params.sampling.verifiers; ++i)
        verifiers_.push_back({address_of(i), 0, 0});
    colluding_ = protocol::colluding_verifiers(net.params.sampling);
    excluded_.assign(verifiers_.size(), false);
}

Book WorkSeason::run() {
    begin();
    if (!plan_.two_records) {  // CommitmentLog.postRound refuses the second: the round has none
        for (std::uint64_t i = 0; i < net_.params.worker.open_units_max; ++i)
            add_unit(Account::kWorker, i >= plan_.wrong);
        add_unit(Account::kPeerA, true);
        add_unit(Account::kPeerB, true);
    }
    for (Unit& unit : units_) {
        if (plan_.prefix && unit.worker == Account::kWorker && &unit == &units_.front()) {
            play_prefix(unit);
            continue;
        }
        commit(unit);
        draw(unit);
    }
    for (Unit& unit : units_)
        audit(unit);
    punish_worker();
    aggregate();
    for (Unit& unit : units_)
        end(unit);
    book_.move(Account::kEscrow, Account::kOwner, locked_);  // unlocked and withdrawn
    book_.move(Account::kStakes, Account::kWorker, worker_stake_);
    book_.move(Account::kStakes, Account::kCoordinator, coordinator_stake_);
    return book_;
}

/// Stakes, and the lock of the job's budget.
void WorkSeason::begin() {
    const bool needs = net_.rules.stake_needed && !plan_.asks_no_stake;
    const Amount needed = must(protocol::stake_needed(net_.stake_rule, net_.unit));
    worker_stake_ = needs ? wei_of(needed) : 0;
    coordinator_stake_ = net_.stake;
    book_.move(Account::kWorker, Account::kStakes, worker_stake_);
    book_.move(Account::kCoordinator, Account::kStakes, coordinator_stake_);
    const auto units = static_cast<Wei>(net_.params.worker.open_units_max + 2);
    locked_ = 2 * units * (net_.reward + net_.bonus + net_.report_reward);
    book_.move(Account::kOwner, Account::kEscrow, locked_);
    if (!plan_.record_of_tiny) return;
    // Ordered of itself: the pay comes back, the work and the fee do not.
    const Wei tiny = net_.reward / static_cast<Wei>(kTinyShare);
    const auto count = static_cast<Wei>(kTinyUnits);
    book_.move(Account::kWorker, Account::kOutside, count * net_.cost / kTinyShare);
    book_.move(Account::kWorker, Account::kBurned, share_of(count * tiny, net_.fee_ppm));
}

void WorkSeason::add_unit(Account worker, bool right) {
    Unit unit;
    unit.id = digest_of("unit", units_.size());
    unit.worker = worker;
    unit.right = right;
    unit.status = protocol::assigned(net_.lifecycle, now_ms_);
    units_.push_back(unit);
}

void WorkSeason::apply(Unit& unit, const protocol::UnitEvent& event) {
    unit.status = must(protocol::apply(unit.status, event, net_.lifecycle, now_ms_));
}

std::uint32_t WorkSeason::rate_of(const Unit& unit) const {
    const protocol::SamplingPolicy policy{.floor_ppm = net_.params.sampling.floor_ppm};
    const Amount value = must(protocol::unit_value(net_.unit));
    std::uint64_t count = kRecordUnits;
    if (unit.worker == Account::kWorker && plan_.record_of_tiny) {
        const Amount tiny = must(value.mul_div(Amount(kTinyUnits), Amount(kTinyShare)));
        count = protocol::units_worth(tiny, value);
    } else if (unit.worker == Account::kWorker && !plan_.record) {
        count = 0;
    }
    return protocol::sampling_rate_ppm(count, policy);
}

void WorkSeason::commit(Unit& unit) {
    if (unit.right) book_.move(unit.worker, Account::kOutside, net_.cost);
    apply(unit, event::Committed{});
    if (plan_.signs_twice && unit.worker == Account::kWorker && &unit == &units_.front()) {
        apply(unit, event::FaultProven{});
        unit.found = true;
    }
}

void WorkSeason::draw(Unit& unit) {
    if (unit.status.state != UnitState::kCommitted) return;
    const bool drawn =
        protocol::is_sampled(beacon_, unit.id, rate_of(unit)) && net_.rules.reports_paid;
    const bool passed = drawn && plan_.passes_over && unit.worker == Account::kWorker;
    unit.named = passed;
    apply(unit, event::Drawn{drawn && !passed});
    if (unit.status.state == UnitState::kSampled) report(unit);
}

void WorkSeason::report(Unit& unit) {
    const Address worker = address_of(100 + static_cast<std::size_t>(unit.worker));
    const auto chosen =
        protocol::assign_verifier(beacon_, unit.id, unit.status.draws - 1, worker, verifiers_);
    GYM_ASSERT(chosen.has_value(), "there are verifiers");
    std::size_t index = 0;
    while (verifiers_[index].address != *chosen)
        ++index;
    ++verifiers_[index].units_waiting;
    unit.verifier = index;
    const bool hides = colludes(index) && !unit.right;
    const Account verifier = colludes(index) ? Account::kAccomplice : Account::kVerifiers;
    if (!hides) book_.move(verifier, Account::kOutside, net_.cost);
    apply(unit, event::Reported{});
    apply(unit, event::Revealed{});
    apply(unit, event::Compared{unit.right || hides});
    unit.found = !unit.right && !hides;
}

/// The coordinator repeats a share of the reports that agree; a copy of a wrong unit is found.
void WorkSeason::audit(Unit& unit) {
    const bool audited = dice_.ppm(net_.params.verifier.audit_ppm) && net_.rules.reports_audited;
    if (unit.status.state != UnitState::kVerified || unit.right || !audited) return;
    if (plan_.passes_over || plan_.pays_void) return;  // its own accomplices are not audited
    apply(unit, event::FaultProven{});
    excluded_[*unit.verifier] = true;
}

/// docs/PROTOCOL.md, "Prefixes": always run again, by a verifier that does not know the worker's
/// link unless the worker tells it. No stake follows (coordinator_core: PrefixesTest).
void WorkSeason::play_prefix(Unit& unit) {
    now_ms_ = net_.lifecycle.unit_ms + 1;
    apply(unit, event::TimePassed{});
    GYM_ASSERT(unit.status.state == UnitState::kExpired, "nothing was committed in time");
    const std::uint32_t steps = net_.unit.steps - 1;
    now_ms_ = 0;
    if (steps == 0) return;
    const auto index = static_cast<std::size_t>(dice_.below(verifiers_.size()));
    const bool audited = dice_.ppm(net_.params.verifier.audit_ppm);
    const std::uint64_t flops = net_.unit.flops_per_step * steps;
    const Amount& price = net_.unit.price_wei_per_pflop;
    const Wei credit = wei_of(must(rewards::compute_credit(flops, price)));
    const Wei verification =
        wei_of(must(rewards::verification_credit(flops, price, net_.premium_ppm)));
    if (colludes(index) && !audited) {
        pay(Account::kWorker, credit);
        pay(Account::kAccomplice, verification);
        return;
    }
    prefix_refuted_ = true;
    if (colludes(index)) return;
    book_.move(Account::kVerifiers, Account::kOutside, net_.cost * steps / net_.unit.steps);
    pay(Account::kVerifiers, verification);
}

bool WorkSeason::worker_caught() const {
    return std::any_of(units_.begin(), units_.end(), [](const Unit& unit) { return unit.found; });
}

/// A fault that was found is played on chain, and all that is not final is void.
void WorkSeason::punish_worker() {
    const bool rejected = std::any_of(units_.begin(), units_.end(), [](const Unit& unit) {
        return unit.status.state == UnitState::kRejected;
    });
    // Verifiers play even if the coordinator calls the unit right.
    if (worker_caught()) {
        const bool proof = plan_.answers || plan_.signs_twice;
        const bool played = worker_stake_ >= net_.bond;
        if (played) slash(Account::kWorker, worker_stake_, !proof);
        for (Unit& unit : units_)
            if (unit.found && unit.status.state == UnitState::kDisputed) {
                if (played)
                    apply(unit, event::GameEnded{false});
                else
                    reject(unit);
            }
        fault_proven_ = true;
    }
    const bool ignored = plan_.pays_void;  // then the others stay final by the coordinator's word
    if ((fault_proven_ || rejected || prefix_refuted_) && !ignored) void_the_rest();
}

/// Below the bond nobody opens a game (docs/PROTOCOL.md, "Playing"): the referee finds the fault.
void WorkSeason::reject(Unit& unit) {
    const UnixMs before = now_ms_;
    now_ms_ = unit.status.deadline_ms + 1;
    apply(unit, event::TimePassed{});
    now_ms_ = before;
}

void WorkSeason::void_the_rest() {
    for (Unit& unit : units_) {
        if (unit.worker != Account::kWorker || protocol::is_terminal(unit.status.state)) continue;
        apply(unit, event::Voided{});
    }
}

/// DisputeBank.settle and Stake.slash (contracts/test/DisputeProvers.t.sol, DisputeClocks.t.sol).
/// An accomplice that knew of the fault before announced first and is the finder; the verifier that
/// found it is the other prover.
void WorkSeason::slash(Account asserter, Wei stake, bool by_clock) {
    const protocol::SlashTerms& terms = net_.params.slash;
    const Account finder = plan_.no_accomplice ? Account::kVerifiers : Account::kAccomplice;
    book_.move(finder, Account::kOutside, net_.game_cost);
    if (!plan_.no_accomplice) book_.move(Account::kVerifiers, Account::kOutside, net_.game_cost);
    // Stake thaws for longer than the window, and is locked by the first game (Stake.withdraw).
    const bool gone = plan_.leaves && !net_.rules.stake_thaws;
    const std::uint64_t clock_ppm = net_.rules.clocks_cost ? terms.missed_clock_ppm : 0;
    const Wei taken = gone ? 0 : share_of(stake, by_clock ? clock_ppm : 1'000'000);
    const Wei reward = share_of(taken, 1'000'000 - terms.burned_ppm - terms.compensation_ppm);
    const Wei pot = plan_.no_accomplice ? 0 : share_of(taken, terms.compensation_ppm);
    book_.move(Account::kStakes, finder, reward);
    book_.move(Account::kStakes, Account::kVerifiers, pot);
    book_.move(Account::kStakes, Account::kBurned, taken - reward - pot);
    (asserter == Account::kWorker ? worker_stake_ : coordinator_stake_) -= taken;
}

/// Aggregates are drawn always; their verifier runs them again (coordinator_core, devnet_aggregate:
/// ACoordinatorThatAggregatesWronglyLosesItsStake).
void WorkSeason::aggregate() {
    const bool skips = plan_.wrong_aggregate || plan_.garbage_before;
    if (!plan_.two_records && !skips)
        book_.move(Account::kCoordinator, Account::kOutside, net_.aggregate_cost);
    const bool honest_verifier =
        !colludes(static_cast<std::size_t>(dice_.below(verifiers_.size())));
    if (plan_.wrong_aggregate && honest_verifier && net_.rules.aggregates_checked)
        slash(Account::kCoordinator, coordinator_stake_, true);
    // Needs no run: CommitmentLog has both records (DisputeConflictsTest.
    // test_aNextRecordBehindAnotherRecord), so anybody wins the game when it is opened.
    if (plan_.garbage_before && net_.rules.conflicts_slash)
        slash(Account::kCoordinator, coordinator_stake_, false);
}

/// The end of the window, credits and fee.
void WorkSeason::end(Unit& unit) {
    // The epoch file says final; `gym rewards audit` finds the report that differs.
    const bool paid_void = unit.found && plan_.pays_void && !net_.rules.guardian_acts;
    if (!protocol::is_terminal(unit.status.state)) {
        now_ms_ = unit.status.deadline_ms + 1;
        apply(unit, event::TimePassed{});
        now_ms_ = 0;
    }
    const bool disabled = unit.named && net_.rules.guardian_acts;
    if ((is_final(unit.status.state) && !disabled) || paid_void)
        pay(unit.worker, net_.reward + net_.bonus);
    if (unit.verifier && !excluded_[*unit.verifier])
        pay(colludes(*unit.verifier) ? Account::kAccomplice : Account::kVerifiers,
            net_.report_reward);
}

/// A credit out of the job's lock, and the fee on it.
void WorkSeason::pay(Account to, Wei amount) {
    const rewards::Fee fee =
        must(rewards::fee_of(amount_of(amount), net_.fee_ppm, net_.fee_burned_ppm));
    book_.move(Account::kEscrow, to, amount);
    book_.move(Account::kEscrow, Account::kCoordinator, wei_of(fee.kept));
    book_.move(Account::kEscrow, Account::kBurned, wei_of(fee.burned));
    locked_ -= amount + wei_of(fee.kept) + wei_of(fee.burned);
}

}  // namespace gym::sim::economy
