#include "claim_units.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "gym/execution/run.hpp"
#include "gym/game/rerun_outer.hpp"
#include "gym/node/delta_loader.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::node {
namespace {

/// A unit's run with what it refers to.
struct Held {
    explicit Held(const player::Claim& of) : claim(of) {}
    virtual ~Held() = default;
    const player::Claim claim;
    std::unique_ptr<game::Strategy> strategy;
};

struct HeldTrain final : Held {
    using Held::Held;
    engine::UnitSpec spec;
    execution::TrainInputs inputs;
    std::unique_ptr<game::RerunWork> work;
};

struct HeldOuter final : Held {
    using Held::Held;
    std::shared_ptr<const program::Program> program;
    engine::State base, momentum;
    records::UnitInputs units;  ///< of the round, for deltas that no one hands out
    std::unique_ptr<game::RerunOuter> work;
};

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
        if (held_ && held_->claim.name() == claim.name()) return held_->strategy.get();
        held_.reset();
        switch (claim.subject) {
            case player::Subject::kTrainUnit: {
                GYM_TRY(held_, open_train(claim));
                return held_->strategy.get();
            }
            case player::Subject::kAggregate: {
                GYM_TRY(held_, open_outer(claim));
                return held_->strategy.get();
            }
            case player::Subject::kConflict:
                break;
        }
        return fail(ErrorCode::kInvalidArgument, "a conflict has no unit that is run again");
    }

    /// Program and dataset stay for the next unit.
    void release(const player::Claim& claim) override {
        if (held_ && held_->claim.name() == claim.name()) held_.reset();
        std::vector<Digest> blobs{claim.base_state_blob, claim.momentum_blob};
        for (const protocol::IncludedDelta& delta : claim.deltas)
            blobs.push_back(delta.delta_root);
        for (const Digest& blob : blobs) {
            if (blob.is_zero() || claims_.needs(blob)) continue;
            const Status removed = cache_.store().remove(blob);
            if (!removed.ok())
                spdlog::warn("{}: a blob was not removed: {}", protocol::name_unit(claim.key),
                             removed.error().message);
        }
    }

  private:
    Result<std::unique_ptr<Held>> open_train(const player::Claim& claim) {
        auto held = std::make_unique<HeldTrain>(claim);
        held->spec = execution::unit_spec(claim.evidence.record, claim.key.slot);
        GYM_TRY(held->inputs, loader_.load_train(claim.evidence.record, inputs_of(claim)));
        GYM_TRY(held->work, game::RerunWork::create({*held->inputs.program, held->inputs.base,
                                                     *held->inputs.dataset, held->spec},
                                                    options_));
        held->strategy = game::strategy_of(*held->work);
        return std::unique_ptr<Held>(std::move(held));
    }

    Result<std::unique_ptr<Held>> open_outer(const player::Claim& claim) {
        auto held = std::make_unique<HeldOuter>(claim);
        const protocol::RoundRecord& record = held->claim.evidence.record;
        GYM_TRY(held->program, loader_.load_program(record, claim.program_blob));
        GYM_TRY(held->base, loader_.load_state(claim.base_state_blob, record.base_state_root));
        if (!claim.momentum_blob.is_zero()) {
            GYM_TRY(held->momentum, loader_.load_state(claim.momentum_blob, record.momentum_root));
        }
        game::OuterInputs inputs{*held->program, held->base,  held->momentum,
                                 record,         claim.epoch, player::outer_deltas_of(claim),
                                 domain_};
        held->units = inputs_of(claim);
        const auto source = [this, &of = *held](const game::OuterDelta& delta) {
            return deltas_.load({of.claim.evidence.record, of.units}, delta,
                                {options_.engine, options_.progress, options_.cancel});
        };
        GYM_TRY(held->work, game::RerunOuter::create(std::move(inputs), source, options_));
        const Digest trace_root = dispute::trace_root(held->work->trace().header);
        if (trace_root != record.trace_root)
            return fail(ErrorCode::kMismatch, "the trace program has root " + trace_root.hex() +
                                                  ", the round record fixes " +
                                                  record.trace_root.hex());
        held->strategy = game::strategy_of(*held->work);
        return std::unique_ptr<Held>(std::move(held));
    }

    rpc::BlobCache cache_;
    InputLoader loader_;
    DeltaLoader deltas_;
    const player::ClaimStore& claims_;
    const crypto::Eip712Domain domain_;
    const game::RerunWorkOptions options_;
    std::unique_ptr<Held> held_;
};

}  // namespace

std::unique_ptr<player::UnitSource> make_claim_units(rpc::BlobCache cache,
                                                     const player::ClaimStore& claims,
                                                     const crypto::Eip712Domain& domain,
                                                     game::RerunWorkOptions options) {
    return std::make_unique<ClaimUnits>(std::move(cache), claims, domain, std::move(options));
}

}  // namespace gym::node
