#include <gtest/gtest.h>

#include "gym/engine/batch.hpp"
#include "players.hpp"
#include "posted_tree.hpp"
#include "random_seed.hpp"

namespace gym::game {
namespace {

using commit::MerkleTree;
using dispute::LeafRecord;
using dispute::Source;
using testing::kSamples;
using testing::must;
using testing::SampleUnit;

/// Any legal move, and proofs of everything, from data that both sides have.
class RandomChallenger {
  public:
    RandomChallenger(UnitWork& own, std::mt19937_64& rng) : own_(own), rng_(rng) {}

    Move choose(const GameTranscript& transcript) {
        transcript_ = &transcript;
        switch (transcript.at().stage) {
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
            default:
                return transcript.at().height > 0 ? chunks() : element();
        }
    }

  private:
    [[nodiscard]] const Cursor& at() const { return transcript_->at(); }
    [[nodiscard]] std::uint32_t step_number() const { return transcript_->step()->step; }
    bool one_of(std::uint64_t n) { return rng_() % n == 0; }
    Bytes header() { return encode(own_.trace().header); }

    static std::vector<Digest> path(const MerkleTree& tree, NodePlace from, unsigned height) {
        std::vector<Digest> siblings;
        for (; from.height < height; ++from.height, from.index /= 2)
            siblings.push_back(tree.node(from.height, from.index ^ 1));
        return siblings;
    }
    static Pick pick(const MerkleTree& tree, NodePlace node, unsigned height) {
        return {node.index, tree.node(node.height, node.index), path(tree, node, height), {}, {}};
    }
    static Pick leaf_pick(const MerkleTree& tree, std::uint64_t leaf) {
        return pick(tree, {0, leaf}, commit::tree_depth(tree.leaf_count()));
    }
    /// A node that was listed below the cursor.
    NodePlace child(unsigned levels_max) {
        const ChildRange range = children_of({at().height, at().index}, at().leaves, levels_max);
        if (range.count == 0) return {at().height, at().index};
        return {range.height, range.first + rng_() % range.count};
    }

    Move steps() {
        if (one_of(8))
            return move::PickDelta{transcript_->facts(), *transcript_->states_root(), header()};
        const dispute::UnitStates& unit = *must(own_.states());
        const MerkleTree records(engine::record_chain(unit.records)), states(unit.state_roots);
        const auto both = [&](NodePlace node, unsigned height) {
            Pick to = pick(records, node, height);
            to.twin = states.node(node.height, node.index);
            to.twin_path = path(states, node, height);
            return to;
        };
        const NodePlace node = child(kTwinLevelsMax);
        if (node.height > 0) return move::PickNode{both(node, at().height)};
        move::PickStep move{transcript_->facts(),
                            {*transcript_->states_root(), both(node, at().height), {}}};
        if (node.index > 0)
            move.to.before = both({0, node.index - 1}, commit::tree_depth(records.leaf_count()));
        return move;
    }

    Move trace() {
        const dispute::StepTrace& step = *must(own_.step(step_number()));
        const MerkleTree leaves(step.leaf_roots);
        const dispute::TraceHeader& h = own_.trace().header;
        switch (rng_() % 8) {
            case 0: {
                const std::uint8_t field = static_cast<std::uint8_t>(rng_() % 4);
                const std::uint32_t leaf = field == 0   ? 0
                                           : field == 1 ? h.loss
                                           : field == 2 ? h.grad_norm
                                                        : std::min(h.skipped, h.leaves - 1);
                return move::ProveRecord{*transcript_->step(),    header(),
                                         transcript_->record(),   field,
                                         leaf_pick(leaves, leaf), must(own_.records().leaf(leaf))};
            }
            case 1: {
                const auto leaf = static_cast<std::uint32_t>(rng_() % h.input_leaves);
                return move::ProveInput{*transcript_->step(), transcript_->facts(), header(),
                                        leaf_pick(leaves, leaf), must(own_.records().leaf(leaf))};
            }
            case 2:
                return move::PickTree{*transcript_->step(), header(), {}};
            case 3:
                if (step.record.gradient_root)
                    return move::PickTree{*transcript_->step(), header(), transcript_->record()};
                break;
            default:
                break;
        }
        const NodePlace node = child(kAnswerLevelsMax);
        if (node.height > 0) return move::PickNode{pick(leaves, node, at().height)};
        const auto leaf = static_cast<std::uint32_t>(node.index);
        const LeafRecord::Kind kind = own_.trace().leaves[leaf].kind;
        if (kind == LeafRecord::Kind::kClock || kind == LeafRecord::Kind::kRandom)
            return move::ProveInput{*transcript_->step(), transcript_->facts(), header(),
                                    leaf_pick(leaves, leaf), must(own_.records().leaf(leaf))};
        return move::PickLeaf{*transcript_->step(), header(), pick(leaves, node, at().height),
                              must(own_.records().leaf(leaf))};
    }

    Pick source_of(const dispute::StepTrace& step, const Source& source) {
        const bool leaf = source.kind == Source::Kind::kLeaf;
        return leaf_pick(MerkleTree(leaf ? step.leaf_roots : step.before_roots), source.index);
    }

    Move state() {
        const dispute::StepTrace& step = *must(own_.step(step_number()));
        const MerkleTree slots(
            dispute::next_state_roots(own_.trace(), step.before_roots, step.leaf_roots));
        const NodePlace node = child(kAnswerLevelsMax);
        if (node.height > 0) return move::PickNode{pick(slots, node, at().height)};
        const auto slot = static_cast<std::uint32_t>(node.index);
        return move::ProveSlot{*transcript_->step(), header(), pick(slots, node, at().height),
                               must(own_.records().state(slot)),
                               source_of(step, own_.trace().state[slot].next)};
    }

    Move gradients() {
        const dispute::StepTrace& step = *must(own_.step(step_number()));
        std::vector<Digest> roots;
        for (const std::uint32_t leaf : own_.trace().gradients)
            roots.push_back(step.leaf_roots[leaf]);
        const MerkleTree tree(std::move(roots));
        const NodePlace node = child(kAnswerLevelsMax);
        if (node.height > 0) return move::PickNode{pick(tree, node, at().height)};
        const auto number = static_cast<std::uint32_t>(node.index);
        const Source source{Source::Kind::kLeaf, own_.trace().gradients[number], {}};
        return move::ProveGradient{*transcript_->step(), header(), pick(tree, node, at().height),
                                   must(own_.records().gradient(number)), source_of(step, source)};
    }

    Move primitives() {
        const OpFrame& op = *transcript_->op();
        const MerkleTree outputs(*must(own_.primitives(step_number(), op.leaf)));
        const NodePlace node = child(kAnswerLevelsMax);
        if (node.height > 0) return move::PickNode{pick(outputs, node, at().height)};
        const auto primitive = static_cast<std::uint32_t>(node.index);
        return move::PickPrimitive{op, header(), pick(outputs, node, at().height),
                                   must(own_.records().primitive(op.first + primitive))};
    }

    const dispute::TracedTensor& disputed() {
        const OpFrame& op = *transcript_->op();
        if (op.leaf == dispute::kNoLeaf) return *must(own_.delta());
        if (op.count == 0) return *must(own_.windows(step_number()));
        return must(own_.tensor(step_number(), op.leaf, op.primitive))->output;
    }
    Move chunks() {
        return move::PickNode{
            pick(MerkleTree(disputed().chunk_leaves), child(kAnswerLevelsMax), at().height)};
    }

    Move element() {
        const OpFrame& op = *transcript_->op();
        const std::uint64_t size = commit::size_bytes(op.shape->dtype);
        const std::uint64_t first = at().index * commit::kChunkBytes / size;
        const std::uint64_t element = first + rng_() % (transcript_->chunk().size() / size);
        if (op.leaf == dispute::kNoLeaf) return word(element / 4);
        if (op.count == 0) return token(element);
        const dispute::StepTrace& step = *must(own_.step(step_number()));
        const MerkleTree outputs(*must(own_.primitives(step_number(), op.leaf)));
        const auto& record = own_.trace().primitives[op.first + op.primitive];
        auto operands = must(dispute::open_operands(
            record, *must(own_.tensor(step_number(), op.leaf, op.primitive)), element,
            [&](const Source& source) -> Result<std::vector<Digest>> {
                if (source.kind == Source::Kind::kPrimitive) return outputs.prove(source.index);
                return source_of(step, source).path;
            }));
        return move::ProveElement{op,      *transcript_->step(), header(),           encode(record),
                                  element, transcript_->chunk(), std::move(operands)};
    }

    Move token(std::uint64_t element) {
        const dispute::TraceHeader& h = own_.trace().header;
        const Facts& facts = transcript_->facts();
        const std::uint64_t tokens = own_.dataset_tokens(), length = h.window_tokens + 1;
        const std::uint64_t starts = (tokens - tokens / 10 - length) / h.stride + 1;
        const std::uint64_t start =
            engine::window_start({facts.job_seed, facts.round, facts.slot}, step_number(),
                                 static_cast<std::uint32_t>(element / length), starts);
        return move::ProveToken{*transcript_->op(),
                                *transcript_->step(),
                                facts,
                                header(),
                                element,
                                transcript_->chunk(),
                                tokens,
                                must(own_.dataset_chunk(start * h.stride + element % length))};
    }

    Move word(std::uint64_t word) {
        move::ProveDelta move{*transcript_->op(),
                              transcript_->facts(),
                              header(),
                              word,
                              transcript_->chunk(),
                              {},
                              {},
                              {}};
        for (std::uint32_t slot = 0; slot < own_.trace().state.size(); ++slot) {
            const dispute::StateRecord& record = own_.trace().state[slot];
            const std::uint64_t begin = record.delta_offset;
            if (begin == 0 || word * 4 < begin || word * 4 >= begin + size_bytes(record.shape))
                continue;
            move.slot_record = must(own_.records().state(slot));
            auto sides = must(own_.slot_element(slot, (word * 4 - begin) / 4));
            move.final = std::move(sides.final);
            move.base = std::move(sides.base);
        }
        return move;
    }

    UnitWork& own_;
    std::mt19937_64& rng_;
    const GameTranscript* transcript_ = nullptr;
};

class Strategies : public ::testing::TestWithParam<dispute::testing::Sample> {};
INSTANTIATE_TEST_SUITE_P(Samples, Strategies, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Strategies, NoneWinsAgainstAnHonestAsserter) {
    std::mt19937_64 rng(gym::testing::random_seed());
    const SampleUnit unit(GetParam());
    const auto asserter = testing::rerun(unit), other = testing::rerun(unit);
    const Facts facts = testing::facts_of(unit, *asserter, must(asserter->states())->initial_root);
    RandomChallenger challenger(*other, rng);
    std::map<std::string, std::size_t> refused;
    const std::size_t games = 40 * gym::testing::test_scale();
    for (std::size_t game = 0; game < games; ++game) {
        GameTranscript transcript = testing::transcript_of(facts);
        for (std::size_t moves = 0; moves < testing::kMovesMax; ++moves) {
            const bool challenges = transcript.at().answered;
            const auto answer = challenges ? Result<Move>(challenger.choose(transcript))
                                           : plan_answer(*asserter, transcript);
            ASSERT_TRUE(answer.ok()) << answer.error().message;
            if (is_proof(*answer)) {
                const auto ruling = decide(transcript.at(), *answer);
                ASSERT_FALSE(ruling.ok()) << name_of(*answer) << " against an honest asserter";
                ++refused[std::string(name_of(*answer)) + ": " + ruling.error().message];
                break;
            }
            const Status played = transcript.play(*answer);
            ASSERT_TRUE(played.ok()) << name_of(*answer) << ": " << played.error().message;
        }
    }
    for (const auto& [what, count] : refused)
        std::cout << count << " " << what << std::endl;
    EXPECT_FALSE(refused.empty());
}

}  // namespace
}  // namespace gym::game
