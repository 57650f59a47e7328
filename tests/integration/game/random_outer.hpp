#pragma once

#include "random_game.hpp"
#include "sample_outer.hpp"

/// The same of aggregates.
namespace gym::game::testing {

/// A sample aggregate, under whose epoch there are commitments that no worker would have made.
class TracedOuter {
  public:
    /// @param domain of commitments. @param takes_late whether the record of the round before does.
    TracedOuter(const dispute::testing::Sample& kind, const crypto::Eip712Domain& domain,
                bool takes_late);

    SampleOuter sample;
    std::unique_ptr<RerunOuter> work;
    Bytes header;
};

class RandomOuter : private GameWriter {
  public:
    /// @param ending by which proof, modulo how many there are.
    RandomOuter(Rng& rng, TracedOuter& unit, std::uint64_t ending);
    /// As RandomGame::play().
    std::vector<Case> play();

  private:
    void choose_deltas();
    void choose_deltas(bool held);
    [[nodiscard]] std::vector<OuterDelta> computed_from();
    [[nodiscard]] std::uint32_t held() const;
    [[nodiscard]] const std::vector<protocol::SignedCommitment>& epoch(bool held) const {
        return held ? unit_.sample.previous_epoch : unit_.sample.epoch;
    }
    /// Changes a bit of a tensor that the outer step made, or of what the record says of it.
    void lie();
    void lie_about_residual();
    void declare();
    void prove_signer();
    void prove_slot();
    void descend_to_tensor();
    /// From a posted chunk of a tensor of floats.
    void prove_element();
    void prove_column();
    /// From a posted chunk of the update.
    void prove_update_byte();
    void prove_update(std::uint64_t element, const Bytes& posted, const Bytes& record,
                      std::vector<dispute::ChunksOpening> operands);
    /// With the row of the element, up to the outer state's root.
    [[nodiscard]] dispute::ChunksOpening update_chunk();
    [[nodiscard]] dispute::TracedTensor update() const;
    /// The parameter in whose rows a byte of the update lies.
    [[nodiscard]] const dispute::StateRecord& owner_of(std::uint64_t byte) const;
    [[nodiscard]] const dispute::TraceHeader& program() const { return unit_.work->trace().header; }
    [[nodiscard]] std::vector<Digest> leaves(OuterTree tree) const;
    [[nodiscard]] dispute::RecordProof slot_record() const;
    [[nodiscard]] OuterFrame frame() const { return *transcript_->outer(); }

    TracedOuter& unit_;
    std::uint64_t ending_;
    std::vector<OuterDelta> deltas_;
    OuterTrees trees_;
    std::vector<Digest> joint_;
    OuterTree tree_;
    std::uint32_t number_ = 0;  ///< of the tensor in its tree
    std::uint32_t parameter_ = 0;
    std::uint64_t element_ = 0;  ///< of an update: a byte
    std::optional<dispute::TracedTensor> tensor_, residual_;
};

}  // namespace gym::game::testing
