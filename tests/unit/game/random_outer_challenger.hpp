#pragma once

#include <random>

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
        trees_ = must(own_.run(transcript.included()));
        switch (transcript.at().stage) {
            case Stage::kOuter:
                return one_of(3) ? included() : outer();
            case Stage::kIncluded:
                return signer(transcript);
            case Stage::kOuterState:
                return tensors();
            case Stage::kColumn:
                return one_of(2) ? column() : element();
            default:
                return transcript.at().height > 0 ? chunks() : pick_element();
        }
    }

  private:
    Move signer(const GameTranscript& transcript) {
        const protocol::RoundRecord& record =
            *own_.record_of(transcript.at().leaves == kHeldLeaves);
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
        height_ = node.height;
        Pick to{node.index, tree.node(node.height, node.index), {}, {}, {}};
        for (; node.height < at().height; ++node.height, node.index /= 2)
            to.path.push_back(tree.node(node.height, node.index ^ 1));
        return to;
    }
    Move included() {
        std::vector<Digest> roots;
        Bytes slots;
        for (const OuterDelta& delta : transcript_->included()) {
            roots.push_back(delta.root);
            for (int shift = 24; shift >= 0; shift -= 8)
                slots.push_back(static_cast<std::uint8_t>(delta.slot >> shift));
        }
        const auto position = static_cast<std::uint32_t>(rng_() % roots.size());
        return move::PickIncluded{*transcript_->outer(), slots, position, roots[position],
                                  must(commit::merkle_prove(roots, position))};
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
        if (tree == OuterTree::kBoth)
            leaves.insert(leaves.end(), trees_->momentum.begin(), trees_->momentum.end());
        Pick to = child(commit::MerkleTree(std::move(leaves)));
        if (height_ > 0) return move::PickNode{std::move(to)};
        if (tree != OuterTree::kBoth)
            return move::PickOuterTensor{*transcript_->outer(), header(), to, slot(to.index)};
        const std::uint64_t count = trees_->base.size();
        const auto& side = to.index < count ? trees_->base : trees_->momentum;
        const Pick source{to.index % count,
                          side[to.index % count],
                          must(commit::merkle_prove(side, to.index % count)),
                          {},
                          {}};
        return move::ProveOuterSlot{*transcript_->outer(), transcript_->outer_facts(), header(), to,
                                    source};
    }
    Move chunks() {
        const auto& tensor =
            *must(own_.tensor(transcript_->outer()->tree, transcript_->op()->primitive));
        return move::PickNode{child(commit::MerkleTree(tensor.chunk_leaves))};
    }
    Move pick_element() {
        const std::uint64_t first = at().index * commit::kChunkBytes / 4;
        return move::PickElement{*transcript_->op(), *transcript_->outer(),
                                 first + rng_() % (transcript_->chunk().size() / 4),
                                 transcript_->chunk()};
    }
    Move column() {
        const std::uint32_t parameter = transcript_->op()->primitive;
        const auto position = static_cast<std::uint32_t>(rng_() % transcript_->included().size());
        return move::ProveColumn{*transcript_->op(),
                                 *transcript_->outer(),
                                 header(),
                                 transcript_->values(),
                                 position,
                                 slot(parameter),
                                 must(own_.delta_element(position, parameter, at().index))};
    }
    Move element() {
        auto before = must(own_.before(transcript_->op()->primitive, at().index));
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
