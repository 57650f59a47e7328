#include "auditor.hpp"

#include <algorithm>
#include <set>

namespace gym::game::sim {
namespace {

/// That may pass until somebody says that a clock ran out.
constexpr std::uint64_t kSlackSeconds = 40 * 2 * Chain::kBlockSeconds;
constexpr std::uint64_t kPpm = 1'000'000;

}  // namespace

bool Crew::is_honest(const Address& who) const {
    return std::ranges::any_of(verifiers, [&](auto* v) { return v->address() == who; }) ||
           std::ranges::any_of(workers,
                               [&](auto* w) { return w->honest() && w->address() == who; });
}

bool Crew::has_sampled(const Digest& unit) const {
    return std::ranges::any_of(verifiers, [&](const Verifier* verifier) {
        return std::ranges::find(verifier->sampled, unit) != verifier->sampled.end();
    });
}

Address Crew::accomplice_of(const Address& worker) {
    Address address = worker;
    address.data[19] = 0xAC;
    return address;
}

void Auditor::violation(const std::string& what) {
    world_.violations.push_back("block " + std::to_string(world_.chain.block()) + ": " + what);
}

/// After every transaction.
void Auditor::see(const Pending& one, const Status& status) {
    if (const auto* played = std::get_if<PlayCall>(&one.call)) see_move(one, *played, status);
    const auto* open = std::get_if<OpenCall>(&one.call);
    if (open != nullptr && status.ok()) see_opening(one, *open);
    const auto* reclaimed = std::get_if<ReclaimCall>(&one.call);
    if (reclaimed != nullptr && status.ok()) {
        const UnitState* unit = world_.simulator().unit(reclaimed->unit);
        if (unit == nullptr || unit->proven_at_s == 0)
            violation("a bond came back although no fault was proven");
    }
    check_money();
    check_honest_workers();
    check_honest_verifiers();
    check_delays();
}

void Auditor::check_money() {
    const DisputeSimulator& simulator = world_.simulator();
    if (simulator.tokens_held().plus(simulator.burned()).value() != simulator.minted())
        violation("tokens were made or lost");
    if (simulator.ether_held().plus(simulator.ether_out()).value() != simulator.ether_in())
        violation("ether was made or lost");
}

void Auditor::see_opening(const Pending& one, const OpenCall& open) {
    const Digest id = world_.simulator().announcement_of(one.sender, open.opening.unit, open.salt);
    opened_[id] = world_.chain.time();
    if (world_.chain.block() > open.opening.epoch_block + terms().window_blocks)
        violation("a game was opened behind the window");
}

void Auditor::see_move(const Pending& one, const PlayCall& played, const Status& status) {
    const DisputeSimulator& simulator = world_.simulator();
    const GameState* game = simulator.game(played.sent->game);
    if (game == nullptr) return;  // it was before the chain went back
    if (status.ok()) {
        ++moves_;
        if (!is_answer(played.sent->move)) world_.challenges[{game->unit, played.at}] = played.sent;
        return;
    }
    // A planned move is refused only where the game is not there any more, or the clock is
    // over.
    const bool there = is_open(game->status) && game->position == played.at;
    if (there && status.error().code != ErrorCode::kTimeout && crew_.is_honest(one.sender))
        violation("a planned move was refused: " + std::string(name_of(played.sent->move)) + ": " +
                  status.error().message);
}

void Auditor::check_honest_workers() {
    for (const Worker* worker : crew_.workers) {
        if (!worker->honest()) continue;
        if (world_.simulator().staked_by(worker->address()) != Amount(kStake))
            violation("an honest worker lost stake");
        for (const Digest& unit : worker->units) {
            const UnitState* state = world_.simulator().unit(unit);
            if (state != nullptr && state->proven_at_s != 0)
                violation("an honest unit was proven faulty");
        }
    }
}

void Auditor::check_honest_verifiers() {
    const DisputeSimulator& simulator = world_.simulator();
    for (const Verifier* verifier : crew_.verifiers) {
        Amount has = simulator.tokens_of(verifier->address());
        for (const Digest& unit : verifier->sampled) {
            const Digest& id = world_.ticket(verifier->address(), unit).id;
            const GameState* game = simulator.game(id);
            const bool held =
                simulator.is_announced(id) || (game != nullptr && is_open(game->status));
            if (held) has = has.plus(terms().bond).value();
        }
        if (has < Amount(kPurse)) violation("an honest verifier lost a bond");
    }
}

void Auditor::check_end(bool over) {
    if (!over) violation("the history has no end: something is stuck");
    const DisputeSimulator& simulator = world_.simulator();
    for (const Worker* worker : crew_.workers)
        if (simulator.locks_of(worker->address()) != 0) violation("a stake is locked for ever");
    for (const PostedUnit& unit : world_.units) {
        const UnitState* state = simulator.unit(unit.id());
        const bool slashed = state != nullptr && state->settled;
        if (unit.faulty && crew_.has_sampled(unit.id()) && !slashed)
            violation("a fault that was sampled is not punished: " +
                      world_.library.kind(unit.kind).what);
        if (slashed) check_finder(unit, *state);
    }
    check_provers();
    check_bonds();
    check_stakes();
    check_accomplices();
}

/// The reward is the earliest announcement's among those that proved the fault in time.
void Auditor::check_finder(const PostedUnit& unit, const UnitState& state) {
    for (const auto& [id, game] : world_.simulator().games()) {
        const bool proved =
            game.status == GameStatus::kFaultProven || game.status == GameStatus::kFaultByClock;
        if (game.unit == unit.id() && proved && game.order < state.order &&
            game.since_s <= state.proven_at_s + terms().settling_s)
            violation("an earlier announcement that proved the fault has no reward");
    }
}

/// A game that was won in time, beside the finder's, is paid for by the slash of its unit.
void Auditor::check_provers() {
    const DisputeSimulator& simulator = world_.simulator();
    std::set<std::uint64_t> paid;
    std::set<Digest> slashed;
    for (const Event& event : simulator.log()) {
        if (const auto* one = std::get_if<event::Compensated>(&event)) paid.insert(one->order);
        const auto* settled = std::get_if<event::UnitSettled>(&event);
        if (settled != nullptr && !settled->taken.is_zero()) slashed.insert(settled->unit);
    }
    for (const auto& [id, game] : simulator.games()) {
        const UnitState& unit = *simulator.unit(game.unit);
        const bool counts = game.status == GameStatus::kFaultProven &&
                            slashed.contains(game.unit) && game.order != unit.order &&
                            game.order <= unit.last_order &&
                            game.since_s <= unit.proven_at_s + terms().settling_s;
        if (counts && !paid.contains(game.order))
            violation("a prover beside the finder is not paid");
    }
}

/// The loser of a game loses its bond, and a challenger of a right result loses its game.
void Auditor::check_bonds() {
    for (const Event& event : world_.simulator().log()) {
        const auto* ended = std::get_if<event::GameEnded>(&event);
        if (ended == nullptr) continue;
        const bool upheld = ended->status == GameStatus::kUpheld;
        if (ended->burned.plus(ended->to_asserter).value() != Amount(upheld ? kBond : 0))
            violation("a bond of another size was lost");
        const Address& asserter = world_.unit(ended->unit)->opening.asserter;
        const bool honest = std::ranges::any_of(crew_.workers, [&](const Worker* worker) {
            return worker->honest() && worker->address() == asserter;
        });
        if (honest && !upheld) violation("who disputed what is right kept the bond");
    }
}

/// Nobody took its stake away between the first game and the verdict: a proven fault takes all of
/// it, missed clocks their part at least.
void Auditor::check_stakes() {
    const Amount part =
        Amount(kStake).mul_div(Amount(terms().missed_clock_ppm), Amount(kPpm)).value();
    for (const Worker* worker : crew_.workers) {
        bool slashed = false, proven = false;
        for (const Digest& unit : worker->units) {
            const UnitState* state = world_.simulator().unit(unit);
            if (state == nullptr || !state->settled) continue;
            slashed = true;
            proven = proven || !state->by_clock;
        }
        const Amount taken = taken_from(worker->address());
        if (proven && taken != Amount(kStake))
            violation("a fault was proven, but its worker did not lose its whole stake");
        if (slashed && taken < part) violation("missed clocks cost less than their part");
    }
}

Amount Auditor::taken_from(const Address& asserter) const {
    Amount taken;
    for (const Event& event : world_.simulator().log()) {
        const auto* settled = std::get_if<event::UnitSettled>(&event);
        if (settled != nullptr && settled->asserter == asserter)
            taken = taken.plus(settled->taken).value();
    }
    return taken;
}

/// A game takes two clocks at most, however slow its sides are.
void Auditor::check_delays() {
    for (const auto& [id, game] : world_.simulator().games())
        if (is_open(game.status) &&
            world_.chain.time() > opened_.at(id) + 2 * terms().clock_s + kSlackSeconds)
            violation("a game takes too long");
}

/// A node that disputes its own unit gets back less than it loses.
void Auditor::check_accomplices() {
    for (const auto& [asserter, count] : crew_.accomplices) {
        const DisputeSimulator& simulator = world_.simulator();
        const Amount taken = taken_from(asserter);
        Amount gained;
        for (const Event& event : simulator.log()) {
            const auto* ended = std::get_if<event::GameEnded>(&event);
            if (ended != nullptr && simulator.unit(ended->unit)->asserter == asserter)
                gained = gained.plus(ended->to_asserter).value();
        }
        const Address accomplice = Crew::accomplice_of(asserter);
        const Amount has = simulator.tokens_of(asserter)
                               .plus(simulator.staked_by(asserter))
                               .value()
                               .plus(simulator.tokens_of(accomplice))
                               .value();
        const Amount lost = taken.mul_div(Amount(terms().burned_ppm), Amount(kPpm)).value();
        const Amount had = Amount(kStake + count * kPurse).plus(gained).value();
        if (has.plus(lost).value() > had) violation("a worker gained by disputing its own unit");
    }
}

}  // namespace gym::game::sim
