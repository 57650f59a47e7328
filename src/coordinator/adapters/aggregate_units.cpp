#include "gym/coordinator/adapters/aggregate_units.hpp"

#include <utility>

#include "gym/engine/state.hpp"
#include "gym/game/rerun_outer.hpp"
#include "gym/program/codec.hpp"

namespace gym::coordinator {
namespace {

/// An aggregate's run with what it refers to.
struct Held {
    player::Claim claim;
    program::Program program;
    engine::State base, momentum;  ///< before the step
    std::unique_ptr<game::RerunOuter> work;
    std::unique_ptr<game::Strategy> strategy;
};

class AggregateUnits final : public player::UnitSource {
  public:
    AggregateUnits(const blob::BlobStore& blobs, const crypto::Eip712Domain& domain,
                   game::RerunWorkOptions options)
        : blobs_(blobs), domain_(domain), options_(std::move(options)) {}

    Result<game::Strategy*> open(const player::Claim& claim) override {
        if (claim.subject != player::Subject::kAggregate)
            return fail(ErrorCode::kInvalidArgument, "the coordinator runs aggregates alone again");
        // The name alone is not enough: a claim may be made again about another signature.
        if (held_ && held_->claim.evidence == claim.evidence) return held_->strategy.get();
        held_.reset();
        GYM_TRY(const Bytes bytes, blobs_.get(claim.program_blob));
        GYM_TRY(program::Program program, program::decode(bytes));
        GYM_TRY(engine::State base, load(claim.base_state_blob));
        GYM_TRY(engine::State momentum, load(claim.momentum_blob));
        auto held = std::unique_ptr<Held>(
            new Held{claim, std::move(program), std::move(base), std::move(momentum), {}, {}});
        game::OuterInputs inputs{held->program,  held->base,
                                 held->momentum, held->claim.evidence.record,
                                 claim.epoch,    player::outer_deltas_of(claim),
                                 domain_};
        const auto source = [this](const game::OuterDelta& delta) {
            return blobs_.load(delta.root);
        };
        GYM_TRY(held->work, game::RerunOuter::create(std::move(inputs), source, options_));
        held->strategy = game::strategy_of(*held->work);
        held_ = std::move(held);
        return held_->strategy.get();
    }

    void release(const player::Claim& claim) override {
        if (held_ && held_->claim.name() == claim.name()) held_.reset();
    }

  private:
    Result<engine::State> load(const Digest& blob) {
        GYM_TRY(const Bytes bytes, blobs_.get(blob));
        return engine::decode_state(bytes);
    }

    const blob::BlobStore& blobs_;
    const crypto::Eip712Domain domain_;
    const game::RerunWorkOptions options_;
    std::unique_ptr<Held> held_;
};

}  // namespace

std::unique_ptr<player::UnitSource> make_aggregate_units(const blob::BlobStore& blobs,
                                                         const crypto::Eip712Domain& domain,
                                                         game::RerunWorkOptions options) {
    return std::make_unique<AggregateUnits>(blobs, domain, std::move(options));
}

}  // namespace gym::coordinator
