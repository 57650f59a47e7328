#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"

namespace gym::blob {
class Dataset;
}

namespace gym::engine {

struct TrainSpec {
    BatchKey key;
    /// Steps of the whole run: step `steps` - 1 is always a checkpoint, and the job's clock at step
    /// t is key.round * steps + t.
    std::uint32_t steps = 0;
    std::uint32_t checkpoint_every = 0;  ///< 0: only the last step
    std::uint64_t first_step = 0;        ///< steps that made the state already, at most `steps`
};

/// Trains step by step; run_unit() and `gym program run` are loops around it. Not thread-safe.
class Trainer {
  public:
    /// `dataset` must outlive the trainer.
    /// @errors kInvalidArgument: not a train program, zero steps, the dataset's vocabulary is
    /// larger than the program's. kNotFound: no such device. kOutOfRange: the dataset is shorter
    /// than one window; round, slot or steps beyond their bounds. kShapeMismatch: `state` is not
    /// the program's training state.
    static Result<Trainer> create(const program::Program& train, State state,
                                  const blob::Dataset& dataset, const TrainSpec& spec,
                                  const EngineOptions& options = {});
    static Result<Trainer> create(const program::Program& train, State state,
                                  blob::Dataset&& dataset, const TrainSpec& spec,
                                  const EngineOptions& options = {}) = delete;
    Trainer(Trainer&&) noexcept;
    Trainer& operator=(Trainer&&) noexcept;
    ~Trainer();

    /// Runs the next step. @errors kOutOfRange after the last one.
    Result<StepRecord> step();

    void set_trace(std::function<void(const TraceEntry&)> sink);
    /// The training state after the steps so far, borrowed until the next one. Copied from where it
    /// is trained if that is not the host. @errors kUnavailable when the device fails.
    [[nodiscard]] Result<const State*> state() const;
    /// Its root, computed where it is trained.
    [[nodiscard]] Result<Digest> state_root() const;
    [[nodiscard]] Result<State> take_state() &&;
    [[nodiscard]] std::uint64_t tokens_per_step() const;
    [[nodiscard]] std::uint64_t flops_per_step() const;

  private:
    struct Impl;
    explicit Trainer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::engine
