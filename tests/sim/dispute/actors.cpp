#include "actors.hpp"

namespace gym::game::sim {
namespace {

/// Blocks that a verifier leaves itself between announcement and the end of the window.
constexpr std::uint64_t kMarginBlocks = 35;

bool is_proven(const DisputeSimulator& simulator, const Digest& unit) {
    const UnitState* state = simulator.unit(unit);
    return state != nullptr && state->proven_at_s != 0;
}

/// That a call opens a game about; nullptr: none.
const Digest* unit_of(const Call& call) {
    if (const auto* open = std::get_if<OpenCall>(&call)) return &open->opening.unit;
    const auto* conflict = std::get_if<ConflictCall>(&call);
    return conflict == nullptr ? nullptr : &conflict->opening.finding.unit;
}

}  // namespace

void Actor::play(World& world, const Digest& game, const TranscriptCache::Reached& place,
                 const std::shared_ptr<const Move>& move) {
    send(world, world.call_of(game, place, move));
}

void Actor::try_to_open(World& world, const PostedUnit& unit, const World::Ticket& ticket,
                        bool knows) {
    const DisputeParams& terms = world.simulator().terms();
    const std::uint64_t next = world.chain.block() + 1;
    for (const GameIndex::Announced& announced : world.index().announced()) {
        if (announced.id != ticket.id || next < announced.block + terms.announce_blocks) continue;
        if (next <= unit.opening.epoch_block ||
            next > unit.opening.epoch_block + terms.window_blocks)
            continue;
        if (knows && unit.conflict)
            send(world, ConflictCall{*unit.conflict, ticket.salt});
        else
            send(world, OpenCall{unit.opening, ticket.salt});
    }
}

void Worker::answer(World& world, const PostedUnit& unit, const Digest& game,
                    const GameState& state) {
    if (conduct_ == Conduct::kStalls && state.moves > silent_after_) return;
    if (conduct_ == Conduct::kSlow &&
        world.clock_left(state) > world.simulator().terms().clock_s / 4)
        return;
    const TranscriptCache::Reached* place = world.index().place(game);
    const auto& planned = world.library.answer(unit.kind, *place);
    if (planned.ok())
        play(world, game, *place, *planned);
    else if (honest())
        world.violations.push_back("an honest worker has no answer: " + planned.error().message);
}

void Worker::act(World& world) {
    const DisputeSimulator& simulator = world.simulator();
    for (const Digest& id : units) {
        const PostedUnit& unit = *world.unit(id);
        for (const Digest& game : world.index().games(id)) {
            const GameState& state = *simulator.game(game);
            if (state.status == GameStatus::kAsserterMoves)
                answer(world, unit, game, state);
            else if (is_open(state.status) && world.ran_out(state))
                send(world, TimeoutCall{game});
        }
    }
    if (conduct_ == Conduct::kFlees) {
        if (world.below(4) == 0) send(world, WithdrawCall{});
        if (world.below(8) == 0) send(world, ThawCall{simulator.staked_by(address())});
    }
    if (!simulator.ether_of(address()).is_zero() && world.below(8) == 0)
        send(world, WithdrawEtherCall{});
}

void Verifier::challenge(World& world, const PostedUnit& unit, const Digest& game) {
    const DisputeSimulator& simulator = world.simulator();
    const GameState& state = *simulator.game(game);
    const UnitState& of_unit = *simulator.unit(unit.id());
    // Whoever was first: a game that is won is paid for.
    if (of_unit.settled || (of_unit.proven_at_s != 0 && state.order > of_unit.last_order))
        return send(world, CloseCall{game});
    if (state.status == GameStatus::kAsserterMoves) {
        if (world.ran_out(state)) send(world, TimeoutCall{game});
        return;
    }
    const TranscriptCache::Reached* place = world.index().place(game);
    const std::size_t own = UnitLibrary::right_of(unit.kind);
    const auto& planned = world.library.challenge(own, unit.kind, *place);
    if (planned.ok())
        play(world, game, *place, *planned);
    else
        world.violations.push_back("a verifier has no move against " +
                                   world.library.kind(unit.kind).what + ": " +
                                   planned.error().message);
}

void Verifier::act(World& world) {
    const DisputeSimulator& simulator = world.simulator();
    const DisputeParams& terms = simulator.terms();
    for (const Digest& id : sampled) {
        const PostedUnit& unit = *world.unit(id);
        if (!unit.faulty || world.chain.block() <= unit.opening.epoch_block) continue;
        const World::Ticket& ticket = world.ticket(address(), id);
        const Digest& announced = ticket.id;
        const GameState* game = simulator.game(announced);
        if (game != nullptr) {
            if (is_open(game->status)) challenge(world, unit, announced);
            if (!simulator.due_to(game->order).is_zero())
                send(world, CompensateCall{announced, game->order});
        } else if (simulator.is_announced(announced)) {
            if (is_proven(simulator, id))
                send(world, ReclaimCall{id, ticket.salt});
            else
                try_to_open(world, unit, ticket, true);
        } else if (!is_proven(simulator, id) &&
                   world.chain.block() + kMarginBlocks <=
                       unit.opening.epoch_block + terms.window_blocks) {
            send(world, AnnounceCall{announced});
        }
        const UnitState* state = simulator.unit(id);
        if (is_proven(simulator, id) && !state->settled &&
            world.chain.time() > state->proven_at_s + terms.settling_s)
            send(world, SettleCall{id});
    }
    if (!simulator.ether_of(address()).is_zero() && world.below(8) == 0)
        send(world, WithdrawEtherCall{});
}

void Griefer::game(World& world, const PostedUnit& unit, std::uint64_t number) {
    const DisputeSimulator& simulator = world.simulator();
    const World::Ticket& ticket = world.ticket(address(), unit.id(), number);
    const Digest& id = ticket.id;
    const GameState* state = simulator.game(id);
    if (state == nullptr) {
        if (!simulator.is_announced(id)) {
            const bool time = aim_.early || world.chain.block() > unit.opening.epoch_block;
            if (time && world.below(4) == 0) send(world, AnnounceCall{id});
        } else if (is_proven(simulator, unit.id())) {
            send(world, ReclaimCall{unit.id(), ticket.salt});
        } else if (aim_.conduct != Conduct::kOnlyAnnounces) {
            try_to_open(world, unit, ticket, false);
        }
        return;
    }
    if (!is_open(state->status)) return;
    if (state->status == GameStatus::kAsserterMoves) {
        if (world.ran_out(*state)) send(world, TimeoutCall{id});
        return;
    }
    if (aim_.conduct == Conduct::kStalls) return;
    if (aim_.conduct == Conduct::kSlow && world.clock_left(*state) > simulator.terms().clock_s / 4)
        return;
    const TranscriptCache::Reached* place = world.index().place(id);
    const auto& planned = world.library.challenge(aim_.own, unit.kind, *place);
    if (planned.ok()) play(world, id, *place, *planned);
}

void Griefer::act(World& world) {
    const PostedUnit& unit = *world.unit(aim_.unit);
    for (std::uint64_t number = 0; number < aim_.games; ++number)
        game(world, unit, number);
}

void Copier::copy_move(World& world, const Digest& game, const GameState& state) {
    std::shared_ptr<const SentMove> seen;
    const auto known = world.challenges.find({state.unit, state.position});
    if (known != world.challenges.end()) seen = known->second;
    for (const Pending& one : world.chain.pool()) {
        const auto* played = std::get_if<PlayCall>(&one.call);
        if (played != nullptr && !is_answer(played->sent->move) && played->at == state.position)
            seen = played->sent;
    }
    if (seen)
        send(world,
             PlayCall{std::make_shared<const SentMove>(SentMove{game, seen->cursor, seen->move})});
}

void Copier::act(World& world) {
    const DisputeSimulator& simulator = world.simulator();
    const std::vector<Pending>& pool = world.chain.pool();
    for (std::size_t i = 0, waiting = pool.size(); i < waiting; ++i) {
        const Call open = pool[i].call;  // what is sent moves the pool
        const Digest* opened = unit_of(open);
        if (pool[i].sender == address() || opened == nullptr) continue;
        const Digest& unit = *opened;
        const Digest& id = world.ticket(address(), unit).id;
        if (simulator.game(id) == nullptr && !simulator.is_announced(id) &&
            !is_proven(simulator, unit))
            send(world, AnnounceCall{id});
        // And what was announced as it is: it means nothing under another name.
        if (world.below(4) == 0) send(world, open);
    }
    for (const PostedUnit& unit : world.units) {
        const World::Ticket& ticket = world.ticket(address(), unit.id());
        const Digest& id = ticket.id;
        const GameState* state = simulator.game(id);
        if (state == nullptr) {
            if (!simulator.is_announced(id)) continue;
            if (is_proven(simulator, unit.id()) && world.below(2) == 0)
                send(world, ReclaimCall{unit.id(), ticket.salt});
            else
                try_to_open(world, unit, ticket, true);
        } else if (state->status == GameStatus::kChallengerMoves) {
            copy_move(world, id, *state);
        }
    }
}

void Vandal::act(World& world) {
    const DisputeSimulator& simulator = world.simulator();
    for (const auto& [id, game] : simulator.games()) {
        if (!is_open(game.status) || world.below(8) != 0) continue;
        if (world.below(2) == 0) send(world, TimeoutCall{id});
        if (world.below(2) == 0) send(world, CloseCall{id});
        // A move that was played before, sent by another player or in another place.
        const auto known = world.challenges.lower_bound({game.unit, Digest{}});
        if (known != world.challenges.end())
            send(world, PlayCall{std::make_shared<const SentMove>(
                            SentMove{id, known->second->cursor, known->second->move})});
    }
    for (const GameIndex::Announced& announced : world.index().announced())
        if (world.below(8) == 0) send(world, ForfeitCall{announced.id});
    const PostedUnit& unit = world.units[world.below(world.units.size())];
    if (world.below(8) == 0) send(world, SettleCall{unit.id()});
    const World::Ticket& ticket = world.ticket(address(), unit.id());
    if (simulator.is_announced(ticket.id))
        send(world, ReclaimCall{unit.id(), ticket.salt});
    else if (world.below(32) == 0)
        send(world, AnnounceCall{ticket.id});
}

void Janitor::act(World& world) {
    const DisputeSimulator& simulator = world.simulator();
    const DisputeParams& terms = simulator.terms();
    for (const auto& [id, game] : simulator.games()) {
        if (!is_open(game.status)) continue;
        if (world.ran_out(game)) send(world, TimeoutCall{id});
        if (simulator.unit(game.unit)->settled) send(world, CloseCall{id});
    }
    for (const auto& [id, game] : simulator.games())
        if (!simulator.due_to(game.order).is_zero()) send(world, CompensateCall{id, game.order});
    for (const auto& [id, unit] : simulator.units())
        if (unit.proven_at_s != 0 && !unit.settled &&
            world.chain.time() > unit.proven_at_s + terms.settling_s)
            send(world, SettleCall{id});
    for (const GameIndex::Announced& announced : world.index().announced())
        if (simulator.is_announced(announced.id) &&
            world.chain.block() >= announced.block + terms.announce_blocks + terms.open_blocks)
            send(world, ForfeitCall{announced.id});
}

}  // namespace gym::game::sim
