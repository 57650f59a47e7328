#include <algorithm>

#include "challenger.hpp"
#include "gym/commit/dtype.hpp"
#include "gym/game/planner.hpp"
#include "gym/game/rules.hpp"
#include "outer_plan.hpp"
#include "rules_common.hpp"

/// What the challenger of an aggregate plays: an included delta that nobody committed to, else down
/// to the first element that the outer step does not give.
namespace gym::game {
namespace {

class OuterChallenge {
  public:
    OuterChallenge(OuterWork& own, const Line& line) : own_(own), line_(line), at_(line.at()) {}

    Result<Move> plan() {
        switch (at_.stage) {
            case Stage::kOuter:
                return outer();
            case Stage::kIncluded:
                return signer();
            case Stage::kOuterState:
                return tensors();
            case Stage::kChunks:
                return at_.height == 0 ? element() : chunks();
            case Stage::kColumn:
                return column();
            default:
                return fail(ErrorCode::kInternal, "the challenger has no move at this stage");
        }
    }

  private:
    [[nodiscard]] Bytes header() const { return encode(own_.trace().header); }
    [[nodiscard]] OuterTree tree() const { return line_.outer()->tree; }
    /// The outer step with the deltas that were declared.
    Result<const OuterTrees*> run() { return own_.run(line_.included()); }

    /// The state record of a parameter.
    [[nodiscard]] Result<dispute::RecordProof> record_of(std::uint64_t parameter) const {
        const auto& slots = own_.trace().state;
        const auto found = std::ranges::find_if(slots, [&](const dispute::StateRecord& record) {
            return record.delta_offset != 0 && record.parameter == parameter;
        });
        return own_.records().state(static_cast<std::uint32_t>(found - slots.begin()));
    }

    Result<Move> outer() {
        if (const auto unknown = first_not_committed_to()) return pick_included(*unknown);
        GYM_TRY(const OuterTrees* trees, run());
        const OuterFacts& facts = line_.outer_facts();
        OuterTree wrong = OuterTree::kNone;
        if (commit::merkle_root(trees->base) != facts.final_state_root)
            wrong = OuterTree::kBase;
        else if (commit::merkle_root(trees->momentum) != facts.momentum_after)
            wrong = OuterTree::kMomentum;
        else if (trees->state_root != line_.outer()->state_root)
            wrong = OuterTree::kBoth;
        if (wrong == OuterTree::kNone) return no_fault("in the outer step");
        return Move(move::PickOuter{*line_.outer(), facts, header(), wrong});
    }

    /// Position of the first included delta without a commitment that is right in all that can be
    /// seen of it. Who does not know the epoch's commitments believes that they are there.
    std::optional<std::uint32_t> first_not_committed_to() {
        const OuterFacts& facts = line_.outer_facts();
        const auto epoch = own_.epoch();
        if (epoch.empty() || epoch.size() != facts.epoch_leaves ||
            commit::merkle_root(epoch_leaves(epoch)) != facts.epoch_root)
            return std::nullopt;
        for (std::uint32_t i = 0; i < line_.included().size(); ++i) {
            const bool there = std::ranges::any_of(epoch, [&](const auto& one) {
                return is_commitment_to(one, line_.included()[i], facts.round_record) &&
                       !rules::signer_fault(own_.domain(), one, own_.round_record());
            });
            if (!there) return i;
        }
        return std::nullopt;
    }

    Result<Move> pick_included(std::uint32_t position) {
        const std::vector<Digest> roots = roots_of(line_.included());
        GYM_TRY(std::vector<Digest> path, commit::merkle_prove(roots, position));
        return Move(move::PickIncluded{*line_.outer(), slots_of(line_.included()), position,
                                       roots[position], std::move(path)});
    }

    /// The commitment that was shown is wrong, or somebody really committed to the delta.
    Result<Move> signer() {
        return Move(move::ProveSigner{line_.outer_facts(), protocol::encode(own_.round_record()),
                                      line_.commitment()});
    }

    Result<Move> tensors() {
        GYM_TRY(const OuterTrees* trees, run());
        const PostedTree leaves(line_, Stage::kOuterState, leaves_of(*trees, tree()));
        const auto first = leaves.first_difference(at_);
        if (!first) return no_fault("in the tensors that the outer step made");
        if (first->height > 0) return Move(move::PickNode{pick_below(leaves, *first, at_)});
        Pick leaf = pick_below(leaves, *first, at_);
        if (tree() == OuterTree::kBoth) return slot(*trees, std::move(leaf));
        GYM_TRY(dispute::RecordProof record, record_of(leaf.index));
        return Move(
            move::PickOuterTensor{*line_.outer(), header(), std::move(leaf), std::move(record)});
    }

    /// The trees that were committed to are right, so what the record has is not theirs.
    Result<Move> slot(const OuterTrees& trees, Pick leaf) {
        const std::uint64_t count = trees.base.size();
        const bool parameter = leaf.index < count;
        const std::vector<Digest>& right = parameter ? trees.base : trees.momentum;
        const std::uint64_t index = parameter ? leaf.index : leaf.index - count;
        GYM_TRY(std::vector<Digest> path, commit::merkle_prove(right, index));
        Pick source{index, right[index], std::move(path), {}, {}};
        return Move(move::ProveOuterSlot{*line_.outer(), line_.outer_facts(), header(),
                                         std::move(leaf), std::move(source)});
    }

    Result<const dispute::TracedTensor*> disputed() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        return own_.tensor(tree(), line_.op()->primitive);
    }

    Result<Move> chunks() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        const PostedTree chunks(line_, Stage::kChunks, tensor->chunk_leaves);
        const auto first = chunks.first_difference(at_);
        if (!first) return no_fault("in the tensor's chunks");
        return Move(move::PickNode{pick_below(chunks, *first, at_)});
    }

    Result<Move> element() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        const ByteView mine = tensor->chunk(at_.index);
        const Bytes& theirs = line_.chunk();
        const auto wrong = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
        if (static_cast<std::size_t>(wrong) == mine.size()) return no_fault("in the chunk");
        const std::uint64_t byte =
            at_.index * commit::kChunkBytes + static_cast<std::uint64_t>(wrong);
        return Move(move::PickElement{*line_.op(), *line_.outer(), byte / sizeof(float), theirs});
    }

    Result<Move> column() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        const std::uint32_t parameter = line_.op()->primitive;
        GYM_TRY(const Bytes mine, own_.column(parameter, at_.index));
        const Bytes& theirs = line_.values();
        const auto wrong = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
        if (static_cast<std::size_t>(wrong) < mine.size())
            return value(parameter, static_cast<std::uint32_t>(wrong / sizeof(float)));
        GYM_TRY(OuterWork::Before before, own_.before(parameter, at_.index));
        return Move(move::ProveOuter{*line_.op(), *line_.outer(), line_.outer_facts(), header(),
                                     theirs, std::move(before.base), std::move(before.momentum)});
    }

    Result<Move> value(std::uint32_t parameter, std::uint32_t position) {
        GYM_TRY(dispute::RecordProof record, record_of(parameter));
        GYM_TRY(dispute::ChunksOpening delta, own_.delta_element(position, parameter, at_.index));
        return Move(move::ProveColumn{*line_.op(), *line_.outer(), header(), line_.values(),
                                      position, std::move(record), std::move(delta)});
    }

    OuterWork& own_;
    const Line& line_;
    const Cursor& at_;
};

}  // namespace

Result<Move> plan_challenge(OuterWork& own, const Line& line) {
    GYM_ASSERT(line.at().answered, "the challenger moves where there is an answer");
    GYM_TRY(Move move, OuterChallenge(own, line).plan());
    const auto ruling = decide(line.at(), move, &own.domain());
    if (ruling.ok()) return move;
    return no_move_wins(move, ruling.error());
}

}  // namespace gym::game
