#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "dispute_log.hpp"
#include "gym/chain/dispute_contracts.hpp"

namespace gym::app {

/// All that is told of one game.
struct DisputeReport {
    GameLog log;
    UnitLog unit;
    GameNow now;
    chain::DisputeGame::Terms terms;
};

/// Gas of one side's transactions; 0 before it was asked for.
[[nodiscard]] std::uint64_t gas_of_side(const GameLog& log, bool asserter);

/// Members in the order of the text: game, unit, sides, place, turn, clocks, gas, bond, moves, end.
[[nodiscard]] boost::json::object to_json(const DisputeReport& report);
[[nodiscard]] boost::json::object to_json(const GameMove& move, const GameLog& log);
/// One line, for lists.
[[nodiscard]] std::string summary_line(const DisputeReport& report);
/// One line of a game's course.
[[nodiscard]] std::string move_line(const GameMove& move, const GameLog& log);
/// Head, course and end of a game on standard output. @param with_moves false where they were
/// printed as they came.
void print_dispute(const DisputeReport& report, bool with_moves);

}  // namespace gym::app
