#pragma once

#include <cstdint>
#include <variant>

#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/moves.hpp"

/// What a move may be: the contracts of rules in contracts/src/dispute as one pure function. A test
/// drives both with the same moves.
namespace gym::game {

/// Most levels that an answer goes down, with one list and with two.
inline constexpr unsigned kAnswerLevelsMax = 7;
inline constexpr unsigned kTwinLevelsMax = 6;
/// Levels that the answer to a node of this height goes down (Descent.levels).
[[nodiscard]] unsigned answer_levels(unsigned height, unsigned levels_max);

/// What a proof has shown.
struct Finding {
    /// Of the tensor, or which leaf, slot, field or delta.
    std::uint64_t element = 0;
    Digest claimed;  ///< by the asserter
    Digest computed;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// Where the game goes on, or how it ends.
using Ruling = std::variant<Cursor, Finding>;

/// Of proveSigner: the signature is nobody's. Lower fields are contradiction()'s.
inline constexpr std::uint8_t kSignatureField = 7;

/// Decides a move at a cursor. Whose turn it is and whether the game is there is the table's
/// business.
/// @param commitments the domain that commitments are signed for; proveSigner alone needs it, and
/// is kInvalidArgument without it.
/// @errors kConflict: not a move of this stage, or there is no fault; kMismatch: what was brought
/// is not what the cursor stands for, or a path does not lead to its root; kMalformed: bytes that
/// are no record, a list or path of the wrong length, a digest of zero; kOutOfRange: no such node
/// or element.
[[nodiscard]] Result<Ruling> decide(const Cursor& at, const Move& move,
                                    const crypto::Eip712Domain* commitments = nullptr);

}  // namespace gym::game
