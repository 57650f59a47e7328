#pragma once

#include <memory>

#include "gym/common/result.hpp"
#include "gym/game/line.hpp"
#include "gym/game/outer_work.hpp"
#include "gym/game/unit_work.hpp"

namespace gym::game {

/// What a side that has run a unit again plays in the games about it, whatever kind of unit it is
/// (planner.hpp). Not thread-safe.
class Strategy {
  public:
    virtual ~Strategy() = default;

    /// The asserter's answer. @pre the cursor is not answered. @errors of plan_answer().
    virtual Result<Move> answer(const Line& line) = 0;
    /// The challenger's move. @pre the cursor is answered. @errors of plan_challenge().
    virtual Result<Move> challenge(const Line& line) = 0;
};

// @param own outlives the strategy.
[[nodiscard]] std::unique_ptr<Strategy> strategy_of(UnitWork& own);
[[nodiscard]] std::unique_ptr<Strategy> strategy_of(OuterWork& own);

}  // namespace gym::game
