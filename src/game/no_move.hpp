#pragma once

#include <string>

#include "gym/common/result.hpp"
#include "gym/game/moves.hpp"

/// Why a challenger has no move: kConflict.
namespace gym::game {

inline Error no_fault(const std::string& where) {
    return fail(ErrorCode::kConflict, "the asserter is right: there is no difference " + where);
}

/// The move that was planned is refused.
inline Error no_move_wins(const Move& move, const Error& refusal) {
    return fail(ErrorCode::kConflict,
                "no move wins from here: " + std::string(name_of(move)) + ": " + refusal.message);
}

}  // namespace gym::game
