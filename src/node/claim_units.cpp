#include "claim_units.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "gym/execution/run.hpp"
#include "gym/node/delta_loader.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/player/unit_run.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::node {
namespace {

records::UnitInputs inputs_of(const player::Claim& claim) {
    records::UnitInputs inputs;
    inputs.program_blob = claim.program_blob;
    if (!claim.dataset_blob.is_zero()) inputs.dataset_blob = claim.dataset_blob;
    inputs.base_state_blob = claim.base_state_blob;
    return inputs;
}

class ClaimUnits final : public player::UnitSource {
  public:
    ClaimUnits(rpc::BlobCache cache, const player::ClaimStore& claims,
               const crypto::Eip712Domain& domain, game::RerunWorkOptions options)
        : cache_(std::move(cache)),
          loader_(cache_),
          deltas_(cache_, loader_),
          claims_(claims),
          domain_(domain),
          options_(std::move(options)) {}

    Result<game::Strategy*> open(const player::Claim& claim) override {
        return latest_.open(claim, [this](const player::Claim& of) { return run(of); });
    }

    /// Program and dataset stay for the next unit.
    void release(const player::Claim& claim) override {
        latest_.release(claim);
        std::vector<Digest> blobs{claim.base_state_blob, claim.momentum_blob};
        for (const protocol::IncludedDelta& delta : claim.deltas)
            blobs.push_back(delta.delta_root);
        std::ranges::copy(loader_.take_released(), std::back_inserter(blobs));
        for (const Digest& blob : blobs) {
            if (blob.is_zero() || claims_.needs(blob) || loader_.keeps(blob)) continue;
            const Status removed = cache_.store().remove(blob);
            if (!removed.ok())
                spdlog::warn("{}: a blob was not removed: {}", protocol::name_unit(claim.key),
                             removed.error().message);
        }
    }

  private:
    Result<std::unique_ptr<player::UnitRun>> run(const player::Claim& claim) {
        switch (claim.subject) {
            case player::Subject::kTrainUnit:
            case player::Subject::kReport:
                return run_train(claim);
            case player::Subject::kAggregate:
                return run_aggregate(claim);
            case player::Subject::kConflict:
            case player::Subject::kWithheld:
                break;
        }
        return fail(ErrorCode::kInvalidArgument, "a claim on " +
                                                     std::string(player::to_string(claim.subject)) +
                                                     " has no unit that is run again");
    }

    Result<std::unique_ptr<player::UnitRun>> run_train(const player::Claim& claim) {
        const protocol::UnitRecord& record = claim.evidence.record;
        const protocol::SlotAssignment* const slot = record.find_slot(claim.key.slot);
        if (slot == nullptr)
            return fail(ErrorCode::kMismatch, "the round has no slot " +
                                                  std::to_string(claim.key.slot) +
                                                  ": there is no unit to run");
        GYM_TRY(execution::TrainInputs inputs, loader_.load_train(record, *slot, inputs_of(claim)));
        return player::make_train_run(execution::unit_spec(record, *slot), std::move(inputs),
                                      options_);
    }

    Result<std::unique_ptr<player::UnitRun>> run_aggregate(const player::Claim& claim) {
        const protocol::RoundRecord& record = *claim.round;
        player::AggregateInputs inputs;
        GYM_TRY(inputs.train, loader_.load_program(record, claim.program_blob));
        GYM_TRY(inputs.base, loader_.load_state(claim.base_state_blob, record.base_state_root));
        if (!claim.momentum_blob.is_zero()) {
            GYM_TRY(inputs.momentum, loader_.load_state(claim.momentum_blob, record.momentum_root));
        }
        const auto deltas = [this, record, units = inputs_of(claim),
                             held = claim.held](const game::OuterDelta& delta) {
            const DeltaRunOptions run{options_.engine, options_.progress, options_.cancel};
            records::UnitInputs earlier = units;
            if (delta.is_withdrawn()) {
                // Its unit gives another delta: that is why.
                earlier.dataset_blob.reset();
                return deltas_.load({record, earlier}, delta, run);
            }
            if (!delta.held) return deltas_.load({record, units}, delta, run);
            earlier.base_state_blob = held->base_state_blob;
            // Without its base state a unit of that round cannot be run again.
            if (held->base_state_blob.is_zero()) earlier.dataset_blob.reset();
            return deltas_.load({held->record, earlier}, delta, run);
        };
        return player::make_aggregate_run(claim, std::move(inputs), domain_, deltas, options_);
    }

    rpc::BlobCache cache_;
    InputLoader loader_;
    DeltaLoader deltas_;
    const player::ClaimStore& claims_;
    const crypto::Eip712Domain domain_;
    const game::RerunWorkOptions options_;
    player::LatestRun latest_;
};

}  // namespace

std::unique_ptr<player::UnitSource> make_claim_units(rpc::BlobCache cache,
                                                     const player::ClaimStore& claims,
                                                     const crypto::Eip712Domain& domain,
                                                     game::RerunWorkOptions options) {
    return std::make_unique<ClaimUnits>(std::move(cache), claims, domain, std::move(options));
}

}  // namespace gym::node
