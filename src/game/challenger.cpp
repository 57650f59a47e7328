#include "gym/game/strategy.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/dtype.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/engine/batch.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/unit_work.hpp"
#include "gym/program/train_program.hpp"
#include "no_move.hpp"
#include "posted_tree.hpp"
#include "rules_common.hpp"

// The challenger's moves: down to the first difference, then the proof.
namespace gym::game {
namespace {

using dispute::LeafRecord;
using dispute::Source;

NodePlace last_child(const Cursor& at, unsigned levels_max) {
    const ChildRange range = children_of({at.height, at.index}, at.leaves, levels_max);
    if (range.count == 0) return {at.height, at.index};
    return {range.height, range.first + range.count - 1};
}

// --- a train unit ---

/// Plans the challenger's move: at every level down to the first difference, then the proof.
class Challenge {
  public:
    Challenge(UnitWork& own, const GameTranscript& transcript)
        : own_(own), transcript_(transcript), at_(transcript.at()) {}
    Result<Move> plan();

  private:
    // Down to a step's outputs, and faults between them, its record and the states.
    Result<Move> steps();
    Result<Move> delta();
    Result<Move> trace();
    Result<Move> record(const PostedTree& leaves, const dispute::StepTrace& step);
    Result<Move> field(const PostedTree& leaves, std::uint8_t field, std::uint32_t leaf);
    Result<Pick> source_of(const dispute::StepTrace& step, const dispute::Source& source);
    Result<Move> state();
    Result<Move> gradients();
    // Below a macro op, the windows and the delta.
    Result<Move> primitives();
    Result<const dispute::TracedTensor*> disputed();
    Result<Move> chunks();
    Result<Move> element();
    Result<Move> prove_element(std::uint64_t element);
    Result<Move> prove_token(std::uint64_t element);
    Result<Move> prove_delta(std::uint64_t byte);

    [[nodiscard]] Bytes header() const { return encode(own_.trace().header); }

    UnitWork& own_;
    const GameTranscript& transcript_;
    const Cursor& at_;
};

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
        case Stage::kTensor:  // the asserter's turn
        case Stage::kNone:    // the game is over
        case Stage::kOuter:   // the rest: of aggregates
        case Stage::kOuterState:
        case Stage::kColumn:
        case Stage::kIncluded:
        case Stage::kRow:
        case Stage::kPart:
            break;
    }
    return fail(ErrorCode::kInternal, "the challenger has no move at this stage");
}

Result<Move> Challenge::steps() {
    GYM_TRY(const dispute::UnitStates* states, own_.states());
    const PostedTree records(transcript_, Stage::kSteps, engine::record_chain(states->records));
    const PostedTree after(transcript_, Stage::kSteps, states->state_roots, Twin::kStates);
    const auto record = records.first_difference(at_), state = after.first_difference(at_);
    const bool same_end = states->state_roots.back() == transcript_.facts().final_state_root;
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
    move::PickStep move{transcript_.facts(),
                        {*transcript_.states_root(), pick(first, at_.height), {}}};
    if (first.index > 0)
        move.to.before = pick({0, first.index - 1}, commit::tree_depth(records.own().leaf_count()));
    return Move(std::move(move));
}

/// Records and states are right: only the delta of the commitment is left.
Result<Move> Challenge::delta() {
    GYM_TRY(const dispute::TracedTensor* delta, own_.delta());
    if (delta->root() == transcript_.facts().delta_root)
        return no_fault("in the unit's records, states and delta");
    return Move(move::PickDelta{transcript_.facts(), *transcript_.states_root(), header()});
}

Result<Move> Challenge::trace() {
    GYM_TRY(const dispute::StepTrace* step, own_.step(transcript_.step()->step));
    const PostedTree leaves(transcript_, Stage::kTrace, step->leaf_roots);
    const auto first = leaves.first_difference(at_);
    if (!first) return record(leaves, *step);
    if (first->height > 0) return Move(move::PickNode{pick_below(leaves, *first, at_)});
    const auto leaf = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().leaf(leaf));
    const LeafRecord::Kind kind = own_.trace().leaves[leaf].kind;
    if (kind == LeafRecord::Kind::kClock || kind == LeafRecord::Kind::kRandom)
        return Move(move::ProveInput{*transcript_.step(), transcript_.facts(), header(),
                                     pick_from_root(leaves, leaf), std::move(proof)});
    return Move(move::PickLeaf{*transcript_.step(), header(), pick_below(leaves, *first, at_),
                               std::move(proof)});
}

/// All trace leaves are right: a field of the record, the state after or a gradient is not.
Result<Move> Challenge::record(const PostedTree& leaves, const dispute::StepTrace& step) {
    GYM_TRY(const engine::StepRecord claimed, engine::decode_step_record(transcript_.record()));
    const dispute::TraceHeader& h = own_.trace().header;
    if (claimed.batch_root != step.record.batch_root) {
        const auto batch =
            std::ranges::find(own_.trace().leaves, LeafRecord::Kind::kBatch, &LeafRecord::kind);
        return field(leaves, 0, static_cast<std::uint32_t>(batch - own_.trace().leaves.begin()));
    }
    if (claimed.loss_bits != step.record.loss_bits) return field(leaves, 1, h.loss);
    if (claimed.grad_norm_bits != step.record.grad_norm_bits) return field(leaves, 2, h.grad_norm);
    if (claimed.skipped != step.record.skipped) return field(leaves, 3, h.skipped);
    const auto after = dispute::next_state_roots(own_.trace(), step.before_roots, step.leaf_roots);
    if (commit::merkle_root(after) != transcript_.step()->state_after)
        return Move(move::PickTree{*transcript_.step(), header(), {}});
    if (claimed.gradient_root != step.record.gradient_root)
        return Move(move::PickTree{*transcript_.step(), header(), transcript_.record()});
    return no_fault("in the step's trace, record and state");
}

Result<Move> Challenge::field(const PostedTree& leaves, std::uint8_t field, std::uint32_t leaf) {
    move::ProveRecord move{*transcript_.step(), header(), transcript_.record(), field, {}, {}};
    if (leaf < own_.trace().leaves.size()) {  // a program without a guard has no leaf for it
        move.leaf = pick_from_root(leaves, leaf);
        GYM_TRY(move.leaf_record, own_.records().leaf(leaf));
    }
    return Move(std::move(move));
}

/// Where a slot's next value comes from, with its path.
Result<Pick> Challenge::source_of(const dispute::StepTrace& step, const Source& source) {
    if (source.kind == Source::Kind::kLeaf)
        return pick_from_root(PostedTree(transcript_, Stage::kTrace, step.leaf_roots),
                              source.index);
    GYM_TRY(std::vector<Digest> path, commit::merkle_prove(step.before_roots, source.index));
    return Pick{source.index, step.before_roots[source.index], std::move(path), {}, {}};
}

Result<Move> Challenge::state() {
    GYM_TRY(const dispute::StepTrace* step, own_.step(transcript_.step()->step));
    const PostedTree slots(
        transcript_, Stage::kState,
        dispute::next_state_roots(own_.trace(), step->before_roots, step->leaf_roots));
    const auto first = slots.first_difference(at_);
    if (!first) return no_fault("in the state after the step");
    if (first->height > 0) return Move(move::PickNode{pick_below(slots, *first, at_)});
    const auto slot = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().state(slot));
    GYM_TRY(Pick source, source_of(*step, own_.trace().state[slot].next));
    return Move(move::ProveSlot{*transcript_.step(), header(), pick_below(slots, *first, at_),
                                std::move(proof), std::move(source)});
}

Result<Move> Challenge::gradients() {
    GYM_TRY(const dispute::StepTrace* step, own_.step(transcript_.step()->step));
    std::vector<Digest> roots;
    for (const std::uint32_t leaf : own_.trace().gradients)
        roots.push_back(step->leaf_roots[leaf]);
    const PostedTree gradients(transcript_, Stage::kGradients, std::move(roots));
    const auto first = gradients.first_difference(at_);
    if (!first) return no_fault("in the step's gradients");
    if (first->height > 0) return Move(move::PickNode{pick_below(gradients, *first, at_)});
    const auto number = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().gradient(number));
    GYM_TRY(Pick source,
            source_of(*step, {Source::Kind::kLeaf, own_.trace().gradients[number], {}}));
    return Move(move::ProveGradient{*transcript_.step(), header(),
                                    pick_below(gradients, *first, at_), std::move(proof),
                                    std::move(source)});
}

Result<Move> Challenge::primitives() {
    const OpFrame& op = *transcript_.op();
    GYM_TRY(const std::vector<Digest>* primitives,
            own_.primitives(transcript_.step()->step, op.leaf));
    const PostedTree outputs(transcript_, Stage::kPrimitives, *primitives);
    const auto first = outputs.first_difference(at_);
    if (!first) return no_fault("in the op's primitives");
    if (first->height > 0) return Move(move::PickNode{pick_below(outputs, *first, at_)});
    const auto primitive = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().primitive(op.first + primitive));
    return Move(
        move::PickPrimitive{op, header(), pick_below(outputs, *first, at_), std::move(proof)});
}

/// The disputed tensor as this node computed it.
Result<const dispute::TracedTensor*> Challenge::disputed() {
    const OpFrame& op = *transcript_.op();
    if (op.leaf == dispute::kNoLeaf) return own_.delta();
    if (op.count == 0) return own_.windows(transcript_.step()->step);
    GYM_TRY(const dispute::TensorTrace* tensor,
            own_.tensor(transcript_.step()->step, op.leaf, op.primitive));
    return &tensor->output;
}

Result<Move> Challenge::chunks() {
    GYM_TRY(const dispute::TracedTensor* tensor, disputed());
    const PostedTree chunks(transcript_, Stage::kChunks, tensor->chunk_leaves);
    const auto first = chunks.first_difference(at_);
    if (!first) return no_fault("in the tensor's chunks");
    return Move(move::PickNode{pick_below(chunks, *first, at_)});
}

/// The first byte that is wrong in the chunk that was posted, and what must be there.
Result<Move> Challenge::element() {
    GYM_TRY(const dispute::TracedTensor* tensor, disputed());
    const ByteView mine = tensor->chunk(at_.index);
    const Bytes& theirs = transcript_.chunk();
    if (mine.size() != theirs.size()) return no_fault("that is in the tensor");
    const auto wrong = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
    if (static_cast<std::size_t>(wrong) == mine.size()) return no_fault("in the chunk");
    const std::uint64_t byte = at_.index * commit::kChunkBytes + static_cast<std::uint64_t>(wrong);
    const OpFrame& op = *transcript_.op();
    if (op.leaf == dispute::kNoLeaf) return prove_delta(byte);
    const std::uint64_t element = byte / commit::size_bytes(tensor->shape.dtype);
    return op.count == 0 ? prove_token(element) : prove_element(element);
}

Result<Move> Challenge::prove_element(std::uint64_t element) {
    const OpFrame& op = *transcript_.op();
    const std::uint32_t step_number = transcript_.step()->step;
    GYM_TRY(const dispute::StepTrace* step, own_.step(step_number));
    GYM_TRY(const std::vector<Digest>* primitives, own_.primitives(step_number, op.leaf));
    GYM_TRY(const dispute::TensorTrace* tensor, own_.tensor(step_number, op.leaf, op.primitive));
    const dispute::PrimitiveRecord& record = own_.trace().primitives[op.first + op.primitive];
    // Operands lie left of the first difference: own tensors, with paths in the asserter's trees.
    const auto path_of = [&](const Source& source) -> Result<std::vector<Digest>> {
        if (source.kind == Source::Kind::kState)
            return commit::merkle_prove(step->before_roots, source.index);
        const bool leaf = source.kind == Source::Kind::kLeaf;
        const PostedTree tree(transcript_, leaf ? Stage::kTrace : Stage::kPrimitives,
                              leaf ? step->leaf_roots : *primitives);
        return tree.path({0, source.index});
    };
    GYM_TRY(auto operands, dispute::open_operands(record, *tensor, element, path_of));
    return Move(move::ProveElement{op, *transcript_.step(), header(), encode(record), element,
                                   transcript_.chunk(), std::move(operands)});
}

Result<Move> Challenge::prove_token(std::uint64_t element) {
    const Facts& facts = transcript_.facts();
    const dispute::TraceHeader& h = own_.trace().header;
    const std::uint64_t tokens = own_.dataset_tokens();
    const std::uint64_t length = std::uint64_t{h.window_tokens} + 1;
    const std::uint64_t training = tokens - tokens / 10;  // the last tenth validates
    if (training < length || h.stride == 0)
        return fail(ErrorCode::kConflict, "the dataset has no window");
    const std::uint64_t starts = (training - length) / h.stride + 1;
    const std::uint64_t start =
        engine::window_start({facts.job_seed, facts.round, facts.slot}, transcript_.step()->step,
                             static_cast<std::uint32_t>(element / length), starts);
    GYM_TRY(auto dataset, own_.dataset_chunk(start * h.stride + element % length));
    return Move(move::ProveToken{*transcript_.op(), *transcript_.step(), facts, header(), element,
                                 transcript_.chunk(), tokens, std::move(dataset)});
}

Result<Move> Challenge::prove_delta(std::uint64_t byte) {
    const program::DeltaCodec codec = own_.trace().header.delta_codec;
    const bool dense = codec == program::DeltaCodec::kDense;
    move::ProveDelta move{*transcript_.op(),
                          transcript_.facts(),
                          header(),
                          dense ? byte : byte / sizeof(float),
                          transcript_.chunk(),
                          {},
                          {},
                          {}};
    const auto& slots = own_.trace().state;
    const auto slot = std::ranges::find_if(slots, [&](const dispute::StateRecord& record) {
        return record.delta_offset != 0 && record.delta_offset <= byte &&
               byte < dispute::delta_end(codec, record);
    });
    // The head, or a byte between rows: nothing is shown.
    if (slot == slots.end() || (dense && !codec::row_of(byte))) return Move(std::move(move));
    const auto index = static_cast<std::uint32_t>(slot - slots.begin());
    GYM_TRY(move.slot_record, own_.records().state(index));
    GYM_TRY(UnitWork::SlotElement sides,
            own_.slot_element(index, dispute::first_element(codec, *slot, byte)));
    move.final = std::move(sides.final);
    move.base = std::move(sides.base);
    return Move(std::move(move));
}

}  // namespace

Result<Move> plan_challenge(UnitWork& own, const GameTranscript& transcript) {
    GYM_ASSERT(transcript.at().answered, "the challenger moves where there is an answer");
    GYM_TRY(Move move, Challenge(own, transcript).plan());
    const auto ruling = decide(transcript.at(), move);
    if (ruling.ok()) return move;
    return no_move_wins(move, ruling.error());
}

}  // namespace gym::game
