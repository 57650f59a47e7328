#pragma once

#include <cstdint>
#include <string_view>

namespace gym::chain {

/// Who must act, or how a game ended. Values are the contract's.
enum class GameStatus : std::uint8_t {
    kNone = 0,
    kAsserterMoves = 1,
    kChallengerMoves = 2,
    kUpheld = 3,        ///< the challenger's clock ran out
    kFaultProven = 4,   ///< the challenger showed a wrong number
    kFaultByClock = 5,  ///< the asserter's clock ran out
    kMoot = 6,          ///< another game decided the unit
};
/// "none", "asserter_moves", "challenger_moves", "upheld", "fault_proven", "fault_by_clock",
/// "moot".
[[nodiscard]] std::string_view to_string(GameStatus status) noexcept;
[[nodiscard]] constexpr bool is_open(GameStatus status) noexcept {
    return status == GameStatus::kAsserterMoves || status == GameStatus::kChallengerMoves;
}

}  // namespace gym::chain
