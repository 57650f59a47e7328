#include "drivers/reexecution.hpp"

#include <span>
#include <utility>

#include "gym/registry/datasets.hpp"

namespace gym::coordinator {
namespace {

Result<blob::VerifiedBlob> load(const Context& context, const Digest& root, std::string_view what) {
    auto blob = context.deps.blobs.load(root);
    if (blob.ok()) return blob;
    return blob.error().in(what);
}

/// The deltas that an aggregate includes, in its order.
Result<std::vector<Compute::DeltaPtr>> load_deltas(
    const Context& context, std::span<const protocol::IncludedDelta> included, ByteView program) {
    std::vector<Compute::DeltaPtr> deltas;
    for (const protocol::IncludedDelta& one : included) {
        GYM_TRY(const blob::VerifiedBlob blob, load(context, one.delta_root, "delta"));
        GYM_TRY(Compute::DeltaPtr delta, context.deps.compute.check_delta(program, blob));
        deltas.push_back(std::move(delta));
    }
    return deltas;
}

}  // namespace

Result<Compute::Reexecuted> reexecute(const Context& context, const registry::Job& job,
                                      const registry::Round& round, const registry::Unit& unit,
                                      const crypto::Signature* challenge,
                                      const std::stop_token& stop) {
    Compute& compute = context.deps.compute;
    GYM_TRY(const auto program, load(context, job.artifacts->program_blob, "train program"));
    GYM_TRY(const auto base, load(context, round.base.blob, "base state"));
    if (unit.kind == protocol::UnitKind::kTrain) {
        GYM_TRY(const auto dataset, context.transact([&](db::Transaction& tx) {
            return registry::get_dataset(tx, job.dataset_root);
        }));
        GYM_TRY(const auto tokens, load(context, dataset.blob, "dataset"));
        return compute.run_unit(round.record, unit.key.slot, program.bytes(), base.bytes(),
                                tokens.bytes(), challenge, stop);
    }
    GYM_TRY(const auto included, context.transact([&](db::Transaction& tx) {
        return registry::included_deltas(tx, job.id, round.round);
    }));
    GYM_TRY(const auto deltas, load_deltas(context, included, program.bytes()));
    GYM_TRY(const auto momentum, load(context, round.momentum.blob, "momentum"));
    GYM_TRY(const auto result,
            compute.aggregate(program.bytes(), base.bytes(), momentum.bytes(), deltas, included));
    return Compute::Reexecuted{result.roots(), {}};
}

bool may_work_later(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout ||
           code == ErrorCode::kCancelled;
}

}  // namespace gym::coordinator
