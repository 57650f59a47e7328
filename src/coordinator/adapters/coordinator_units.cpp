#include "gym/coordinator/adapters/coordinator_units.hpp"

#include <utility>

#include "gym/blob/dataset.hpp"
#include "gym/engine/state.hpp"
#include "gym/execution/run.hpp"
#include "gym/game/transcript.hpp"
#include "gym/player/unit_run.hpp"
#include "gym/program/codec.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::coordinator {
namespace {

static_assert(registry::kJobSlotsMax <= game::kDeclaredSlotsMax, "a full round can be disputed");

class CoordinatorUnits final : public player::UnitSource {
  public:
    CoordinatorUnits(const blob::BlobStore& blobs, const crypto::Eip712Domain& domain,
                     game::RerunWorkOptions options)
        : blobs_(blobs), domain_(domain), options_(std::move(options)) {}

    Result<game::Strategy*> open(const player::Claim& claim) override {
        return latest_.open(claim, [this](const player::Claim& of) { return run(of); });
    }

    void release(const player::Claim& claim) override { latest_.release(claim); }

  private:
    Result<std::unique_ptr<player::UnitRun>> run(const player::Claim& claim) {
        if (claim.subject == player::Subject::kReport) return run_train(claim);
        if (claim.subject != player::Subject::kAggregate)
            return fail(ErrorCode::kInvalidArgument,
                        "the coordinator runs aggregates and units of false reports alone again");
        GYM_TRY(const Bytes bytes, blobs_.get(claim.program_blob));
        GYM_TRY(program::Program train, program::decode(bytes));
        player::AggregateInputs inputs{
            .train = std::make_shared<const program::Program>(std::move(train))};
        GYM_TRY(inputs.base, load(claim.base_state_blob));
        if (!claim.momentum_blob.is_zero()) {
            GYM_TRY(inputs.momentum, load(claim.momentum_blob));
        }
        const auto deltas = [this](const game::OuterDelta& delta) {
            return blobs_.load(delta.root);
        };
        return player::make_aggregate_run(claim, std::move(inputs), domain_, deltas, options_);
    }
    Result<std::unique_ptr<player::UnitRun>> run_train(const player::Claim& claim) {
        const protocol::UnitRecord& record = claim.evidence.record;
        const protocol::SlotAssignment* const slot = record.find_slot(claim.key.slot);
        if (slot == nullptr)
            return fail(ErrorCode::kMismatch,
                        "the round has no slot " + std::to_string(claim.key.slot));
        GYM_TRY(const Bytes bytes, blobs_.get(claim.program_blob));
        GYM_TRY(program::Program train, program::decode(bytes));
        GYM_TRY(const auto tokens, blobs_.load(claim.dataset_blob));
        GYM_TRY(blob::Dataset dataset, blob::Dataset::decode(tokens.bytes(), record.dataset_root));
        GYM_TRY(engine::State base, load(claim.base_state_blob));
        return player::make_train_run(
            execution::unit_spec(record, *slot),
            {std::make_shared<const program::Program>(std::move(train)),
             std::make_shared<const blob::Dataset>(std::move(dataset)), std::move(base)},
            options_);
    }
    Result<engine::State> load(const Digest& blob) {
        GYM_TRY(const Bytes bytes, blobs_.get(blob));
        return engine::decode_state(bytes);
    }

    const blob::BlobStore& blobs_;
    const crypto::Eip712Domain domain_;
    const game::RerunWorkOptions options_;
    player::LatestRun latest_;
};

}  // namespace

std::unique_ptr<player::UnitSource> make_coordinator_units(const blob::BlobStore& blobs,
                                                           const crypto::Eip712Domain& domain,
                                                           game::RerunWorkOptions options) {
    return std::make_unique<CoordinatorUnits>(blobs, domain, std::move(options));
}

}  // namespace gym::coordinator
