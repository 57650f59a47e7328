#include "lines.hpp"

namespace gym::game::sim {
namespace {

Result<Lines::Reached> after(Line line, const Move& move) {
    GYM_CHECK(line.play(move));
    return Lines::Reached(std::move(line));
}

Digest nameless(Cursor cursor) {
    cursor.node = {};
    return hash_of(cursor);
}

}  // namespace

Lines::Reached::Reached(Line reached)
    : line(std::move(reached)),
      at(hash_of(line.at())),
      plan(line.at().stage == Stage::kUnit ? nameless(line.at()) : at) {}

const Lines::Reached* Lines::begin(const UnitFacts& facts, const Cursor& start) {
    // Its frame is the hash of the facts, its node the name of the unit.
    const auto key = std::pair{start.frame, start.node};
    const auto known = begun_.find(key);
    if (known != begun_.end()) return &known->second;
    return &begun_.emplace(key, Reached(Line(facts, start))).first->second;
}

Result<const Lines::Reached*> Lines::play(const Reached* from,
                                          const std::shared_ptr<const SentMove>& sent) {
    auto known = played_.find({from, sent});
    if (known == played_.end())
        known = played_.emplace(std::pair{from, sent}, after(from->line, sent->move)).first;
    if (!known->second.ok()) return known->second.error();
    return &*known->second;
}

}  // namespace gym::game::sim
