#pragma once

#include <optional>

#include "liars.hpp"
#include "sample_outer.hpp"

/// Coordinators that commit to and post what no outer step gives.
namespace gym::game::testing {

/// Answers with the honest run's data where nothing else was put in its place.
class OuterLiar final : public OuterWork {
  public:
    explicit OuterLiar(OuterWork& honest) : work_(honest) {}

    std::optional<std::vector<OuterDelta>> list;  ///< what it says was included
    std::optional<OuterTrees> trees;
    std::map<std::pair<OuterTree, std::uint32_t>, dispute::TracedTensor> tensors;
    std::optional<Bytes> values;                       ///< of whichever column is asked for
    std::optional<std::vector<Digest>> joint;          ///< tensors under its record's state root
    std::optional<std::vector<Digest>> posted_leaves;  ///< of the tree of what it includes
    std::vector<protocol::SignedCommitment> known_epoch, known_previous;
    std::optional<std::vector<std::optional<WithdrawnSource>>> reasons;  ///< of withdrawn deltas

    /// A copy of the honest run's roots, to be changed.
    OuterTrees& lie_about_roots() {
        if (!trees || !posted_leaves) {
            const OuterTrees& right = *must(work_.run(included()));
            if (!trees) trees = right;
        }
        return *trees;
    }
    /// Another leaf than the root of one of its deltas.
    void lie_about_leaf(std::size_t position, const Digest& leaf) {
        OuterTrees& roots = lie_about_roots();
        posted_leaves.emplace();
        for (const OuterDelta& delta : included())
            posted_leaves->push_back(delta.root);
        posted_leaves->at(position) = leaf;
        roots.deltas_root = commit::merkle_root(*posted_leaves);
    }
    /// Changes bytes of a tensor, and all roots above it.
    void lie_about(OuterTree tree, std::uint32_t parameter, std::uint64_t byte,
                   std::uint64_t count = 1) {
        lie_about_roots();
        put(tree, parameter, changed(*must(work_.tensor(tree, parameter)), byte, count));
    }
    /// Another content of a tensor, and all roots above it.
    void put(OuterTree tree, std::uint32_t number, const Bytes& bytes) {
        lie_about_roots();
        const dispute::TracedTensor& right = *must(work_.tensor(tree, number));
        auto memory = must(dispute::TensorMemory::copy(bytes, {}));
        put(tree, number,
            {right.shape, std::make_shared<const dispute::TensorMemory>(std::move(memory)),
             commit::chunk_leaves(bytes)});
    }
    void put(OuterTree tree, std::uint32_t number, const dispute::TracedTensor& tensor) {
        OuterTrees& roots = lie_about_roots();
        (tree == OuterTree::kBase ? roots.base : roots.momentum)[number] = tensor.root();
        tensors.insert_or_assign({tree, number}, tensor);
        std::vector<Digest> both = roots.base;
        both.insert(both.end(), roots.momentum.begin(), roots.momentum.end());
        roots.state_root = commit::merkle_root(both);
    }
    /// Lets held deltas count as much as the others, and adds those that are withdrawn.
    void lie_about_weights() {
        std::vector<OuterDelta> full(included().begin(), included().end());
        for (OuterDelta& delta : full) {
            delta.held = false;
            delta.age = 0;
        }
        OuterTrees roots = *must(work_.run(full));
        for (const OuterTree tree : {OuterTree::kBase, OuterTree::kMomentum}) {
            const auto& leaves = tree == OuterTree::kBase ? roots.base : roots.momentum;
            for (std::uint32_t i = 0; i < leaves.size(); ++i)
                tensors.insert_or_assign({tree, i}, *must(work_.tensor(tree, i)));
        }
        trees = std::move(roots);
    }
    /// Another tensor under the record's state root than under the commitment's.
    void lie_about_joint(std::size_t leaf, const Digest& root) {
        OuterTrees& roots = lie_about_roots();
        joint = roots.base;
        joint->insert(joint->end(), roots.momentum.begin(), roots.momentum.end());
        joint->at(leaf) = root;
        roots.state_root = commit::merkle_root(*joint);
    }

    [[nodiscard]] const dispute::TraceProgram& trace() const override { return work_.trace(); }
    [[nodiscard]] const dispute::TraceTrees& records() const override { return work_.records(); }
    [[nodiscard]] const protocol::RoundRecord* record_of(bool held) const override {
        return work_.record_of(held);
    }
    [[nodiscard]] const crypto::Eip712Domain& domain() const override { return work_.domain(); }
    [[nodiscard]] std::span<const protocol::SignedCommitment> epoch(bool held) const override {
        const auto& known = held ? known_previous : known_epoch;
        return known.empty() ? work_.epoch(held) : known;
    }
    [[nodiscard]] std::span<const OuterDelta> included() const override {
        return list ? *list : work_.included();
    }
    [[nodiscard]] std::span<const std::optional<WithdrawnSource>> withdrawn() const override {
        return reasons ? *reasons : work_.withdrawn();
    }
    Result<const OuterTrees*> run(std::span<const OuterDelta> deltas) override {
        if (posted_leaves) return &*trees;
        GYM_TRY(const OuterTrees* right, work_.run(deltas));
        return trees ? &*trees : right;
    }
    Result<const dispute::TracedTensor*> tensor(OuterTree tree, std::uint32_t parameter) override {
        const auto found = tensors.find({tree, parameter});
        if (found == tensors.end()) return work_.tensor(tree, parameter);
        return &found->second;
    }
    Result<Bytes> column(std::uint32_t parameter, std::uint64_t element) override {
        if (values) return *values;
        return work_.column(parameter, element);
    }
    Result<dispute::ChunksOpening> delta_element(std::uint32_t position, std::uint32_t parameter,
                                                 std::uint64_t element) override {
        return work_.delta_element(position, parameter, element);
    }
    Result<Before> before(std::uint32_t parameter, std::uint64_t element) override {
        return work_.before(parameter, element);
    }

    Player player() {
        return [this](const GameTranscript& transcript) -> Result<Move> {
            if (posted_leaves && transcript.at().stage == Stage::kUnit)
                return declaration(transcript);
            if (posted_leaves && transcript.at().stage == Stage::kOuter)
                return Move(move::Answer{answer_to(commit::MerkleTree(*posted_leaves),
                                                   {transcript.at().height, transcript.at().index},
                                                   kAnswerLevelsMax)});
            const bool of_joint = joint && transcript.at().stage == Stage::kOuterState &&
                                  transcript.outer()->tree == OuterTree::kBoth;
            if (!of_joint) return plan_answer(*this, transcript);
            return Move(move::Answer{answer_to(commit::MerkleTree(*joint),
                                               {transcript.at().height, transcript.at().index},
                                               kAnswerLevelsMax)});
        };
    }

  private:
    Move declaration(const GameTranscript& transcript) {
        const commit::MerkleTree tree(*posted_leaves);
        const std::uint32_t held = program::packed(groups_of(included()));
        engine::StepRecord record;
        record.batch_root =
            engine::included_root(posted_leaves->size(), groups_of(included()), tree.root());
        record.state_root = trees->state_root;
        return move::DeclareOuter{
            transcript.outer_facts(),
            engine::encode_step_record(record),
            tree.root(),
            answer_to(tree, {commit::tree_depth(tree.leaf_count()), 0}, kAnswerLevelsMax),
            slots_of(included()),
            held};
    }

    OuterWork& work_;
};

}  // namespace gym::game::testing
