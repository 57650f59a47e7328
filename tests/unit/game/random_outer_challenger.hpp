#pragma once

#include <random>

#include "gym/codec/row_layout.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/game/outer_tensors.hpp"
#include "players.hpp"
#include "posted_tree.hpp"
#include "rules_common.hpp"

namespace gym::game::testing {

/// Any legal move, and proofs of everything, from data that both sides have.
class RandomOuterChallenger {
  public:
    RandomOuterChallenger(OuterWork& own, std::mt19937_64& rng) : own_(own), rng_(rng) {}

    Move choose(const GameTranscript& transcript) {
        transcript_ = &transcript;
        trees_ = must(own_.run(own_.included()));
        switch (transcript.at().stage) {
            case Stage::kOuter:
                if (one_of(4) && transcript.at().height > 0) return deltas();
                return one_of(3) ? included() : outer();
            case Stage::kIncluded:
                return signer(transcript);
            case Stage::kOuterState:
                return tensors();
            case Stage::kColumn:
                return one_of(2) ? column() : element();
            case Stage::kRow:
                return one_of(2) ? row_byte() : row_element();
            default:
                return transcript.at().height > 0 ? chunks() : in_chunk();
        }
    }

  private:
    Move signer(const GameTranscript& transcript) {
        const protocol::RoundRecord& record = *own_.record_of(transcript.at().height != 0);
        const auto shown = must(rules::read_commitment(transcript.commitment()));
        return move::ProveSigner{
            transcript.outer_facts(), protocol::encode(protocol::head_of(record)),
            protocol::prove_slot(record, shown.commitment.slot), transcript.commitment()};
    }
    bool one_of(std::uint64_t n) { return rng_() % n == 0; }
    [[nodiscard]] const Cursor& at() const { return transcript_->at(); }
    Bytes header() { return encode(own_.trace().header); }
    Pick child(const commit::MerkleTree& tree) {
        const ChildRange range =
            children_of({at().height, at().index}, at().leaves, kAnswerLevelsMax);
        NodePlace node{at().height, at().index};
        if (range.count > 0) node = {range.height, range.first + rng_() % range.count};
        // An update is the last of many tensors.
        if (range.count > 0 && one_of(3)) node.index = range.first + range.count - 1;
        height_ = node.height;
        Pick to{node.index, tree.node(node.height, node.index), {}, {}, {}};
        for (; node.height < at().height; ++node.height, node.index /= 2)
            to.path.push_back(tree.node(node.height, node.index ^ 1));
        return to;
    }
    Move included() {
        const Bytes slots = slots_of(own_.included());
        const auto position = static_cast<std::uint32_t>(rng_() % own_.included().size());
        return move::PickIncluded{*transcript_->outer(), slots, position};
    }
    /// Some node over the included deltas, not a leaf.
    Move deltas() {
        std::vector<Digest> roots;
        for (const OuterDelta& delta : own_.included())
            roots.push_back(delta.root);
        const commit::MerkleTree tree(std::move(roots));
        const auto height = static_cast<unsigned>(1 + rng_() % at().height);
        if (height == at().height) return outer();
        const std::uint64_t first = at().index << (at().height - height);
        const std::uint64_t all = (tree.leaf_count() + (1ULL << height) - 1) >> height;
        const std::uint64_t some =
            std::min(all - first, std::uint64_t{1} << (at().height - height));
        NodePlace node{height, first + rng_() % some};
        Pick to{node.index, tree.node(node.height, node.index), {}, {}, {}};
        for (; node.height < at().height; ++node.height, node.index /= 2)
            to.path.push_back(tree.node(node.height, node.index ^ 1));
        return move::PickNode{std::move(to)};
    }
    Move outer() {
        return move::PickOuter{*transcript_->outer(), transcript_->outer_facts(), header(),
                               static_cast<OuterTree>(1 + rng_() % 3)};
    }
    dispute::RecordProof slot(std::uint64_t parameter) {
        std::uint32_t i = 0;
        while (own_.trace().state[i].delta_offset == 0 ||
               own_.trace().state[i].parameter != parameter)
            ++i;
        return must(own_.records().state(i));
    }
    Move tensors() {
        const OuterTree tree = transcript_->outer()->tree;
        std::vector<Digest> leaves = tree == OuterTree::kMomentum ? trees_->momentum : trees_->base;
        const dispute::TraceHeader& program = own_.trace().header;
        if (tree == OuterTree::kBoth)
            leaves.insert(leaves.end(), trees_->momentum.begin(), trees_->momentum.end());
        Pick to = child(commit::MerkleTree(std::move(leaves)));
        if (height_ > 0) return move::PickNode{std::move(to)};
        if (is_update(program, tree, to.index))
            return move::PickOuterTensor{*transcript_->outer(), header(), to, {}};
        if (tree != OuterTree::kBoth)
            return move::PickOuterTensor{*transcript_->outer(), header(), to,
                                         slot(parameter_of(program, tree, to.index))};
        const std::uint64_t count = trees_->base.size();
        const bool base = to.index < count;
        const auto& side = base ? trees_->base : trees_->momentum;
        const std::uint64_t index = base ? to.index : to.index - count;
        const Pick source{index, side[index], must(commit::merkle_prove(side, index)), {}, {}};
        return move::ProveOuterSlot{*transcript_->outer(), transcript_->outer_facts(), header(), to,
                                    source};
    }
    Move chunks() {
        const auto& tensor =
            *must(own_.tensor(transcript_->outer()->tree, transcript_->op()->primitive));
        return move::PickNode{child(commit::MerkleTree(tensor.chunk_leaves))};
    }
    [[nodiscard]] const dispute::TraceHeader& program() const { return own_.trace().header; }
    [[nodiscard]] OuterTree tree() const { return transcript_->outer()->tree; }
    [[nodiscard]] std::uint32_t number() const { return transcript_->op()->primitive; }
    [[nodiscard]] std::uint32_t parameter() const {
        return static_cast<std::uint32_t>(parameter_of(program(), tree(), number()));
    }
    Move in_chunk() {
        if (is_update(program(), tree(), number())) return in_update();
        if (!has_update(program()) || tree() != OuterTree::kBase || one_of(4))
            return pick_element();
        const std::uint64_t element =
            at().index * commit::kChunkBytes / 4 + rng_() % (transcript_->chunk().size() / 4);
        auto before = must(own_.before(number(), element));
        return update(element, transcript_->chunk(), slot(number()).record,
                      {std::move(before.base), update_chunk(number(), element)});
    }
    /// A row, or a byte that no row has.
    Move in_update() {
        const std::uint64_t byte =
            at().index * commit::kChunkBytes + rng_() % transcript_->chunk().size();
        const auto place = codec::row_of(byte);
        if (!place || place->row == 0) return update(byte, transcript_->chunk(), {}, {});
        std::uint32_t owner = 0;
        const auto record = [&] {
            return must(
                dispute::decode_state_record(slot(owner).record, program::DeltaCodec::kDense));
        };
        while (byte >= dispute::delta_end(program().delta_codec, record()))
            ++owner;
        return move::PickRow{*transcript_->op(),
                             *transcript_->outer(),
                             transcript_->outer_facts(),
                             header(),
                             place->row - codec::row_of(record().delta_offset)->row,
                             slot(owner)};
    }
    Move row_byte() {
        return move::ProveRow{static_cast<std::uint8_t>(rng_() % codec::kRowBytes),
                              transcript_->chunk(), transcript_->residuals()};
    }
    Move row_element() {
        const Bytes& values = transcript_->residuals();
        return move::PickElement{*transcript_->op(), *transcript_->outer(),
                                 at().index * codec::kRowElements + rng_() % (values.size() / 4),
                                 values};
    }
    Move update(std::uint64_t element, const Bytes& posted, const Bytes& record,
                std::vector<dispute::ChunksOpening> operands) {
        return move::ProveUpdate{*transcript_->op(),
                                 *transcript_->outer(),
                                 transcript_->outer_facts(),
                                 header(),
                                 record,
                                 element,
                                 posted,
                                 std::move(operands)};
    }
    /// With the row of an element, up to the outer state's root.
    dispute::ChunksOpening update_chunk(std::uint32_t parameter, std::uint64_t element) {
        const std::uint64_t last = update_number(program());
        const auto& tensor =
            *must(own_.tensor(OuterTree::kMomentum, static_cast<std::uint32_t>(last)));
        const auto record =
            must(dispute::decode_state_record(slot(parameter).record, program::DeltaCodec::kDense));
        auto opening = must(dispute::open_chunk(
            tensor.bytes(), dispute::delta_span(program::DeltaCodec::kDense, record, element).begin,
            1));
        opening.path = must(commit::merkle_prove(trees_->momentum, last));
        return opening;
    }
    Move pick_element() {
        const std::uint64_t first = at().index * commit::kChunkBytes / 4;
        return move::PickElement{*transcript_->op(), *transcript_->outer(),
                                 first + rng_() % (transcript_->chunk().size() / 4),
                                 transcript_->chunk()};
    }
    Move column() {
        const std::uint32_t parameter = this->parameter();
        const auto position = static_cast<std::uint32_t>(rng_() % own_.included().size());
        return move::ProveColumn{*transcript_->op(),
                                 *transcript_->outer(),
                                 header(),
                                 transcript_->values(),
                                 position,
                                 slot(parameter),
                                 must(own_.delta_element(position, parameter, at().index))};
    }
    Move element() {
        auto before = must(own_.before(parameter(), at().index));
        if (is_residual(program(), tree(), number()))
            return update(at().index, transcript_->values(), slot(parameter()).record,
                          {std::move(before.momentum), std::move(before.residual),
                           update_chunk(parameter(), at().index)});
        return move::ProveOuter{
            *transcript_->op(),    *transcript_->outer(),  transcript_->outer_facts(), header(),
            transcript_->values(), std::move(before.base), std::move(before.momentum)};
    }

    OuterWork& own_;
    std::mt19937_64& rng_;
    const GameTranscript* transcript_ = nullptr;
    const OuterTrees* trees_ = nullptr;
    unsigned height_ = 0;
};

}  // namespace gym::game::testing
