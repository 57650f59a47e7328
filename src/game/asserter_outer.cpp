#include <algorithm>

#include "answers.hpp"
#include "gym/commit/codec.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/planner.hpp"
#include "outer_plan.hpp"

/// What the asserter of an aggregate answers: what its own outer step was made from and gives.
namespace gym::game {
namespace {

class OuterAnswer {
  public:
    OuterAnswer(OuterWork& own, const Line& line) : own_(own), line_(line), at_(line.at()) {}

    Result<Move> plan() {
        switch (at_.stage) {
            case Stage::kUnit:
                return declare();
            case Stage::kOuterState:
                return tree();
            case Stage::kIncluded:
                return show();
            case Stage::kTensor:
            case Stage::kChunks:
                return tensor();
            case Stage::kColumn:
                return column();
            default:
                return fail(ErrorCode::kInternal, "a cursor at no stage of an aggregate");
        }
    }

  private:
    Result<Move> declare() {
        const auto included = own_.included();
        GYM_TRY(const OuterTrees* trees, own_.run(included));
        engine::StepRecord record;
        record.batch_root = engine::included_root(included.size(), trees->deltas_root);
        record.state_root = trees->state_root;
        return Move(move::DeclareOuter{line_.outer_facts(), engine::encode_step_record(record),
                                       roots_of(included), slots_of(included)});
    }

    Result<Move> tree() {
        GYM_TRY(const OuterTrees* trees, own_.run(line_.included()));
        return answer_tree(at_, leaves_of(*trees, line_.outer()->tree));
    }

    Result<Move> show() {
        const OuterDelta delta{static_cast<std::uint32_t>(at_.index), at_.node};
        const auto epoch = own_.epoch();
        const auto found = std::ranges::find_if(epoch, [&](const auto& one) {
            return is_commitment_to(one, delta, line_.outer_facts().round_record);
        });
        if (found == epoch.end())
            return fail(ErrorCode::kMismatch,
                        "nobody committed to the delta in slot " + std::to_string(delta.slot));
        const auto index = static_cast<std::uint32_t>(found - epoch.begin());
        GYM_TRY(std::vector<Digest> path, commit::merkle_prove(epoch_leaves(epoch), index));
        return Move(move::ShowIncluded{line_.outer_facts(), index, protocol::encode(*found),
                                       std::move(path)});
    }

    Result<Move> tensor() {
        const OpFrame& op = *line_.op();
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, own_.run(line_.included()));
        GYM_TRY(const dispute::TracedTensor* tensor,
                own_.tensor(line_.outer()->tree, op.primitive));
        if (at_.stage == Stage::kTensor)
            return at_.leaves == 1 ? answer_chunk(at_, op, *tensor) : answer_tensor(op, *tensor);
        return at_.height == 0 ? answer_chunk(at_, op, *tensor)
                               : answer_tree(at_, tensor->chunk_leaves);
    }

    Result<Move> column() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, own_.run(line_.included()));
        GYM_TRY(Bytes values, own_.column(line_.op()->primitive, at_.index));
        return Move(move::PostColumn{std::move(values)});
    }

    OuterWork& own_;
    const Line& line_;
    const Cursor& at_;
};

}  // namespace

Result<Move> plan_answer(OuterWork& own, const Line& line) {
    GYM_ASSERT(!line.at().answered, "an answer is due");
    GYM_TRY(Move move, OuterAnswer(own, line).plan());
    return checked_answer(line, std::move(move));
}

}  // namespace gym::game
