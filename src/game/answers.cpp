#include "answers.hpp"

#include <string>

#include "gym/game/rules.hpp"
#include "posted_tree.hpp"

namespace gym::game {

using commit::MerkleTree;

Result<Move> answer_tree(const Cursor& at, std::vector<Digest> leaves) {
    const MerkleTree own(std::move(leaves));
    if (own.leaf_count() != at.leaves)
        return fail(ErrorCode::kMismatch, "the tree has another number of leaves");
    return Move(move::Answer{answer_to(own, {at.height, at.index}, kAnswerLevelsMax)});
}

Move answer_tensor(const OpFrame& op, const dispute::TracedTensor& tensor) {
    const MerkleTree chunks(tensor.chunk_leaves);
    const NodePlace root{commit::tree_depth(chunks.leaf_count()), 0};
    return move::OpenTensor{op, chunks.root(), answer_to(chunks, root, kAnswerLevelsMax)};
}

Result<Move> answer_chunk(const Cursor& at, const OpFrame& op,
                          const dispute::TracedTensor& tensor) {
    if (at.index >= tensor.chunk_leaves.size())
        return fail(ErrorCode::kMismatch, "the tensor has fewer chunks");
    const ByteView content = tensor.chunk(at.index);
    return Move(move::PostChunk{op, Bytes(content.begin(), content.end())});
}

Result<Move> checked_answer(const Line& line, Move move) {
    const auto ruling = decide(line.at(), move);
    if (ruling.ok()) return move;
    return fail(ErrorCode::kMismatch, "the run does not give what was committed to or posted: " +
                                          std::string(name_of(move)) + ": " +
                                          ruling.error().message);
}

}  // namespace gym::game
