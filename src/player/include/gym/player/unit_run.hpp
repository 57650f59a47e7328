#pragma once

#include <memory>

#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/execution/run.hpp"
#include "gym/game/rerun_outer.hpp"
#include "gym/game/strategy.hpp"
#include "gym/player/claim.hpp"
#include "gym/program/program.hpp"

/// Units of claims that are run again for the games about them.
namespace gym::player {

/// One unit's run, with everything that it borrows. Not thread-safe.
class UnitRun {
  public:
    virtual ~UnitRun() = default;
    /// Plays by this run; lives as long as the run.
    virtual game::Strategy& strategy() = 0;
};

/// Prepares the run of a claim's train unit. @errors those of game::RerunWork::create.
[[nodiscard]] Result<std::unique_ptr<UnitRun>> make_train_run(
    const engine::UnitSpec& spec, execution::TrainInputs inputs,
    const game::RerunWorkOptions& options);

/// The inputs of an aggregate, besides its deltas.
struct AggregateInputs {
    std::shared_ptr<const program::Program> train;
    engine::State base;      ///< before the step
    engine::State momentum;  ///< before the step; no tensors: zeros
};

/// Prepares the run of a claim's aggregate. Deltas are read when a game asks for them.
/// @param domain of commitments. @param deltas may refer to `claim` only by value.
/// @errors those of game::RerunOuter::create; kMismatch if the trace program is not the one that
/// the round record fixes.
[[nodiscard]] Result<std::unique_ptr<UnitRun>> make_aggregate_run(
    const Claim& claim, AggregateInputs inputs, const crypto::Eip712Domain& domain,
    game::DeltaSource deltas, const game::RerunWorkOptions& options);

/// Keeps the latest run, since a game asks for the same unit at every tick. Not thread-safe.
class LatestRun {
  public:
    using Make = FunctionRef<Result<std::unique_ptr<UnitRun>>(const Claim&)>;

    /// The strategy of the claim's run; calls `make` unless the latest run has the same inputs. The
    /// name is not enough: a claim may be filed again with another record or other deltas.
    /// @errors those of `make`; then no run is kept.
    Result<game::Strategy*> open(const Claim& claim, Make make);
    /// Forgets the run of the claim of this one's name.
    void release(const Claim& claim);

  private:
    Claim claim_;
    std::unique_ptr<UnitRun> run_;
};

}  // namespace gym::player
