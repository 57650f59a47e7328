#include "outer_plan.hpp"

#include <algorithm>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"

namespace gym::game {

Bytes slots_of(std::span<const OuterDelta> deltas) {
    commit::Encoder out;
    for (const OuterDelta& delta : deltas)
        out.u16(static_cast<std::uint16_t>(delta.slot));
    return out.take();
}

std::vector<Digest> roots_of(std::span<const OuterDelta> deltas) {
    std::vector<Digest> roots;
    for (const OuterDelta& delta : deltas)
        roots.push_back(delta.root);
    return roots;
}

std::uint32_t held_of(std::span<const OuterDelta> deltas) {
    return static_cast<std::uint32_t>(std::ranges::count(deltas, true, &OuterDelta::held));
}

std::optional<std::vector<OuterDelta>> declared_deltas(std::span<const OuterDelta> own,
                                                       const GameTranscript& transcript) {
    std::vector<OuterDelta> declared = transcript.included();
    const auto is_declared = [&](const std::vector<Digest>& roots) {
        return roots.size() == declared.size() &&
               commit::merkle_root(roots) == transcript.outer()->deltas_root;
    };
    if (is_declared(roots_of(declared))) return declared;
    if (!is_declared(roots_of(own))) return std::nullopt;
    for (std::size_t i = 0; i < own.size(); ++i)
        declared[i].root = own[i].root;
    return declared;
}

std::vector<Digest> leaves_of(const OuterTrees& trees, OuterTree tree) {
    std::vector<Digest> leaves;
    if (tree != OuterTree::kMomentum) leaves = trees.base;
    if (tree != OuterTree::kBase)
        leaves.insert(leaves.end(), trees.momentum.begin(), trees.momentum.end());
    return leaves;
}

Result<dispute::ChunksOpening> chunk_of_row(const dispute::TracedTensor& residual,
                                            std::uint64_t row) {
    const std::uint64_t chunk = row * codec::kRowElements * sizeof(float) / commit::kChunkBytes;
    GYM_TRY(std::vector<Digest> path, commit::merkle_prove(residual.chunk_leaves, chunk));
    const ByteView content = residual.chunk(chunk);
    dispute::ChunksOpening opening;
    opening.chunks.push_back({Bytes(content.begin(), content.end()), std::move(path)});
    opening.tree_root = commit::merkle_root(residual.chunk_leaves);
    return opening;
}

bool is_commitment_to(const protocol::SignedCommitment& commitment, const OuterDelta& delta,
                      const Digest& round_record) {
    const protocol::UnitCommitment& says = commitment.commitment;
    return says.kind == protocol::UnitKind::kTrain && says.slot == delta.slot &&
           says.delta_root == delta.root && says.round_record == round_record;
}

std::vector<Digest> epoch_leaves(std::span<const protocol::SignedCommitment> epoch) {
    std::vector<Digest> leaves;
    for (const protocol::SignedCommitment& commitment : epoch)
        leaves.push_back(protocol::commitment_leaf(commitment));
    return leaves;
}

}  // namespace gym::game
