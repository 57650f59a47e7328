#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "gym/blob/verified_blob.hpp"
#include "gym/engine/state.hpp"
#include "gym/game/outer_work.hpp"
#include "gym/game/rerun_work.hpp"

namespace gym::game {

/// Finds a delta by its root. @errors of the store or peer that has it; kNotFound.
using DeltaSource = std::function<Result<blob::VerifiedBlob>(const OuterDelta& delta)>;

/// An aggregate unit with its inputs; references and pointers are borrowed.
struct OuterInputs {
    const program::Program& train;
    const engine::State& base;      ///< before the step
    const engine::State& momentum;  ///< outer state before the step; no tensors: zeros
    const protocol::RoundRecord& record;
    std::vector<protocol::SignedCommitment> epoch;  ///< may be empty: then no inclusion is disputed
    std::vector<OuterDelta> included;               ///< by slot, then held ones by slot
    crypto::Eip712Domain domain;
    const protocol::RoundRecord* previous_record = nullptr;  ///< of the round before; null: unknown
    std::vector<protocol::SignedCommitment> previous_epoch;  ///< of that round; may be empty
    std::vector<std::optional<WithdrawnSource>> withdrawn;   ///< OuterWork::withdrawn()
};

/// Runs an outer step again for a dispute, with engine::run_aggregate()'s bits. Memory:
/// base and outer state as they are given, the update, one tensor that is disputed; deltas beyond
/// options.spill.heap_bytes_max lie in files. Not thread-safe.
class RerunOuter final : public OuterWork {
  public:
    /// @errors of trace_program(); kShapeMismatch if base or momentum is not the program's;
    /// kInvalidArgument: not a train program, or included is not in order.
    [[nodiscard]] static Result<std::unique_ptr<RerunOuter>> create(OuterInputs inputs,
                                                                    DeltaSource deltas,
                                                                    RerunWorkOptions options = {});
    ~RerunOuter() override;

    [[nodiscard]] const dispute::TraceProgram& trace() const override { return trace_; }
    [[nodiscard]] const dispute::TraceTrees& records() const override { return records_; }
    [[nodiscard]] const protocol::RoundRecord* record_of(bool held) const override {
        return held ? inputs_.previous_record : &inputs_.record;
    }
    [[nodiscard]] const crypto::Eip712Domain& domain() const override { return inputs_.domain; }
    [[nodiscard]] std::span<const protocol::SignedCommitment> epoch(bool held) const override {
        return held ? inputs_.previous_epoch : inputs_.epoch;
    }
    [[nodiscard]] std::span<const OuterDelta> included() const override { return inputs_.included; }
    [[nodiscard]] std::span<const std::optional<WithdrawnSource>> withdrawn() const override {
        return inputs_.withdrawn;
    }
    // @errors kInvalidArgument: none, or too many; of the source; kShapeMismatch: bytes that are
    // not as long as a delta; kMismatch: not of the root; kCancelled; kIo where a file finds no
    // room.
    Result<const OuterTrees*> run(std::span<const OuterDelta> deltas) override;
    // @errors kConflict: nothing was run; kOutOfRange: no such parameter, element or delta.
    Result<const dispute::TracedTensor*> tensor(OuterTree tree, std::uint32_t number) override;
    Result<Bytes> column(std::uint32_t parameter, std::uint64_t element) override;
    Result<dispute::ChunksOpening> delta_element(std::uint32_t position, std::uint32_t parameter,
                                                 std::uint64_t element) override;
    Result<Before> before(std::uint32_t parameter, std::uint64_t element) override;

  private:
    /// A parameter after the step, with its momentum and residual; without an update the residual
    /// is empty.
    struct After {
        dispute::TensorMemory base, momentum, residual;
    };
    /// A tensor of a tree.
    struct Place {
        OuterTree tree = OuterTree::kNone;
        std::uint32_t number = 0;
        friend bool operator==(const Place&, const Place&) = default;
    };
    RerunOuter(OuterInputs inputs, DeltaSource source, dispute::TraceProgram trace,
               RerunWorkOptions options);
    Status fetch(std::span<const OuterDelta> deltas);
    Result<dispute::TensorMemory> fetch(const OuterDelta& delta);
    void read(std::uint32_t delta, const dispute::StateRecord& slot, std::uint64_t first,
              std::span<float> out) const;
    /// Writes the parameter's rows of the update, too.
    Result<After> make(std::uint32_t parameter);
    /// Writes rows of what the step made of elements `first`, ... to the update, adds what they say
    /// to the base and keeps what they leave.
    void publish(const dispute::StateRecord& slot, std::uint64_t first, std::span<float> steps,
                 After& after);
    Status begin_update();
    Result<dispute::TracedTensor> make(Place place);
    [[nodiscard]] const engine::State& momentum() const;
    [[nodiscard]] dispute::SpillOptions spill_for(std::uint64_t size_bytes) const;
    /// The state slot that is parameter number `parameter`. @errors kOutOfRange, kConflict.
    Result<const dispute::StateRecord*> slot_of(std::uint32_t parameter,
                                                std::uint64_t element = 0) const;

    OuterInputs inputs_;
    DeltaSource source_;
    dispute::TraceProgram trace_;
    dispute::TraceTrees records_;
    RerunWorkOptions options_;
    engine::State zeros_;                             ///< outer state where none was given
    std::vector<const dispute::StateRecord*> slots_;  ///< by parameter
    std::vector<OuterDelta> deltas_;                  ///< of the last run
    std::vector<dispute::TensorMemory> bytes_;        ///< of these
    std::optional<OuterTrees> trees_;
    std::shared_ptr<dispute::TensorMemory> update_;  ///< of the last run; null without one
    Place tensor_place_;
    std::optional<dispute::TracedTensor> tensor_, update_tensor_;
    std::vector<Digest> base_roots_, momentum_roots_;
};

}  // namespace gym::game
