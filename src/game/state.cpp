#include "gym/game/state.hpp"

#include <array>

namespace gym::game {
namespace {

constexpr std::array<std::string_view, 17> kStages{
    "none",        "unit",   "steps",      "step",   "trace",  "state",
    "gradients",   "macro",  "primitives", "tensor", "chunks", "outer",
    "outer_state", "column", "included",   "row",    "part"};

}  // namespace

std::string_view to_string(Stage stage) noexcept {
    const auto index = static_cast<std::size_t>(stage);
    return index < kStages.size() ? kStages[index] : "unknown";
}

std::string_view to_string(GameStatus status) noexcept {
    switch (status) {
        case GameStatus::kNone:
            return "none";
        case GameStatus::kAsserterMoves:
            return "asserter_moves";
        case GameStatus::kChallengerMoves:
            return "challenger_moves";
        case GameStatus::kUpheld:
            return "upheld";
        case GameStatus::kFaultProven:
            return "fault_proven";
        case GameStatus::kFaultByClock:
            return "fault_by_clock";
        case GameStatus::kMoot:
            return "moot";
    }
    return "unknown";
}

}  // namespace gym::game
