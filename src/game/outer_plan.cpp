#include "outer_plan.hpp"

#include <algorithm>
#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/game/column_parts.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/train_program.hpp"

namespace gym::game {

Bytes slots_of(std::span<const OuterDelta> deltas) {
    std::size_t size = 0;
    for (const OuterDelta& delta : deltas)
        if (!delta.is_withdrawn() && delta.slot < kDeclaredSlotsMax)
            size = std::max<std::size_t>(size, delta.slot / 8 + 1);
    Bytes sets(2 * size);
    commit::Encoder withdrawn;
    for (const OuterDelta& delta : deltas) {
        if (delta.is_withdrawn()) {
            withdrawn.u16(delta.age);
            withdrawn.u16(static_cast<std::uint16_t>(delta.slot));
        } else if (delta.slot < kDeclaredSlotsMax) {
            const std::size_t at = (delta.held ? size : 0) + delta.slot / 8;
            sets[at] = static_cast<std::uint8_t>(sets[at] | 0x80U >> delta.slot % 8);
        }
    }
    const Bytes behind = withdrawn.take();
    sets.insert(sets.end(), behind.begin(), behind.end());
    return sets;
}

std::vector<std::uint32_t> slots_in(ByteView set) {
    std::vector<std::uint32_t> slots;
    for (std::size_t byte = 0; byte < set.size(); ++byte)
        for (std::uint32_t bit = 0; bit < 8; ++bit)
            if ((set[byte] & 0x80U >> bit) != 0)
                slots.push_back(static_cast<std::uint32_t>(8 * byte) + bit);
    return slots;
}

namespace {

/// Those behind the sets, which ascend within their group.
Status read_withdrawn(ByteView entries, const program::DeltaGroups& groups,
                      std::vector<OuterDelta>& deltas) {
    commit::Decoder in(entries);
    for (std::uint32_t i = 0; i < groups.withdrawn; ++i) {
        OuterDelta delta;
        delta.held = i + groups.withdrawn_held >= groups.withdrawn;
        GYM_TRY(delta.age, in.u16());
        GYM_TRY(delta.slot, in.u16());
        if (delta.age == 0)
            return fail(ErrorCode::kMalformed, "a withdrawn delta went in nowhere before");
        if (!deltas.empty() && place_of(delta) <= place_of(deltas.back()))
            return fail(ErrorCode::kMalformed, "the withdrawn slots of one group ascend");
        deltas.push_back(delta);
    }
    return {};
}

}  // namespace

Result<std::vector<OuterDelta>> read_declared(ByteView slots, std::uint32_t packed_groups) {
    const program::DeltaGroups groups = program::groups_of(packed_groups);
    const std::size_t entries = kWithdrawnEntryBytes * groups.withdrawn;
    if (slots.size() < entries || (slots.size() - entries) % 2 != 0 ||
        slots.size() - entries > std::size_t{2} * kDeclaredSlotsMax / 8)
        return fail(ErrorCode::kMalformed, "two sets of slots below " +
                                               std::to_string(kDeclaredSlotsMax) +
                                               " stand before the withdrawn deltas");
    const std::size_t half = (slots.size() - entries) / 2;
    std::vector<OuterDelta> deltas;
    for (const std::uint32_t slot : slots_in(slots.first(half)))
        deltas.push_back({slot, {}, false, 0});
    const std::size_t timely = deltas.size();
    for (const std::uint32_t slot : slots_in(slots.subspan(half, half)))
        deltas.push_back({slot, {}, true, 0});
    const std::size_t added = deltas.size(), all = added + groups.withdrawn;
    if (all > program::kDeltasMax || !program::are_legal(groups, all) ||
        added - timely != groups.held)
        return fail(ErrorCode::kMalformed,
                    "an aggregate has 1 to " + std::to_string(program::kDeltasMax) +
                        " deltas with a slot each, and as many of each group as it says");
    GYM_CHECK(read_withdrawn(slots.subspan(2 * half), groups, deltas));
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

Bytes column_answer(const Cursor& at, const Bytes& values, const OuterFrame& frame) {
    if (at.stage == Stage::kPart) {
        const ByteView part =
            ByteView(values).subspan(sizeof(float) * first_of_column(at), column_bytes(at));
        return {part.begin(), part.end()};
    }
    if (dispute::column_parts(at.leaves) == 0) return values;
    const kernels::ExactFloatEnvironment environment;
    return encode_parts(dispute::column_parts_of(floats_of(values),
                                                 {frame.deltas, program::groups_of(frame.held)}));
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
