#include "answers.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/game/planner.hpp"
#include "posted_tree.hpp"

/// What the asserter answers: the nodes of the trees that its own run gives.
namespace gym::game {
namespace {

using commit::MerkleTree;

class Answer {
  public:
    Answer(UnitWork& own, const Line& line) : own_(own), line_(line), at_(line.at()) {}

    Result<Move> plan() {
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
            case Stage::kNone:
                break;  // of a game that is over
            case Stage::kOuter:
            case Stage::kOuterState:
            case Stage::kColumn:
            case Stage::kIncluded:
                break;  // of aggregates
        }
        return fail(ErrorCode::kInternal, "a cursor at no stage of a train unit");
    }

  private:
    using Leaves = Result<std::vector<Digest>>;

    [[nodiscard]] NodePlace here() const { return {at_.height, at_.index}; }
    [[nodiscard]] std::uint32_t step_number() const { return line_.step()->step; }

    Result<Move> declare() {
        GYM_TRY(const dispute::UnitStates* states, own_.states());
        const MerkleTree records(engine::record_chain(states->records));
        const MerkleTree after(states->state_roots);
        const NodePlace root{commit::tree_depth(records.leaf_count()), 0};
        return Move(move::DeclareStates{line_.facts(), after.root(),
                                        answer_to(records, root, kTwinLevelsMax),
                                        answer_to(after, root, kTwinLevelsMax)});
    }

    Result<Move> steps() {
        GYM_TRY(const dispute::UnitStates* states, own_.states());
        const MerkleTree records(engine::record_chain(states->records));
        const MerkleTree after(states->state_roots);
        return Move(move::AnswerSteps{line_.facts(), *line_.states_root(),
                                      answer_to(records, here(), kTwinLevelsMax),
                                      answer_to(after, here(), kTwinLevelsMax)});
    }

    Result<Move> open_step() {
        GYM_TRY(const dispute::StepTrace* step, own_.step(step_number()));
        const MerkleTree leaves(step->leaf_roots);
        const NodePlace root{commit::tree_depth(leaves.leaf_count()), 0};
        return Move(move::OpenStep{*line_.step(), line_.facts(), encode(own_.trace().header),
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
                own_.primitives(step_number(), line_.op()->leaf));
        return *primitives;
    }
    Leaves chunk_leaves() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        return tensor->chunk_leaves;
    }

    Result<Move> open_macro() {
        const OpFrame& op = *line_.op();
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
        const OpFrame& op = *line_.op();
        if (op.leaf == dispute::kNoLeaf) return own_.delta();
        if (op.count == 0) return own_.windows(step_number());
        GYM_TRY(const dispute::TensorTrace* tensor,
                own_.tensor(step_number(), op.leaf, op.primitive));
        return &tensor->output;
    }

    Result<Move> open_tensor() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        return answer_tensor(*line_.op(), *tensor);
    }

    Result<Move> post_chunk() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        return answer_chunk(at_, *line_.op(), *tensor);
    }

    UnitWork& own_;
    const Line& line_;
    const Cursor& at_;
};

}  // namespace

Result<Move> plan_answer(UnitWork& own, const Line& line) {
    GYM_ASSERT(!line.at().answered, "an answer is due");
    GYM_TRY(Move move, Answer(own, line).plan());
    return checked_answer(line, std::move(move));
}

}  // namespace gym::game
