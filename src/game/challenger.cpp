#include "challenger.hpp"

#include <algorithm>
#include <string>

#include "gym/game/planner.hpp"
#include "gym/game/rules.hpp"

namespace gym::game {

using dispute::LeafRecord;
using dispute::Source;

Error no_fault(const std::string& where) {
    return fail(ErrorCode::kConflict, "the asserter is right: there is no difference " + where);
}

Error no_move_wins(const Move& move, const Error& refusal) {
    return fail(ErrorCode::kConflict,
                "no move wins from here: " + std::string(name_of(move)) + ": " + refusal.message);
}

namespace {

NodePlace last_child(const Cursor& at, unsigned levels_max) {
    const ChildRange range = children_of({at.height, at.index}, at.leaves, levels_max);
    if (range.count == 0) return {at.height, at.index};
    return {range.height, range.first + range.count - 1};
}

}  // namespace

Result<Move> Challenge::plan() {
    switch (at_.stage) {
        case Stage::kSteps:
            return steps();
        case Stage::kTrace:
            return trace();
        case Stage::kState:
            return state();
        case Stage::kGradients:
            return gradients();
        case Stage::kPrimitives:
            return primitives();
        case Stage::kChunks:
            return at_.height == 0 ? element() : chunks();
        case Stage::kUnit:
        case Stage::kStep:
        case Stage::kMacro:
        case Stage::kTensor:
            break;  // the asserter's turn
        case Stage::kNone:
            break;  // of a game that is over
        case Stage::kOuter:
        case Stage::kOuterState:
        case Stage::kColumn:
        case Stage::kIncluded:
            break;  // of aggregates
    }
    return fail(ErrorCode::kInternal, "the challenger has no move at this stage");
}

Result<Move> Challenge::steps() {
    GYM_TRY(const dispute::UnitStates* states, own_.states());
    const PostedTree records(line_, Stage::kSteps, engine::record_chain(states->records));
    const PostedTree after(line_, Stage::kSteps, states->state_roots, Twin::states);
    const auto record = records.first_difference(at_), state = after.first_difference(at_);
    const bool same_end = states->state_roots.back() == line_.facts().final_state_root;
    if (!record && !state && same_end) return delta();
    // Both lists have nodes in the same places. A list that ends in another state than the one that
    // was committed to has no answer.
    const NodePlace first = record && state ? std::min(*record, *state)
                            : record        ? *record
                            : state         ? *state
                                            : last_child(at_, kTwinLevelsMax);
    const auto pick = [&](NodePlace node, unsigned height) {
        return Pick{node.index, records.node(node), records.path(node, height), after.node(node),
                    after.path(node, height)};
    };
    if (first.height > 0) return Move(move::PickNode{pick(first, at_.height)});
    move::PickStep move{line_.facts(), {*line_.states_root(), pick(first, at_.height), {}}};
    if (first.index > 0)
        move.to.before = pick({0, first.index - 1}, commit::tree_depth(records.own().leaf_count()));
    return Move(std::move(move));
}

/// Records and states are right: what is left of a commitment is the delta.
Result<Move> Challenge::delta() {
    GYM_TRY(const dispute::TracedTensor* delta, own_.delta());
    if (delta->root() == line_.facts().delta_root)
        return no_fault("in the unit's records, states and delta");
    return Move(move::PickDelta{line_.facts(), *line_.states_root(), header()});
}

Result<Move> Challenge::trace() {
    GYM_TRY(const dispute::StepTrace* step, own_.step(line_.step()->step));
    const PostedTree leaves(line_, Stage::kTrace, step->leaf_roots);
    const auto first = leaves.first_difference(at_);
    if (!first) return record(leaves, *step);
    if (first->height > 0) return Move(move::PickNode{pick_below(leaves, *first, at_)});
    const auto leaf = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().leaf(leaf));
    const LeafRecord::Kind kind = own_.trace().leaves[leaf].kind;
    if (kind == LeafRecord::Kind::clock || kind == LeafRecord::Kind::random)
        return Move(move::ProveInput{*line_.step(), line_.facts(), header(),
                                     pick_from_root(leaves, leaf), std::move(proof)});
    return Move(
        move::PickLeaf{*line_.step(), header(), pick_below(leaves, *first, at_), std::move(proof)});
}

/// All trace leaves are right: a field of the record, the state after or a gradient is not.
Result<Move> Challenge::record(const PostedTree& leaves, const dispute::StepTrace& step) {
    GYM_TRY(const engine::StepRecord claimed, engine::decode_step_record(line_.record()));
    const dispute::TraceHeader& h = own_.trace().header;
    if (claimed.batch_root != step.record.batch_root) {
        const auto batch =
            std::ranges::find(own_.trace().leaves, LeafRecord::Kind::batch, &LeafRecord::kind);
        return field(leaves, 0, static_cast<std::uint32_t>(batch - own_.trace().leaves.begin()));
    }
    if (claimed.loss_bits != step.record.loss_bits) return field(leaves, 1, h.loss);
    if (claimed.grad_norm_bits != step.record.grad_norm_bits) return field(leaves, 2, h.grad_norm);
    if (claimed.skipped != step.record.skipped) return field(leaves, 3, h.skipped);
    const auto after = dispute::next_state_roots(own_.trace(), step.before_roots, step.leaf_roots);
    if (commit::merkle_root(after) != line_.step()->state_after)
        return Move(move::PickTree{*line_.step(), header(), {}});
    if (claimed.gradient_root != step.record.gradient_root)
        return Move(move::PickTree{*line_.step(), header(), line_.record()});
    return no_fault("in the step's trace, record and state");
}

Result<Move> Challenge::field(const PostedTree& leaves, std::uint8_t field, std::uint32_t leaf) {
    move::ProveRecord move{*line_.step(), header(), line_.record(), field, {}, {}};
    if (leaf < own_.trace().leaves.size()) {  // a program without a guard has no leaf for it
        move.leaf = pick_from_root(leaves, leaf);
        GYM_TRY(move.leaf_record, own_.records().leaf(leaf));
    }
    return Move(std::move(move));
}

/// Where a slot's next value comes from, with its path.
Result<Pick> Challenge::source_of(const dispute::StepTrace& step, const Source& source) {
    if (source.kind == Source::Kind::leaf)
        return pick_from_root(PostedTree(line_, Stage::kTrace, step.leaf_roots), source.index);
    GYM_TRY(std::vector<Digest> path, commit::merkle_prove(step.before_roots, source.index));
    return Pick{source.index, step.before_roots[source.index], std::move(path), {}, {}};
}

Result<Move> Challenge::state() {
    GYM_TRY(const dispute::StepTrace* step, own_.step(line_.step()->step));
    const PostedTree slots(
        line_, Stage::kState,
        dispute::next_state_roots(own_.trace(), step->before_roots, step->leaf_roots));
    const auto first = slots.first_difference(at_);
    if (!first) return no_fault("in the state after the step");
    if (first->height > 0) return Move(move::PickNode{pick_below(slots, *first, at_)});
    const auto slot = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().state(slot));
    GYM_TRY(Pick source, source_of(*step, own_.trace().state[slot].next));
    return Move(move::ProveSlot{*line_.step(), header(), pick_below(slots, *first, at_),
                                std::move(proof), std::move(source)});
}

Result<Move> Challenge::gradients() {
    GYM_TRY(const dispute::StepTrace* step, own_.step(line_.step()->step));
    std::vector<Digest> roots;
    for (const std::uint32_t leaf : own_.trace().gradients)
        roots.push_back(step->leaf_roots[leaf]);
    const PostedTree gradients(line_, Stage::kGradients, std::move(roots));
    const auto first = gradients.first_difference(at_);
    if (!first) return no_fault("in the step's gradients");
    if (first->height > 0) return Move(move::PickNode{pick_below(gradients, *first, at_)});
    const auto number = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().gradient(number));
    GYM_TRY(Pick source,
            source_of(*step, {Source::Kind::leaf, own_.trace().gradients[number], {}}));
    return Move(move::ProveGradient{*line_.step(), header(), pick_below(gradients, *first, at_),
                                    std::move(proof), std::move(source)});
}

Result<Move> plan_challenge(UnitWork& own, const Line& line) {
    GYM_ASSERT(line.at().answered, "the challenger moves where there is an answer");
    GYM_TRY(Move move, Challenge(own, line).plan());
    const auto ruling = decide(line.at(), move);
    if (ruling.ok()) return move;
    return no_move_wins(move, ruling.error());
}

}  // namespace gym::game
