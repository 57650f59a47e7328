#include "drivers/reexecution.hpp"

#include <span>
#include <utility>

#include "drivers/evaluation.hpp"
#include "gym/registry/datasets.hpp"

namespace gym::coordinator {
namespace {

/// The deltas that an aggregate includes, in its order.
Result<std::vector<Compute::DeltaPtr>> load_deltas(
    const Context& context, std::span<const protocol::IncludedDelta> included, ByteView program) {
    std::vector<Compute::DeltaPtr> deltas;
    for (const protocol::IncludedDelta& one : included) {
        auto delta = context.deps.compute.check_delta(program, context.deps.blobs, one.delta_root);
        if (!delta.ok()) return delta.error().in("delta");
        deltas.push_back(std::move(*delta));
    }
    return deltas;
}

}  // namespace

Result<blob::VerifiedBlob> load_blob(const Context& context, const Digest& root,
                                     std::string_view what) {
    auto blob = context.deps.blobs.load(root);
    if (blob.ok()) return blob;
    return blob.error().in(what);
}

Result<blob::VerifiedBlob> load_dataset(const Context& context, const registry::Job& job) {
    GYM_TRY(const auto dataset, context.transact([&](db::Transaction& tx) {
        return registry::get_dataset(tx, job.dataset_root);
    }));
    return load_blob(context, dataset.blob, "dataset");
}

Result<Compute::Reexecuted> reexecute(const Context& context, const registry::Job& job,
                                      const registry::Round& round, const registry::Unit& unit,
                                      const crypto::Signature* challenge,
                                      const std::stop_token& stop) {
    Compute& compute = context.deps.compute;
    if (unit.kind == protocol::UnitKind::kEvaluate) {
        GYM_TRY(const auto result, evaluate(context, job, round, stop));
        return Compute::Reexecuted{result.roots(), {}};
    }
    GYM_TRY(const auto program, load_blob(context, job.artifacts->program_blob, "train program"));
    GYM_TRY(auto base, load_blob(context, round.base.blob, "base state"));
    if (unit.kind == protocol::UnitKind::kTrain) {
        GYM_TRY(const auto tokens, load_dataset(context, job));
        return compute.run_unit(round.record, unit.key.slot, program.bytes(), base.bytes(),
                                tokens.bytes(), challenge, stop);
    }
    GYM_TRY(const auto included, context.transact([&](db::Transaction& tx) {
        return registry::included_deltas(tx, job.id, round.round);
    }));
    GYM_TRY(const auto deltas, load_deltas(context, included, program.bytes()));
    GYM_TRY(auto momentum, load_blob(context, round.momentum.blob, "momentum"));
    GYM_TRY(const auto result, compute.aggregate(program.bytes(), std::move(base).take(),
                                                 std::move(momentum).take(), deltas, included));
    return Compute::Reexecuted{result.roots(), {}};
}

Result<Digest> reexecute_prefix(const Context& context, const registry::Job& job,
                                const registry::Round& round, const Compute::SlotSteps& prefix,
                                const std::stop_token& stop) {
    GYM_TRY(const auto program, load_blob(context, job.artifacts->program_blob, "train program"));
    GYM_TRY(const auto base, load_blob(context, round.base.blob, "base state"));
    GYM_TRY(const auto tokens, load_dataset(context, job));
    return context.deps.compute.run_prefix(round.record, prefix, program.bytes(), base.bytes(),
                                           tokens.bytes(), stop);
}

bool may_work_later(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout ||
           code == ErrorCode::kCancelled;
}

}  // namespace gym::coordinator
