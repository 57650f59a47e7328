#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gym/common/result.hpp"
#include "gym/game/outer_work.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/unit_work.hpp"

/// Plans the next move of each side. Pure functions of the side's own run and the game's
/// transcript, so that a process that was killed plans the same move again.
namespace gym::game {

/// Plans the asserter's answer at the transcript's cursor.
/// @pre the cursor is not answered.
/// @errors kMismatch: its own run is not what it committed to or posted, so it has no legal answer;
/// those of the work.
[[nodiscard]] Result<Move> plan_answer(UnitWork& own, const GameTranscript& transcript);
[[nodiscard]] Result<Move> plan_answer(OuterWork& own, const GameTranscript& transcript);

/// Plans the challenger's move at the transcript's cursor: down to the first difference, then the
/// proof.
/// @pre the cursor is answered.
/// @errors kConflict: the asserter is right as far as this node can see, so there is no move
/// that wins; those of the work.
[[nodiscard]] Result<Move> plan_challenge(UnitWork& own, const GameTranscript& transcript);
/// Of an aggregate the outer step is made from the deltas that were declared, if there are
/// commitments to them all under the epoch.
[[nodiscard]] Result<Move> plan_challenge(OuterWork& own, const GameTranscript& transcript);

/// Plays the games about a unit for a side that has run it again, whatever kind of unit it is
/// (plan_answer(), plan_challenge()). Not thread-safe.
class Strategy {
  public:
    virtual ~Strategy() = default;

    /// The asserter's answer. @pre the cursor is not answered. @errors of plan_answer().
    virtual Result<Move> answer(const GameTranscript& transcript) = 0;
    /// The challenger's move. @pre the cursor is answered. @errors of plan_challenge().
    virtual Result<Move> challenge(const GameTranscript& transcript) = 0;
};

// @param own outlives the strategy.
[[nodiscard]] std::unique_ptr<Strategy> strategy_of(UnitWork& own);
[[nodiscard]] std::unique_ptr<Strategy> strategy_of(OuterWork& own);

}  // namespace gym::game
