#include "world.hpp"

#include <algorithm>

#include "gym/crypto/keccak.hpp"

namespace gym::game::sim {

const std::vector<Digest>& GameIndex::games(const Digest& unit) const {
    static const std::vector<Digest> none;
    const auto found = games_.find(unit);
    return found == games_.end() ? none : found->second;
}

const TranscriptCache::Reached* GameIndex::place(const Digest& game) const {
    const auto found = places_.find(game);
    return found == places_.end() ? nullptr : found->second;
}

void GameIndex::forget() {
    const auto lines = transcripts_;
    *this = GameIndex();
    transcripts_ = lines;
}

Result<GameIndex::Place> GameIndex::follow(const Digest& unit, Place place) const {
    if (place->transcript.at().answered) return place;
    const auto known = answers_.find({unit, place->at});
    return known == answers_.end() ? place : transcripts_->play(place, known->second);
}

Status GameIndex::read_one(const Event& event) {
    if (const auto* announced = std::get_if<event::Announced>(&event)) {
        announced_.push_back({announced->announcement, announced->block});
    } else if (const auto* opened = std::get_if<event::Opened>(&event)) {
        games_[opened->opening.unit].push_back(opened->game);
        if (opened->opening.fault) return {};
        const Place start = transcripts_->begin(opened->opening.facts, opened->cursor);
        GYM_TRY(places_[opened->game], follow(opened->opening.unit, start));
    } else if (const auto* moved = std::get_if<event::Moved>(&event)) {
        Place& place = places_.at(moved->game);
        if (place->transcript.at() != moved->sent->cursor)
            return fail(ErrorCode::kInternal, "a move was made where its game is not");
        if (moved->by_asserter) answers_[{moved->unit, place->at}] = moved->sent;
        GYM_TRY(place, transcripts_->play(place, moved->sent));
        if (!moved->by_asserter) {
            GYM_TRY(place, follow(moved->unit, place));
        }
        if (place->at != moved->position)
            return fail(ErrorCode::kInternal, "a transcript is not where its game is");
    } else if (const auto* ended = std::get_if<event::GameEnded>(&event)) {
        places_.erase(ended->game);
    }
    return {};
}

void GameIndex::read(const DisputeSimulator& simulator, std::vector<std::string>& violations) {
    for (; read_ < simulator.log().size(); ++read_) {
        const Status status = read_one(simulator.log()[read_]);
        if (!status.ok()) violations.push_back("the log: " + status.error().message);
    }
}

World::World(std::uint64_t seed, const DisputeParams& terms, const ChainFaults& faults,
             std::map<Address, int> spared)
    : rng(seed),
      chain(rng, DisputeSimulator(terms, 31'337, Address{}, UnitLibrary::domain()), faults,
            std::move(spared)) {}

const PostedUnit* World::unit(const Digest& id) const {
    const auto found = std::ranges::find(units, id, &PostedUnit::id);
    return found == units.end() ? nullptr : &*found;
}

const World::Ticket& World::ticket(const Address& who, const Digest& unit,
                                   std::uint64_t number) const {
    const auto known = tickets_.find({who, unit, number});
    if (known != tickets_.end()) return known->second;
    Digest word;
    word.data[0] = static_cast<std::uint8_t>(number);
    Ticket ticket;
    ticket.salt = crypto::keccak256({who.view(), unit.view(), word.view()});
    ticket.id = simulator().announcement_of(who, unit, ticket.salt);
    return tickets_.emplace(TicketKey{who, unit, number}, ticket).first->second;
}

PlayCall World::call_of(const Digest& game, const TranscriptCache::Reached& place,
                        const std::shared_ptr<const Move>& move) {
    std::shared_ptr<const SentMove>& sent = sent_[{game, place.at, move}];
    if (!sent)
        sent = std::make_shared<const SentMove>(SentMove{game, place.transcript.at(), *move});
    return {sent, place.at};
}

void World::sync() {
    if (chain.reorgs() != reorgs_) forget();
    reorgs_ = chain.reorgs();
    index_.read(simulator(), violations);
}

std::uint64_t World::clock_left(const GameState& game) const {
    const std::uint64_t clock =
        game.status == GameStatus::kAsserterMoves ? game.asserter_clock_s : game.challenger_clock_s;
    const std::uint64_t elapsed = chain.time() - game.since_s;
    return clock > elapsed ? clock - elapsed : 0;
}

bool World::ran_out(const GameState& game) const {
    return clock_left(game) < Chain::kBlockSeconds;
}

}  // namespace gym::game::sim
