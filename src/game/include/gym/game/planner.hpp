#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/result.hpp"
#include "gym/game/line.hpp"
#include "gym/game/outer_work.hpp"
#include "gym/game/unit_work.hpp"

/// What each side plays next. Pure functions of the side's own run and the game's line, so that a
/// process that was killed plans the same move again.
namespace gym::game {

/// The asserter's answer where the line is.
/// @pre the cursor is not answered.
/// @errors kMismatch: its own run is not what it committed to or posted, so it has no legal answer;
/// those of the work.
[[nodiscard]] Result<Move> plan_answer(UnitWork& own, const Line& line);
[[nodiscard]] Result<Move> plan_answer(OuterWork& own, const Line& line);

/// The challenger's move where the line is: down to the first difference, then the proof.
/// @pre the cursor is answered.
/// @errors kConflict: the asserter is right as far as it can be seen from here, there is no move
/// that wins; those of the work.
[[nodiscard]] Result<Move> plan_challenge(UnitWork& own, const Line& line);
/// Of an aggregate the outer step is made from the deltas that were declared, if there are
/// commitments to them all under the epoch.
[[nodiscard]] Result<Move> plan_challenge(OuterWork& own, const Line& line);

}  // namespace gym::game
