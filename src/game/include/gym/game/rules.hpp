#pragma once

#include <cstdint>
#include <variant>

#include "gym/common/result.hpp"
#include "gym/game/moves.hpp"

/// What a move may be: TreeRules, StepRules, FaultRules and ElementRules of contracts/src/dispute
/// as one pure function. A test drives both with the same moves.
namespace gym::game {

/// Most levels that an answer goes down, with one list and with two.
inline constexpr unsigned kAnswerLevelsMax = 7;
inline constexpr unsigned kTwinLevelsMax = 6;
/// Levels that the answer to a node of this height goes down (Descent.levels).
[[nodiscard]] unsigned answer_levels(unsigned height, unsigned levels_max);

/// What a proof has shown.
struct Finding {
    std::uint64_t element = 0;  ///< of the tensor, or which leaf, slot or field
    Digest claimed;             ///< by the asserter
    Digest computed;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// Where the game goes on, or how it ends.
using Ruling = std::variant<Cursor, Finding>;

/// Decides a move at a cursor. Whose turn it is and whether the game is there is the table's
/// business.
/// @errors kConflict: not a move of this stage, or there is no fault; kMismatch: what was brought
/// is not what the cursor stands for, or a path does not lead to its root; kMalformed: bytes that
/// are no record, a list or path of the wrong length, a digest of zero; kOutOfRange: no such node
/// or element.
[[nodiscard]] Result<Ruling> decide(const Cursor& at, const Move& move);

}  // namespace gym::game
