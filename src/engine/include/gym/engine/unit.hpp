#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/positions.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/train.hpp"

namespace gym::blob {
class Dataset;
}

namespace gym::engine {

/// A unit of training: `steps` inner optimizer steps from a public base state. A pure function of
/// this, the program, the base state and the dataset: whoever runs it gets the same bits.
struct UnitSpec {
    Digest job_seed;
    std::uint64_t round = 0;
    std::uint32_t slot = 0;
    std::uint32_t steps = 0;  ///< 1 .. kUnitStepsMax
    std::uint32_t checkpoint_every =
        0;  ///< gradient and state roots every so many steps, always at the last
    Digest program_root;
    Digest dataset_root;
    Digest base_state_root;  ///< state_root of the base state (parameters alone)

    friend bool operator==(const UnitSpec&, const UnitSpec&) = default;
};

struct UnitProgress {
    std::uint64_t step = 0;  ///< steps done
    std::uint64_t steps = 0;
    float loss = 0;
    double tokens_per_second = 0;
};

/// Position of a run after `records.size()` steps. A run that resumes here gives the bits of
/// a run that was never interrupted.
struct UnitPosition {
    State state;  ///< the training state after those steps
    std::vector<StepRecord> records;
};

struct RunOptions {
    EngineOptions engine;
    /// Goes on from here; borrowed during the call. nullptr: from the base state.
    const UnitPosition* resume = nullptr;
    /// After every step, after the two below: the trainer, whose state() it may ask for, and all
    /// records so far, borrowed.
    std::function<void(const Trainer&, std::span<const StepRecord>)> after_step;
    std::function<void(const UnitProgress&)> progress;  ///< after every step
    std::function<void(const StepRecord&)> on_record;   ///< after every step
    std::function<void(const TraceEntry&)> trace;       ///< the macro outputs of `trace_step`
    std::uint64_t trace_step = ~std::uint64_t{0};       ///< none by default
    std::stop_token cancel;  ///< looked at before the first and after every step
};

struct UnitResult {
    std::vector<StepRecord> records;
    Digest records_root;
    State final_state;  ///< the training state after the last step
    Digest final_state_root;
    Bytes delta;  ///< codec 0, see encode_delta
    Digest delta_root;
    std::uint32_t delta_norm_bits = 0;  ///< exact L2 norm of the delta (see delta_norm_bits)
    std::uint64_t tokens = 0;
    std::uint64_t flops = 0;
    float last_loss = 0;
};

/// Runs a unit. The inner optimizer state is fresh.
/// @errors kMismatch: program, dataset or base state do not hash to the spec's roots.
/// kInvalidArgument: zero steps, zero batch. kOutOfRange: too many steps, the dataset shorter than
/// one window, memory. kCancelled. Of a position to go on from: kMismatch unless its records are
/// those of the first steps in order, and its state hashes to the last record's root where there is
/// one; kShapeMismatch.
[[nodiscard]] Result<UnitResult> run_unit(const program::Program& train, const State& base,
                                          const blob::Dataset& dataset, const UnitSpec& spec,
                                          const RunOptions& options = {});

inline constexpr std::uint32_t kDeltaCodecRaw = 0;

/// Codec 0: theta_end - theta_base per element (one f32 subtraction), parameters in slot order,
/// canonical bytes. `end` may be a training state or a base state.
[[nodiscard]] Result<Bytes> encode_delta(const program::Program& train, const State& base,
                                         const State& end);
/// The delta's tensors, shaped like the program's parameters. @errors kMalformed, kShapeMismatch.
[[nodiscard]] Result<State> decode_delta(const program::Program& train, ByteView delta);
/// Bits of sqrt of the exact sum of squares over all elements; NaN if any element is not finite.
/// Inclusion rules compare it with a bound: `!(norm <= bound)` rejects NaN too.
[[nodiscard]] std::uint32_t delta_norm_bits(const State& delta);

struct AggregateResult {
    State base;
    State momentum;
    Digest base_root;
    Digest momentum_root;
    std::vector<StepRecord> records;  ///< one: state_root = root over base then momentum tensors
    Digest records_root;
    std::uint64_t flops = 0;
};

/// The outer step as a unit of its own: exact mean of `deltas` (decoded, slot order) and Nesterov.
/// `train` is the job's program; `momentum` may be empty (zeros: round 0).
/// @errors kShapeMismatch, kInvalidArgument for no deltas.
[[nodiscard]] Result<AggregateResult> run_aggregate(const program::Program& train,
                                                    const State& base, const State& momentum,
                                                    std::span<const State> deltas,
                                                    const EngineOptions& options = {});

/// All-zero momentum shaped like `base`.
[[nodiscard]] State zero_momentum(const State& base);

}  // namespace gym::engine
