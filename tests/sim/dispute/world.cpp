#include "world.hpp"

#include <algorithm>

#include "gym/crypto/keccak.hpp"

namespace gym::game::sim {

const std::vector<Digest>& Book::games(const Digest& unit) const {
    static const std::vector<Digest> none;
    const auto found = games_.find(unit);
    return found == games_.end() ? none : found->second;
}

const Line* Book::line(const Digest& game) const {
    const auto found = lines_.find(game);
    return found == lines_.end() ? nullptr : &found->second;
}

Status Book::follow(const Digest& unit, Line& line) const {
    if (line.at().answered) return {};
    const auto known = answers_.find({unit, hash_of(line.at())});
    return known == answers_.end() ? Status() : line.play(known->second->move);
}

Status Book::read_one(const Event& event) {
    if (const auto* announced = std::get_if<event::Announced>(&event)) {
        announced_.push_back({announced->announcement, announced->block});
    } else if (const auto* opened = std::get_if<event::Opened>(&event)) {
        games_[opened->opening.unit].push_back(opened->game);
        if (opened->opening.fault) return {};
        Line line(opened->opening.facts, opened->cursor);
        GYM_CHECK(follow(opened->opening.unit, line));
        lines_.emplace(opened->game, std::move(line));
    } else if (const auto* moved = std::get_if<event::Moved>(&event)) {
        Line& line = lines_.at(moved->game);
        GYM_CHECK(line.play(moved->sent->move));
        if (moved->by_asserter)
            answers_[{moved->unit, hash_of(moved->sent->cursor)}] = moved->sent;
        else
            GYM_CHECK(follow(moved->unit, line));
        if (hash_of(line.at()) != moved->position)
            return fail(ErrorCode::kInternal, "a line is not where its game is");
    } else if (const auto* ended = std::get_if<event::GameEnded>(&event)) {
        lines_.erase(ended->game);
    }
    return {};
}

void Book::read(const Table& table, std::vector<std::string>& violations) {
    for (; read_ < table.log().size(); ++read_) {
        const Status status = read_one(table.log()[read_]);
        if (!status.ok()) violations.push_back("the log: " + status.error().message);
    }
}

World::World(std::uint64_t seed, const Terms& terms, const Weather& weather,
             std::map<Address, int> spared)
    : rng(seed), chain(rng, Table(terms, 31'337, Address{}), weather, std::move(spared)) {}

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
    ticket.id = table().announcement_of(who, unit, ticket.salt);
    return tickets_.emplace(std::tuple{who, unit, number}, ticket).first->second;
}

void World::sync() {
    if (chain.reorgs() != reorgs_) forget();
    reorgs_ = chain.reorgs();
    book_->read(table(), violations);
}

std::uint64_t World::clock_left(const GameState& game) const {
    const std::uint64_t clock =
        game.status == GameStatus::asserter_moves ? game.asserter_clock : game.challenger_clock;
    const std::uint64_t elapsed = chain.time() - game.since;
    return clock > elapsed ? clock - elapsed : 0;
}

bool World::ran_out(const GameState& game) const {
    return clock_left(game) < Chain::kBlockSeconds;
}

}  // namespace gym::game::sim
