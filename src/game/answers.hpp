#pragma once

#include <vector>

#include "gym/dispute/macro_trace.hpp"
#include "gym/game/line.hpp"

/// Answers that are the same whatever a unit is.
namespace gym::game {

/// The nodes below the cursor's of the tree over `leaves`.
/// @errors kMismatch: the asserter's has another number of leaves.
Result<Move> answer_tree(const Cursor& at, std::vector<Digest> leaves);
/// A tensor's chunks.
Move answer_tensor(const OpFrame& op, const dispute::TracedTensor& tensor);
/// The cursor's chunk. @errors kMismatch: there is none.
Result<Move> answer_chunk(const Cursor& at, const OpFrame& op, const dispute::TracedTensor& tensor);
/// The move, if the rules take it. @errors kMismatch.
Result<Move> checked_answer(const Line& line, Move move);

}  // namespace gym::game
