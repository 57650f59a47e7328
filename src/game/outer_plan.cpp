#include "outer_plan.hpp"

#include <algorithm>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/program/train_program.hpp"

namespace gym::game {

Bytes slots_of(std::span<const OuterDelta> deltas) {
    commit::Encoder out;
    for (const OuterDelta& delta : deltas) {
        if (delta.is_withdrawn()) out.u16(delta.age);
        out.u16(static_cast<std::uint16_t>(delta.slot));
    }
    return out.take();
}

Result<std::vector<OuterDelta>> read_declared(ByteView slots, std::uint32_t packed_groups) {
    const program::DeltaGroups groups = program::groups_of(packed_groups);
    const std::uint64_t extra = std::uint64_t{2} * groups.withdrawn;
    const std::uint64_t count = slots.size() > extra ? (slots.size() - extra) / 2 : 0;
    if (count > program::kDeltasMax || slots.size() != 2 * count + extra ||
        !program::are_legal(groups, count))
        return fail(ErrorCode::kMalformed, "an aggregate has 1 to 1024 deltas with a slot each");
    commit::Decoder in(slots);
    std::vector<OuterDelta> deltas(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t last = count - i;  // so many with this one
        deltas[i].held = last <= groups.withdrawn ? last <= groups.withdrawn_held
                                                  : last <= groups.withdrawn + groups.held;
        if (last <= groups.withdrawn) {
            GYM_TRY(deltas[i].age, in.u16());
            if (deltas[i].age == 0)
                return fail(ErrorCode::kMalformed, "a withdrawn delta went in nowhere before");
        }
        GYM_TRY(deltas[i].slot, in.u16());
        if (i > 0 && place_of(deltas[i]) <= place_of(deltas[i - 1]))
            return fail(ErrorCode::kMalformed, "the slots of one group ascend");
    }
    return deltas;
}

std::vector<Digest> roots_of(std::span<const OuterDelta> deltas) {
    std::vector<Digest> roots;
    for (const OuterDelta& delta : deltas)
        roots.push_back(delta.root);
    return roots;
}

program::DeltaGroups groups_of(std::span<const OuterDelta> deltas) {
    const auto count = [&](bool withdrawn, bool held) {
        return std::ranges::count_if(deltas, [&](const OuterDelta& delta) {
            return delta.is_withdrawn() == withdrawn && delta.held == held;
        });
    };
    const auto held_then = static_cast<std::uint64_t>(count(true, true));
    return {static_cast<std::uint64_t>(count(false, true)),
            static_cast<std::uint64_t>(count(true, false)) + held_then, held_then};
}

const WithdrawnSource* source_of(const OuterWork& work, std::size_t position) {
    const std::span<const OuterDelta> included = work.included();
    const auto known = work.withdrawn();
    const std::size_t first = included.size() - groups_of(included).withdrawn;
    if (position < first || position - first >= known.size()) return nullptr;
    const std::optional<WithdrawnSource>& source = known[position - first];
    return source ? &*source : nullptr;
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
