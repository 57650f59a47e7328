// Work of one step of a unit whose other steps are made up, and faults that are put into it: for
// models that take too long to run a whole unit for every fault.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "faulty_work.hpp"
#include "gym/game/unit_work.hpp"

namespace gym::bench {

/// One step that was really run, from the unit's initial state, with the outputs of the ops that
/// `wanted` ones read. To a contract the step is in the middle of a unit: what is before and after
/// it are digests that nobody asks about.
class StepWork final : public game::UnitWork {
  public:
    static std::unique_ptr<StepWork> run(const engine::Unit& unit, dispute::TraceProgram trace,
                                         std::uint32_t step, const std::set<std::uint32_t>& wanted,
                                         dispute::MacroOptions options);

    [[nodiscard]] const dispute::TraceProgram& trace() const override { return trace_; }
    [[nodiscard]] const dispute::TraceTrees& records() const override { return records_; }
    Result<const dispute::UnitStates*> states() override { return &states_; }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override;
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override;
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override;
    Result<const dispute::TracedTensor*> windows(std::uint32_t step) override;
    Result<const dispute::TracedTensor*> delta() override;
    Result<SlotElement> slot_element(std::uint32_t slot, std::uint64_t element) override;
    Result<dispute::ChunksOpening> dataset_chunk(std::uint64_t token) override;
    [[nodiscard]] std::uint64_t dataset_tokens() const override { return 0; }

  private:
    StepWork(const engine::Unit& unit, dispute::TraceProgram trace, dispute::MacroOptions options)
        : unit_(unit), trace_(std::move(trace)), records_(trace_), options_(std::move(options)) {}
    Result<dispute::MacroTrace*> macro(std::uint32_t leaf);
    void make_up_unit(std::uint32_t step);

    engine::Unit unit_;
    dispute::TraceProgram trace_;
    dispute::TraceTrees records_;
    dispute::MacroOptions options_;
    dispute::UnitStates states_;
    std::optional<dispute::StepTrace> step_;
    std::map<std::uint32_t, dispute::TensorMemory> leaves_;
    std::optional<dispute::MacroTrace> macro_;
    std::uint32_t macro_op_ = 0;
    std::optional<dispute::TensorTrace> tensor_;
};

/// Where a bit of a primitive's output is wrong.
struct PlacedFault {
    std::uint32_t step = 0;
    std::uint32_t leaf = 0;       ///< the op's output that is the first to differ
    std::uint32_t primitive = 0;  ///< of the op; at most the leaf's writer
    std::uint64_t bit = 0;        ///< modulo the output's bits
};

/// A worker with that fault. All that follows from it is garbage, at every level: nobody looks.
class PlacedFaultWork final : public game::testing::WorkOf {
  public:
    PlacedFaultWork(game::UnitWork& honest, const PlacedFault& fault, std::uint64_t seed,
                    dispute::SpillOptions spill);
    Result<const dispute::UnitStates*> states() override { return &states_; }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override;
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override;
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override;

  private:
    PlacedFault fault_;
    dispute::UnitStates states_;
    dispute::StepTrace step_;
    std::vector<Digest> primitives_;
    dispute::TensorTrace tensor_;
};

}  // namespace gym::bench
