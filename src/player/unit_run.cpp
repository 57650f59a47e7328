#include "gym/player/unit_run.hpp"

#include <optional>
#include <utility>

#include "gym/game/rerun_work.hpp"

namespace gym::player {
namespace {

class TrainRun final : public UnitRun {
  public:
    TrainRun(const engine::UnitSpec& spec, execution::TrainInputs inputs)
        : spec_(spec), inputs_(std::move(inputs)) {}

    Status prepare(const game::RerunWorkOptions& options) {
        GYM_TRY(work_, game::RerunWork::create(
                           {*inputs_.program, inputs_.base, *inputs_.dataset, spec_}, options));
        strategy_ = game::strategy_of(*work_);
        return {};
    }
    game::Strategy& strategy() override { return *strategy_; }

  private:
    const engine::UnitSpec spec_;
    const execution::TrainInputs inputs_;
    std::unique_ptr<game::RerunWork> work_;
    std::unique_ptr<game::Strategy> strategy_;
};

class AggregateRun final : public UnitRun {
  public:
    explicit AggregateRun(AggregateInputs inputs) : inputs_(std::move(inputs)) {}

    Status prepare(const Claim& claim, const crypto::Eip712Domain& domain, game::DeltaSource deltas,
                   const game::RerunWorkOptions& options) {
        record_ = *claim.round;
        held_ = claim.held;
        game::OuterInputs inputs{*inputs_.train, inputs_.base, inputs_.momentum,
                                 record_,        claim.epoch,  outer_deltas_of(claim),
                                 domain};
        if (held_) {
            inputs.previous_record = &held_->record;
            inputs.previous_epoch = held_->epoch;
        }
        inputs.withdrawn = claim.withdrawn;
        GYM_TRY(work_, game::RerunOuter::create(std::move(inputs), std::move(deltas), options));
        const Digest trace_root = dispute::trace_root(work_->trace().header);
        if (trace_root != record_.trace_root)
            return fail(ErrorCode::kMismatch, "the trace program has root " + trace_root.hex() +
                                                  ", the round record fixes " +
                                                  record_.trace_root.hex());
        strategy_ = game::strategy_of(*work_);
        return {};
    }
    game::Strategy& strategy() override { return *strategy_; }

  private:
    AggregateInputs inputs_;
    protocol::RoundRecord record_;
    std::optional<HeldRound> held_;
    std::unique_ptr<game::RerunOuter> work_;
    std::unique_ptr<game::Strategy> strategy_;
};

/// Whether both claims are about the same run. Signature, blocks and salt are not part of it.
bool same_run(const Claim& a, const Claim& b) {
    return a.subject == b.subject && a.key == b.key && a.evidence.record == b.evidence.record &&
           a.program_blob == b.program_blob && a.dataset_blob == b.dataset_blob &&
           a.base_state_blob == b.base_state_blob && a.momentum_blob == b.momentum_blob &&
           a.deltas == b.deltas && a.epoch == b.epoch && a.held == b.held &&
           a.withdrawn == b.withdrawn;
}

}  // namespace

Result<std::unique_ptr<UnitRun>> make_train_run(const engine::UnitSpec& spec,
                                                execution::TrainInputs inputs,
                                                const game::RerunWorkOptions& options) {
    auto run = std::make_unique<TrainRun>(spec, std::move(inputs));
    GYM_CHECK(run->prepare(options));
    return std::unique_ptr<UnitRun>(std::move(run));
}

Result<std::unique_ptr<UnitRun>> make_aggregate_run(const Claim& claim, AggregateInputs inputs,
                                                    const crypto::Eip712Domain& domain,
                                                    game::DeltaSource deltas,
                                                    const game::RerunWorkOptions& options) {
    auto run = std::make_unique<AggregateRun>(std::move(inputs));
    GYM_CHECK(run->prepare(claim, domain, std::move(deltas), options));
    return std::unique_ptr<UnitRun>(std::move(run));
}

Result<game::Strategy*> LatestRun::open(const Claim& claim, Make make) {
    if (run_ && same_run(claim_, claim)) return &run_->strategy();
    run_.reset();  // its memory before that of the next
    GYM_TRY(run_, make(claim));
    claim_ = claim;
    return &run_->strategy();
}

void LatestRun::release(const Claim& claim) {
    if (run_ && claim_.name() == claim.name()) run_.reset();
}

}  // namespace gym::player
