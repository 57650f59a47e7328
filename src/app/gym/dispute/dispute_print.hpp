#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "dispute/dispute_log.hpp"

namespace gym::app {

/// Everything that is shown of one game.
struct DisputeReport {
    GameLog log;
    UnitLog unit;
    GameNow now;
    game::DisputeTerms terms;
    player::GameCost cost;
};

/// Members in the order of the text: game, unit, sides, place, turn, clocks, gas, bond, end.
/// `moves` counts both sides' transactions, of which the gas is.
[[nodiscard]] boost::json::object to_json(const DisputeReport& report);
/// The event number `index` of the game.
[[nodiscard]] boost::json::object event_json(const GameLog& log, std::size_t index);

/// Header of a table of summary_line()s.
[[nodiscard]] std::string summary_header();
[[nodiscard]] std::string summary_line(const DisputeReport& report);
/// One line of a game's course.
[[nodiscard]] std::string event_line(const GameLog& log, std::size_t index);
/// Head, course and end of a game on standard output. @param with_course false where it was printed
/// as it came.
void print_dispute(const DisputeReport& report, bool with_course);

}  // namespace gym::app
