#include "gym/worker/delta_loader.hpp"

#include <spdlog/spdlog.h>

#include <string>

#include "gym/protocol/unit_spec.hpp"
#include "gym/worker/patience.hpp"

namespace gym::worker {
namespace {

std::string name_of(const DeltaRound& round, const RoundDelta& delta) {
    return "the delta of slot " + std::to_string(delta.slot) + " in round " +
           std::to_string(round.record.round);
}

Error wrong(const DeltaRound& round, const RoundDelta& delta, const Digest& computed) {
    return fail(ErrorCode::kMismatch, name_of(round, delta) + " has root " + delta.root.hex() +
                                          ", its unit gives " + computed.hex());
}

}  // namespace

void DeltaLoader::begin(const DeltaRound& round) {
    const Digest hash = protocol::hash(round.record);
    if (hash == round_) return;
    round_ = hash;
    wrong_.clear();
    tries_.clear();
    found_.clear();
}

Result<Bytes> DeltaLoader::load(const DeltaRound& round, const RoundDelta& delta,
                                const DeltaRunOptions& options) {
    begin(round);
    if (const auto known = wrong_.find(delta); known != wrong_.end())
        return wrong(round, delta, known->second);
    auto fetched = cache_.fetch(delta.root);
    if (fetched.ok() || !round.inputs.dataset_blob) return fetched;
    if (options.stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    if (is_transient(fetched.error().code) && ++tries_[delta.root] < kTriesMax)
        return fetched.error();
    spdlog::warn("{} cannot be had ({}): its unit is run again", name_of(round, delta),
                 fetched.error().message);
    return run_again(round, delta, options);
}

Result<Bytes> DeltaLoader::run_again(const DeltaRound& round, const RoundDelta& delta,
                                     const DeltaRunOptions& options) {
    begin(round);
    if (const auto known = wrong_.find(delta); known != wrong_.end())
        return wrong(round, delta, known->second);
    if (round.record.find_slot(delta.slot) == nullptr)
        return fail(ErrorCode::kMismatch, name_of(round, delta) + ": the round has no such slot");
    GYM_TRY(const TrainInputs inputs, inputs_.load_train(round.record, round.inputs));
    engine::RunOptions run;
    run.engine = options.engine;
    run.progress = options.progress;
    run.cancel = options.stop;
    GYM_TRY(engine::UnitResult result,
            engine::run_unit(*inputs.program, inputs.base, *inputs.dataset,
                             protocol::unit_spec(round.record, delta.slot), run));
    if (result.delta_root != delta.root) {
        wrong_.emplace(delta, result.delta_root);
        found_.push_back({delta, result.delta_root});
        return wrong(round, delta, result.delta_root);
    }
    GYM_CHECK(cache_.store().put(delta.root, result.delta));
    tries_.erase(delta.root);
    return std::move(result.delta);
}

}  // namespace gym::worker
