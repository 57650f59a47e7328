#pragma once

#include <cstdint>
#include <variant>

#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/moves.hpp"

/// The rules of moves: the rule contracts in contracts/src/dispute as one pure function. A test
/// drives both with the same moves.
namespace gym::game {

/// Most levels that an answer goes down, with one list and with two.
inline constexpr unsigned kAnswerLevelsMax = 7;
inline constexpr unsigned kTwinLevelsMax = 6;
/// Levels that the answer to a node of this height goes down (Descent.levels).
[[nodiscard]] unsigned answer_levels(unsigned height, unsigned levels_max);

/// The fault that a proof has shown.
struct Finding {
    /// Of the tensor, or which leaf, slot, field or delta.
    std::uint64_t element = 0;
    Digest claimed;  ///< by the asserter
    Digest computed;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// The next cursor of the game, or the fault that ends it.
using Ruling = std::variant<Cursor, Finding>;

/// Field of proveSigner: the signature is not valid. Lower fields are contradiction()'s.
inline constexpr std::uint8_t kSignatureField = 7;
/// Field of proveSigner: the commitment was shown as late, and its round takes none late.
inline constexpr std::uint8_t kNotTakenLateField = 8;

/// Decides a move at a cursor. DisputeGame checks that the game is open, that it is at this cursor,
/// and that it is the sender's turn.
/// @param commitments the domain that commitments are signed for. proveSigner needs it, and
/// showWithheld for another commitment than the one that is asked for; they are kInvalidArgument
/// without it.
/// @errors kConflict: not a move of this stage, or there is no fault; kMismatch: what was brought
/// is not what the cursor stands for, or a path does not lead to its root; kMalformed: bytes that
/// are not a record, a list or path of the wrong length, a digest of zero; kOutOfRange: no such
/// node or element.
[[nodiscard]] Result<Ruling> decide(const Cursor& at, const Move& move,
                                    const crypto::Eip712Domain* commitments = nullptr);

}  // namespace gym::game
