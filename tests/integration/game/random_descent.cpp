#include "random_game.hpp"

namespace gym::game::testing {
namespace {

using commit::MerkleTree;

MerkleTree random_tree(Rng& rng, std::uint64_t leaves) {
    std::vector<Digest> digests(leaves);
    for (Digest& digest : digests)
        digest = random_digest(rng);
    return MerkleTree(std::move(digests));
}

/// Of a path up to the root the part between two heights.
std::vector<Digest> path_part(const MerkleTree& tree, std::uint64_t leaf, unsigned from,
                              unsigned to) {
    const auto path = must(tree.prove(leaf));
    return {path.begin() + from, path.begin() + to};
}

class Descent {
  public:
    explicit Descent(Rng& rng)
        : rng_(rng),
          size_(1 + rng() % (rng() % 4 == 0 ? 2000 : 200)),
          first_(random_tree(rng, size_)),
          second_(random_tree(rng, size_)),
          leaf_(rng() % size_) {}

    std::vector<Case> tree(Stage stage) {
        at_ = {stage, false, height(), 0, size_, first_.root(), {}, random_digest(rng_)};
        while (at_.height > 1) {
            play(move::Answer{children_of(first_, at_)});
            Pick down = pick(leaf_, lower(), at_.height);
            down.twin = {};
            down.twin_path.clear();
            play(move::PickNode{std::move(down)});
        }
        return std::move(cases_);
    }

    std::vector<Case> steps() {
        Facts facts;
        randomise(rng_, facts);
        facts.records_root = first_.root();
        facts.steps = static_cast<std::uint32_t>(size_);
        facts.final_state_root = second_.node(0, size_ - 1);
        at_ = start_of(random_digest(rng_), facts);
        Cursor root;
        root.height = height();
        play(move::DeclareStates{facts, second_.root(), children_of(first_, root, kTwinLevelsMax),
                                 children_of(second_, root, kTwinLevelsMax)});
        while (at_.height > 1 && rng_() % 4 != 0) {
            play(move::PickNode{pick(leaf_, lower(), at_.height)});
            play(move::AnswerSteps{facts, second_.root(), children_of(first_, at_, kTwinLevelsMax),
                                   children_of(second_, at_, kTwinLevelsMax)});
        }
        const Pick before = leaf_ == 0 ? Pick{} : pick(leaf_ - 1, 0, height());
        play(move::PickStep{facts, {second_.root(), pick(leaf_, 0, at_.height), before}});
        return std::move(cases_);
    }

  private:
    [[nodiscard]] std::uint8_t height() const {
        return static_cast<std::uint8_t>(commit::tree_depth(size_));
    }
    /// A height between the leaves and the cursor.
    unsigned lower() { return 1 + static_cast<unsigned>(rng_() % (at_.height - 1)); }
    [[nodiscard]] Pick pick(std::uint64_t leaf, unsigned from, unsigned to) const {
        return {leaf >> from, first_.node(from, leaf >> from), path_part(first_, leaf, from, to),
                second_.node(from, leaf >> from), path_part(second_, leaf, from, to)};
    }
    void play(const Move& move) {
        cases_.push_back({at_, move});
        at_ = std::get<Cursor>(must(decide(at_, move)));
    }

    Rng& rng_;
    std::uint64_t size_;
    MerkleTree first_, second_;
    std::uint64_t leaf_;
    Cursor at_;
    std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> random_descent(Rng& rng) {
    constexpr Stage kStages[] = {Stage::kTrace,      Stage::kGradients, Stage::kState,
                                 Stage::kPrimitives, Stage::kChunks,    Stage::kOuterState};
    if (rng() % 2 == 0) return Descent(rng).steps();
    return Descent(rng).tree(kStages[rng() % std::size(kStages)]);
}

}  // namespace gym::game::testing
