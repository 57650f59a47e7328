#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "gym/game/unit_work.hpp"

namespace gym::game {

/// Options that do not change a bit of the results.
struct RerunWorkOptions {
    engine::EngineOptions engine;
    /// Files for tensors and states that are too large for memory.
    dispute::SpillOptions spill;
    /// Room for states between steps (at most 16 of them), from which a step is reached; in files
    /// where they are larger than spill.heap_bytes_max together.
    std::uint64_t checkpoint_bytes_max = std::uint64_t{4} << 30;
    std::function<void(const engine::UnitProgress&)> progress;  ///< after every step that is run
    std::stop_token cancel;                                     ///< looked at before every step
};

/// Runs a unit again for a dispute. All answers of one game cost one run of the unit (for
/// the roots after its steps), the steps from the last checkpoint up to the disputed one, and two
/// more runs of that step. Where the engine gives other bits than the primitives (a broken device),
/// it claims the engine's: what was committed to. Not thread-safe.
class RerunWork final : public UnitWork {
  public:
    /// @param unit its parts outlive the object.
    /// @errors of trace_program(); kShapeMismatch if the base state is not the program's.
    [[nodiscard]] static Result<std::unique_ptr<RerunWork>> create(const engine::Unit& unit,
                                                                   RerunWorkOptions options = {});
    ~RerunWork() override;

    [[nodiscard]] const dispute::TraceProgram& trace() const override { return trace_; }
    [[nodiscard]] const dispute::TraceTrees& records() const override { return records_; }
    // @errors of run_unit(), kCancelled; kIo where a file finds no room.
    Result<const dispute::UnitStates*> states() override;
    // @errors also kOutOfRange if there is no such step, op or primitive.
    Result<const dispute::StepTrace*> step(std::uint32_t step) override;
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override;
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override;
    Result<const dispute::TracedTensor*> windows(std::uint32_t step) override;
    Result<const dispute::TracedTensor*> delta() override;
    Result<SlotElement> slot_element(std::uint32_t slot, std::uint64_t element) override;
    Result<dispute::ChunksOpening> dataset_chunk(std::uint64_t token) override;
    [[nodiscard]] std::uint64_t dataset_tokens() const override;

    /// Steps that have been run so far, a step's second run for its macro ops not counted.
    [[nodiscard]] std::uint64_t steps_run() const { return steps_run_; }

  private:
    /// The training state after some steps.
    struct Checkpoint {
        std::uint64_t steps = 0;
        dispute::TensorMemory bytes;
    };
    struct MacroPlace {
        std::uint32_t step = 0;
        std::uint32_t op = 0;
        friend bool operator==(const MacroPlace&, const MacroPlace&) = default;
    };
    RerunWork(const engine::Unit& unit, dispute::TraceProgram trace, const engine::State& fresh,
              RerunWorkOptions options);
    dispute::RerunOptions rerun_options();
    Status keep(std::uint64_t steps, const engine::Trainer& trainer);
    [[nodiscard]] engine::State restore(const Checkpoint& checkpoint) const;
    Result<engine::State> before(std::uint32_t step);
    Result<engine::State> final_state();
    Result<dispute::MacroTrace*> macro(std::uint32_t step, std::uint32_t leaf);
    Result<MacroPlace> place_of(std::uint32_t step, std::uint32_t leaf) const;

    engine::Unit unit_;
    dispute::TraceProgram trace_;
    dispute::TraceTrees records_;
    RerunWorkOptions options_;
    engine::State layout_;       ///< a training state without its bytes
    std::uint64_t spacing_ = 1;  ///< steps between checkpoints
    std::uint64_t steps_run_ = 0;
    std::uint64_t heap_bytes_ = 0;  ///< of checkpoints on the heap
    std::vector<Checkpoint> checkpoints_;
    std::optional<dispute::UnitStates> states_;
    std::optional<dispute::StepTrace> step_;
    std::optional<dispute::MacroTrace> macro_;
    MacroPlace macro_place_;
    std::optional<dispute::TensorTrace> tensor_;
    std::optional<dispute::TracedTensor> windows_, delta_;
};

}  // namespace gym::game
