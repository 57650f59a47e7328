#pragma once

#include <map>
#include <memory>
#include <optional>

#include "gym/commit/tensor_root.hpp"
#include "gym/dispute/macro_trace.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/rerun_work.hpp"
#include "gym/game/transcript.hpp"
#include "move_samples.hpp"
#include "must.hpp"
#include "sample_unit.hpp"

/// Games of real units in which the asserter lies anywhere and the challenger picks anything: more
/// than players would play, all of it well-formed.
namespace gym::game::testing {

using gym::testing::must;

/// A move where it was made.
struct Case {
    Cursor at;
    Move move;
};

/// A sample unit with its traces, computed once.
class TracedUnit {
  public:
    explicit TracedUnit(dispute::testing::SampleUnit sample);

    dispute::testing::SampleUnit sample;
    dispute::TraceTrees records;
    std::vector<dispute::StepTrace> steps;
    Bytes header;
    Bytes tokens;  ///< of the dataset

    /// Primitives of the macro op that writes `leaf`. Kept.
    dispute::MacroTrace& macro(std::uint32_t step, std::uint32_t leaf);
    [[nodiscard]] dispute::TracedTensor windows(std::uint32_t step) const;
    /// For the delta and what it is computed from.
    [[nodiscard]] UnitWork& work() { return *work_; }

  private:
    std::unique_ptr<RerunWork> work_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, dispute::MacroTrace> macros_;
};

/// Notes the moves of a game while it is played.
class GameWriter {
  protected:
    explicit GameWriter(Rng& rng) : rng_(rng) {}
    void descend_chunks(const dispute::TracedTensor& tensor, std::uint64_t chunk);
    /// Down to a node that has leaf `leaf` below it, to which a move of its own leads.
    void descend(const commit::MerkleTree& tree, std::uint64_t leaf, bool to_leaf);
    void move(const Move& move);
    [[nodiscard]] Pick leaf_pick(const commit::MerkleTree& tree, std::uint64_t leaf) const;
    [[nodiscard]] Pick root_pick(const commit::MerkleTree& tree, std::uint64_t leaf) const;
    std::uint64_t below(std::uint64_t n) { return rng_() % n; }

    Rng& rng_;
    std::optional<GameTranscript> transcript_;
    std::vector<Case> cases_;
};

/// Plays one game about a train unit.
class RandomGame : private GameWriter {
  public:
    /// @param ending by which proof, modulo how many there are; by an element more often.
    RandomGame(Rng& rng, TracedUnit& unit, std::uint64_t ending);
    /// The moves of a whole game; the last one is a proof, whether there is a fault or not.
    std::vector<Case> play();

  private:
    /// Something of the asserter's is another than it was.
    void lie();
    std::uint32_t input_leaf();
    void commit_to(const Digest& delta_root);
    void play_to_step();
    void prove_record();
    void prove_input();
    void prove_slot();
    void prove_gradient();
    void descend_to_element();
    void descend_to_token();
    void descend_to_delta();
    [[nodiscard]] StepFrame frame() const { return *transcript_->step(); }

    TracedUnit& unit_;
    std::uint64_t ending_ = 0;
    std::uint32_t step_ = 0;
    std::vector<engine::StepRecord> records_;
    std::vector<Digest> before_, leaves_, after_, gradients_;
    std::vector<Digest> states_;  ///< roots after every step
};

/// From the unit to a step of a long unit, or to a leaf of a tree of many, by random digests.
[[nodiscard]] std::vector<Case> random_descent(Rng& rng);

/// A long column of random values, of one part of which the asserter may say something wrong.
[[nodiscard]] std::vector<Case> random_parts(Rng& rng);

/// The answers of games about withheld data, one of each kind, with data of their own.
/// @param domain that commitments are signed for.
[[nodiscard]] std::vector<Case> random_withheld(Rng& rng, const crypto::Eip712Domain& domain);

/// A tensor of which one bit is another.
[[nodiscard]] dispute::TracedTensor with_flipped_bit(const dispute::TracedTensor& tensor,
                                                     std::uint64_t bit);
/// The children that an answer at `c` lists.
[[nodiscard]] std::vector<Digest> children_of(const commit::MerkleTree& tree, const Cursor& c,
                                              unsigned levels_max = kAnswerLevelsMax);

}  // namespace gym::game::testing
