#pragma once

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/game/moves.hpp"

/// Moves as calls of DisputeGame.
namespace gym::game {

/// A move as it is sent, with its game and the game's cursor.
struct SentMove {
    Digest game;
    Cursor cursor;
    Move move;
};

/// Selector and ABI encoding.
[[nodiscard]] Bytes encode_call(const SentMove& sent);
/// Reads a call that the contract has accepted, as the contract read it (abi_read_calldata).
/// @errors kNotFound: another function; kMalformed.
[[nodiscard]] Result<SentMove> read_call(ByteView calldata);

}  // namespace gym::game
