#include "gym/game/strategy.hpp"

#include <algorithm>
#include <string>

#include "gym/blob/view_reader.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/withheld_answers.hpp"
#include "outer_plan.hpp"
#include "posted_tree.hpp"

// The asserter's answers: a train unit's trees down to the posted chunk, and the deltas of an
// aggregate.
namespace gym::game {
namespace {

using commit::MerkleTree;

// --- answers that are the same whatever a unit is ---

/// The nodes below the cursor's of the tree over `leaves`.
/// @errors kMismatch: the asserter's has another number of leaves.
Result<Move> answer_tree(const Cursor& at, std::vector<Digest> leaves) {
    const MerkleTree own(std::move(leaves));
    if (own.leaf_count() != at.leaves)
        return fail(ErrorCode::kMismatch, "the tree has another number of leaves");
    return Move(move::Answer{answer_to(own, {at.height, at.index}, kAnswerLevelsMax)});
}

/// A tensor's chunks.
Move answer_tensor(const OpFrame& op, const dispute::TracedTensor& tensor) {
    const MerkleTree chunks(tensor.chunk_leaves);
    const NodePlace root{commit::tree_depth(chunks.leaf_count()), 0};
    return move::OpenTensor{op, chunks.root(), answer_to(chunks, root, kAnswerLevelsMax)};
}

/// The cursor's chunk. @errors kMismatch: there is none.
Result<Move> answer_chunk(const Cursor& at, const OpFrame& op,
                          const dispute::TracedTensor& tensor) {
    if (at.index >= tensor.chunk_leaves.size())
        return fail(ErrorCode::kMismatch, "the tensor has fewer chunks");
    const ByteView content = tensor.chunk(at.index);
    return Move(move::PostChunk{op, Bytes(content.begin(), content.end())});
}

/// The move, if the rules take it. @errors kMismatch.
Result<Move> checked_answer(const GameTranscript& transcript, Move move) {
    const auto ruling = decide(transcript.at(), move);
    if (ruling.ok()) return move;
    return fail(ErrorCode::kMismatch, "the run differs from the commitment or a posted answer: " +
                                          std::string(name_of(move)) + ": " +
                                          ruling.error().message);
}

// --- a train unit ---

class Answer {
  public:
    Answer(UnitWork& own, const GameTranscript& transcript)
        : own_(own), transcript_(transcript), at_(transcript.at()) {}

    Result<Move> plan() {
        if (transcript_.is_request()) return show();
        switch (at_.stage) {
            case Stage::kUnit:
                return declare();
            case Stage::kSteps:
                return steps();
            case Stage::kStep:
                return open_step();
            case Stage::kTrace:
                return tree(trace_leaves());
            case Stage::kState:
                return tree(state_leaves());
            case Stage::kGradients:
                return tree(gradient_leaves());
            case Stage::kMacro:
                return open_macro();
            case Stage::kPrimitives:
                return tree(primitive_leaves());
            case Stage::kTensor:
                return at_.leaves == 1 ? post_chunk() : open_tensor();
            case Stage::kChunks:
                return at_.height == 0 ? post_chunk() : tree(chunk_leaves());
            case Stage::kNone:   // of a game that is over
            case Stage::kOuter:  // the rest: of aggregates
            case Stage::kOuterState:
            case Stage::kColumn:
            case Stage::kIncluded:
            case Stage::kRow:
            case Stage::kPart:
                break;
        }
        return fail(ErrorCode::kInternal, "a cursor at no stage of a train unit");
    }

  private:
    using Leaves = Result<std::vector<Digest>>;

    [[nodiscard]] NodePlace here() const { return {at_.height, at_.index}; }
    [[nodiscard]] std::uint32_t step_number() const { return transcript_.step()->step; }

    /// The unit's delta is all that its worker is asked for.
    Result<Move> show() {
        GYM_TRY(const dispute::TracedTensor* delta, own_.delta());
        GYM_TRY(move::ShowWithheld shown,
                show_delta(transcript_.request(), blob::ViewReader(delta->bytes())));
        return Move(std::move(shown));
    }

    Result<Move> declare() {
        GYM_TRY(const dispute::UnitStates* states, own_.states());
        const MerkleTree records(engine::record_chain(states->records));
        const MerkleTree after(states->state_roots);
        const NodePlace root{commit::tree_depth(records.leaf_count()), 0};
        return Move(move::DeclareStates{transcript_.facts(), after.root(),
                                        answer_to(records, root, kTwinLevelsMax),
                                        answer_to(after, root, kTwinLevelsMax)});
    }

    Result<Move> steps() {
        GYM_TRY(const dispute::UnitStates* states, own_.states());
        const MerkleTree records(engine::record_chain(states->records));
        const MerkleTree after(states->state_roots);
        return Move(move::AnswerSteps{transcript_.facts(), *transcript_.states_root(),
                                      answer_to(records, here(), kTwinLevelsMax),
                                      answer_to(after, here(), kTwinLevelsMax)});
    }

    Result<Move> open_step() {
        GYM_TRY(const dispute::StepTrace* step, own_.step(step_number()));
        const MerkleTree leaves(step->leaf_roots);
        const NodePlace root{commit::tree_depth(leaves.leaf_count()), 0};
        return Move(move::OpenStep{*transcript_.step(), transcript_.facts(),
                                   encode(own_.trace().header),
                                   engine::encode_step_record(step->record), leaves.root(),
                                   answer_to(leaves, root, kAnswerLevelsMax)});
    }

    Result<Move> tree(Leaves leaves) {
        if (!leaves.ok()) return leaves.error();
        return answer_tree(at_, std::move(leaves).value());
    }

    Leaves trace_leaves() {
        GYM_TRY(const dispute::StepTrace* step, own_.step(step_number()));
        return step->leaf_roots;
    }
    Leaves state_leaves() {
        GYM_TRY(const dispute::StepTrace* step, own_.step(step_number()));
        return dispute::next_state_roots(own_.trace(), step->before_roots, step->leaf_roots);
    }
    Leaves gradient_leaves() {
        GYM_TRY(const dispute::StepTrace* step, own_.step(step_number()));
        std::vector<Digest> roots;
        for (const std::uint32_t leaf : own_.trace().gradients)
            roots.push_back(step->leaf_roots[leaf]);
        return roots;
    }
    Leaves primitive_leaves() {
        GYM_TRY(const std::vector<Digest>* primitives,
                own_.primitives(step_number(), transcript_.op()->leaf));
        return *primitives;
    }
    Leaves chunk_leaves() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        return tensor->chunk_leaves;
    }

    Result<Move> open_macro() {
        const OpFrame& op = *transcript_.op();
        GYM_TRY(const std::vector<Digest>* primitives, own_.primitives(step_number(), op.leaf));
        const MerkleTree outputs(*primitives);
        const NodePlace root{commit::tree_depth(op.count), 0};
        move::OpenMacro move{op, outputs.root(), {}, answer_to(outputs, root, kAnswerLevelsMax)};
        if (children_of(root, op.count, kAnswerLevelsMax).height > 0) {
            GYM_TRY(move.writer_path, outputs.prove(op.writer));
        }
        return Move(std::move(move));
    }

    /// The tensor that is disputed: the delta, a step's windows, or a primitive's output.
    Result<const dispute::TracedTensor*> disputed() {
        const OpFrame& op = *transcript_.op();
        if (op.leaf == dispute::kNoLeaf) return own_.delta();
        if (op.count == 0) return own_.windows(step_number());
        GYM_TRY(const dispute::TensorTrace* tensor,
                own_.tensor(step_number(), op.leaf, op.primitive));
        return &tensor->output;
    }

    Result<Move> open_tensor() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        return answer_tensor(*transcript_.op(), *tensor);
    }

    Result<Move> post_chunk() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        return answer_chunk(at_, *transcript_.op(), *tensor);
    }

    UnitWork& own_;
    const GameTranscript& transcript_;
    const Cursor& at_;
};

// --- an aggregate ---

class OuterAnswer {
  public:
    OuterAnswer(OuterWork& own, const GameTranscript& transcript)
        : own_(own), transcript_(transcript), at_(transcript.at()) {}

    Result<Move> plan() {
        switch (at_.stage) {
            case Stage::kUnit:
                return declare();
            case Stage::kOuter:
                return answer_tree(at_, roots_of(own_.included()));
            case Stage::kOuterState:
                return tree();
            case Stage::kIncluded:
                return show();
            case Stage::kTensor:
            case Stage::kChunks:
                return tensor();
            case Stage::kColumn:
            case Stage::kPart:
                return column();
            case Stage::kRow:
                return row();
            default:
                return fail(ErrorCode::kInternal, "a cursor at no stage of an aggregate");
        }
    }

  private:
    Result<Move> declare() {
        const auto included = own_.included();
        GYM_TRY(const OuterTrees* trees, own_.run(included));
        engine::StepRecord record;
        record.batch_root =
            engine::included_root(included.size(), groups_of(included), trees->deltas_root);
        record.state_root = trees->state_root;
        const MerkleTree deltas(roots_of(included));
        const NodePlace root{commit::tree_depth(deltas.leaf_count()), 0};
        return Move(move::DeclareOuter{transcript_.outer_facts(),
                                       engine::encode_step_record(record), deltas.root(),
                                       answer_to(deltas, root, kAnswerLevelsMax),
                                       slots_of(included), program::packed(groups_of(included))});
    }

    /// The step with the deltas that it has declared.
    Result<const OuterTrees*> run() { return own_.run(own_.included()); }

    Result<Move> tree() {
        GYM_TRY(const OuterTrees* trees, run());
        return answer_tree(at_, leaves_of(*trees, transcript_.outer()->tree));
    }

    Result<Move> show() {
        const auto included = own_.included();
        if (at_.index >= included.size())
            return fail(ErrorCode::kMismatch, "the aggregate has fewer deltas");
        const OuterDelta& delta = included[at_.index];
        if (delta.is_withdrawn()) return show_withdrawn(delta);
        if (auto in_time = show(delta, delta.held)) return *std::move(in_time);
        if (auto late = delta.held ? show(delta, false) : std::nullopt) return *std::move(late);
        return fail(ErrorCode::kMismatch,
                    "there is no commitment to the delta in slot " + std::to_string(delta.slot));
    }

    /// With the commitment to it under the epoch of this round, or of the one before; nothing if
    /// there is none. @param delta of the cursor's place.
    std::optional<Result<Move>> show(const OuterDelta& delta, bool before) {
        const OuterFacts& facts = transcript_.outer_facts();
        const Digest& round = delta.held ? facts.previous_record : facts.round_record;
        const auto epoch = own_.epoch(before);
        const auto found = std::ranges::find_if(
            epoch, [&](const auto& one) { return is_commitment_to(one, delta, round); });
        if (found == epoch.end()) return std::nullopt;
        return shown(epoch, static_cast<std::uint32_t>(found - epoch.begin()),
                     delta.held && !before);
    }

    /// Of a delta that is subtracted: the commitment that was proven wrong, and the record that has
    /// it among those that went in.
    Result<Move> show_withdrawn(const OuterDelta& delta) {
        const WithdrawnSource* const source = source_of(own_, at_.index);
        if (source == nullptr)
            return fail(ErrorCode::kNotFound, "it is not known why the delta in slot " +
                                                  std::to_string(delta.slot) + " is withdrawn");
        GYM_TRY(protocol::ListedDelta listed,
                protocol::prove_included(source->listing,
                                         {delta.slot, source->unit, delta.root, delta.held}));
        GYM_TRY(std::vector<Digest> up, commit::merkle_prove(roots_of(own_.included()), at_.index));
        const WithdrawnEvidence evidence{
            source->commitment, source->unit,
            protocol::encode(protocol::head_of(*own_.record_of(false))),
            protocol::encode(protocol::head_of(source->listing))};
        return Move(move::ShowIncluded{transcript_.outer_facts(), listed.index, encode(evidence),
                                       std::move(listed.path), std::move(up), false});
    }

    Result<Move> shown(std::span<const protocol::SignedCommitment> epoch, std::uint32_t index,
                       bool late) {
        GYM_TRY(std::vector<Digest> path, commit::merkle_prove(epoch_leaves(epoch), index));
        GYM_TRY(std::vector<Digest> up, commit::merkle_prove(roots_of(own_.included()), at_.index));
        return Move(move::ShowIncluded{transcript_.outer_facts(), index,
                                       protocol::encode(epoch[index]), std::move(path),
                                       std::move(up), late});
    }

    Result<Move> tensor() {
        const OpFrame& op = *transcript_.op();
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        GYM_TRY(const dispute::TracedTensor* tensor,
                own_.tensor(transcript_.outer()->tree, op.primitive));
        if (at_.stage == Stage::kTensor)
            return at_.leaves == 1 ? answer_chunk(at_, op, *tensor) : answer_tensor(op, *tensor);
        return at_.height == 0 ? answer_chunk(at_, op, *tensor)
                               : answer_tree(at_, tensor->chunk_leaves);
    }

    Result<Move> column() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        const OuterTree tree = transcript_.outer()->tree;
        const auto parameter = static_cast<std::uint32_t>(
            parameter_of(own_.trace().header, tree, transcript_.op()->primitive));
        GYM_TRY(Bytes values, own_.column(parameter, at_.index));
        return Move(move::PostColumn{column_answer(at_, values, *transcript_.outer())});
    }

    /// The residuals of the cursor's row, up to the outer state's root.
    Result<Move> row() {
        const OpFrame& op = *transcript_.op();
        GYM_TRY(const OuterTrees* trees, run());
        GYM_TRY(const dispute::TracedTensor* residual,
                own_.tensor(OuterTree::kMomentum, op.primitive));
        GYM_TRY(dispute::ChunksOpening opening, chunk_of_row(*residual, at_.index));
        GYM_TRY(opening.path, commit::merkle_prove(trees->momentum, op.primitive));
        return Move(move::PostRow{op, std::move(opening)});
    }

    OuterWork& own_;
    const GameTranscript& transcript_;
    const Cursor& at_;
};

}  // namespace

Result<Move> plan_answer(UnitWork& own, const GameTranscript& transcript) {
    GYM_ASSERT(!transcript.at().answered, "an answer is due");
    GYM_TRY(Move move, Answer(own, transcript).plan());
    return checked_answer(transcript, std::move(move));
}

Result<Move> plan_answer(OuterWork& own, const GameTranscript& transcript) {
    GYM_ASSERT(!transcript.at().answered, "an answer is due");
    GYM_TRY(Move move, OuterAnswer(own, transcript).plan());
    return checked_answer(transcript, std::move(move));
}

}  // namespace gym::game
