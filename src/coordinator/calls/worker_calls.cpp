#include "calls/worker_calls.hpp"

#include <algorithm>

#include "drivers/commitments.hpp"
#include "drivers/membership.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/blob_access.hpp"
#include "gym/registry/chain_commitments.hpp"
#include "gym/registry/delta_places.hpp"
#include "gym/registry/prefixes.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

/// Where a delta is that a worker commits to.
enum class Possession { kHere, kOnMirrors };

/// Whoever knows the root of a delta, which is published, must not make that delta one of its own
/// job, whose nodes may fetch it: the worker has sent its bytes. What else is stored is not told.
/// Or it named mirrors that have it: those have public deltas alone.
Result<Possession> check_possession(const Context& context, const CommitmentTarget& target,
                                    const Address& worker, const Digest& delta) {
    const bool is_public = target.job.access.visibility == registry::Visibility::kPublic;
    std::optional<Possession> found;
    const Status read = context.transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(const bool has, registry::has_uploaded(tx, worker, delta));
        if (has) found = Possession::kHere;
        if (has || !is_public) return {};
        GYM_TRY(const bool named, registry::is_delta_named(tx, worker, delta));
        if (named) found = Possession::kOnMirrors;
        return {};
    });
    GYM_CHECK(read);
    if (found) return *found;
    return fail(ErrorCode::kNotFound, "commitment: delta " + delta.hex() +
                                          " did not come from this worker (upload it "
                                          "first)");
}

/// The payload must be the one that the commitment names. A delta on mirrors is looked at when it
/// is here (aggregate_round()).
Status check_payload(const Context& context, const CommitmentTarget& target,
                     const protocol::UnitCommitment& commitment, ByteView records,
                     Possession possession) {
    if (records.size() > context.options.records_bytes_max)
        return fail(ErrorCode::kOutOfRange, "commitment: the step records are too long");
    GYM_TRY(const Digest root, context.deps.compute.records_root(records));
    if (root != commitment.records_root)
        return fail(ErrorCode::kMismatch, "commitment: the step records hash to " + root.hex() +
                                              ", not to the records root " +
                                              commitment.records_root.hex());
    if (possession == Possession::kOnMirrors) return {};
    // It may have lain here for long: from now on it does not count as idle.
    GYM_CHECK(context.deps.blobs.hold(commitment.delta_root));
    GYM_TRY(const Bytes program, context.deps.blobs.get(target.job.artifacts->program_blob));
    const auto checked =
        context.deps.compute.check_delta(program, context.deps.blobs, commitment.delta_root);
    if (checked.ok()) return {};
    if (Compute::is_no_delta(checked.error().code)) return checked.error().in("commitment: delta");
    return checked.error().in("commitment: delta " + commitment.delta_root.hex() +
                              " (upload it first)");
}

/// How a commitment was taken. A fault is a result, not an error: what it changes must be
/// committed.
struct Taken {
    records::CommitmentAck ack;
    std::optional<protocol::Reason> fault;
};

Result<Taken> take(const Context& context, const Address& worker, const CommitmentTarget& target,
                   const protocol::SignedCommitment& commitment, ByteView records) {
    return context.transact_feed([&](db::Transaction& tx) -> Result<Taken> {
        const UnixMs now_ms = context.now();
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit unit, registry::get_unit(tx, target.unit));
        GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
        if (stored && stored->commitment.commitment == commitment.commitment)
            return Taken{{unit.id, stored->leaf, stored->received_at_ms}, std::nullopt};
        if (stored) {
            GYM_TRY(const protocol::Reason fault,
                    take_equivocation(context, tx, target, unit, *stored, commitment));
            return Taken{{}, fault};
        }
        GYM_CHECK(require_node(tx, worker, records::NodeRole::kWorker));
        GYM_CHECK(registry::store_commitment(tx, unit.id, commitment, records, now_ms));
        const auto committed = registry::advance(tx, unit.id, protocol::event::Committed{},
                                                 lifecycle_of(target.job, unit.key.round), now_ms);
        if (!committed.ok()) return committed.error().in(protocol::name_unit(unit.key));
        GYM_CHECK(registry::drop_prefix(tx, unit.id));
        return Taken{{unit.id, protocol::commitment_leaf(commitment), now_ms}, std::nullopt};
    });
}

Result<bool> contradicts(const Context& context, const CommitmentTarget& target,
                         const protocol::UnitCommitment& commitment) {
    GYM_TRY(const auto stored, context.transact([&](db::Transaction& tx) {
        return registry::find_commitment(tx, target.unit);
    }));
    return stored && stored->commitment.commitment != commitment;
}

Result<records::InclusionReceipt> inclusion(const Context& context, db::Transaction& tx,
                                            std::uint64_t epoch, std::uint64_t leaf_index) {
    GYM_TRY(const auto sealed, context.facts->sealed_epoch(tx, epoch));
    records::InclusionReceipt out;
    out.epoch = epoch;
    out.commitments_root = sealed->commitments_root;
    out.leaf_index = leaf_index;
    out.leaf_count = sealed->tree.leaf_count();
    GYM_TRY(out.siblings, sealed->tree.prove(out.leaf_index));
    return out;
}

}  // namespace

Result<std::optional<UploadLimit>> upload_limit(const Context& context, const Address& worker) {
    using Found = std::optional<UploadLimit>;
    return context.transact([&](db::Transaction& tx) -> Result<Found> {
        GYM_CHECK(require_node(tx, worker, records::NodeRole::kWorker));
        GYM_TRY(const auto units, registry::next_train_units(tx, {&worker, 1}, context.now()));
        if (units.empty()) return Found();
        const registry::Unit& live = units.at(worker);
        GYM_TRY(const registry::Job job, registry::get_job(tx, live.key.job_id));
        const bool is_public = job.access.visibility == registry::Visibility::kPublic;
        return Found(UploadLimit{live.id, delta_bytes_max(job), is_public});
    });
}

Result<std::optional<std::uint64_t>> committed_delta_bytes(const Context& context,
                                                           const Address& worker,
                                                           const Digest& root) {
    using Found = std::optional<std::uint64_t>;
    return context.transact([&](db::Transaction& tx) -> Result<Found> {
        GYM_TRY(bool expected, registry::has_uploaded(tx, worker, root));
        if (!expected) {
            GYM_TRY(const auto wanted, registry::wanted_deltas(tx, worker));
            expected = std::ranges::find(wanted, root) != wanted.end();
        }
        Found out;
        if (!expected) return out;
        GYM_TRY(const auto jobs, registry::jobs_of_delta(tx, worker, root));
        for (const Digest& id : jobs) {
            GYM_TRY(const registry::Job job, registry::get_job(tx, id));
            out = std::max(out.value_or(0), delta_bytes_max(job));
        }
        return out;
    });
}

Status note_upload(const Context& context, const Address& worker, const Digest& root) {
    return context.transact_idempotent([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::note_upload(tx, worker, root, context.now()));
        return registry::set_delta_held(tx, root);
    });
}

Status name_delta(const Context& context, const Address& worker, const Digest& root,
                  const std::vector<std::string>& mirrors) {
    GYM_TRY(const auto limit, upload_limit(context, worker));
    if (!limit)
        return fail(
            ErrorCode::kPermissionDenied,
            "only a worker with a unit to commit may name a delta, " + worker.hex() + " has none");
    if (!limit->is_public)
        return fail(ErrorCode::kPermissionDenied,
                    "the delta of a job that is not public goes to the coordinator, not to "
                    "mirrors: upload it");
    return context.transact_idempotent([&](db::Transaction& tx) {
        return registry::name_delta(tx, worker, root, mirrors, context.now());
    });
}

Result<std::vector<Digest>> wanted_deltas(const Context& context, const Address& worker) {
    return context.transact(
        [&](db::Transaction& tx) { return registry::wanted_deltas(tx, worker); });
}

Result<records::CommitmentAck> commit_unit(const Context& context, const Address& worker,
                                           const protocol::SignedCommitment& commitment,
                                           ByteView records) {
    GYM_CHECK(protocol::verify_signature(context.options.domain, commitment, worker));
    GYM_TRY(const CommitmentTarget target, find_target(context, worker, commitment.commitment));
    // A second, different commitment is a fault whatever came with it.
    GYM_TRY(const bool equivocates, contradicts(context, target, commitment.commitment));
    if (!equivocates) {
        GYM_TRY(const Possession possession,
                check_possession(context, target, worker, commitment.commitment.delta_root));
        GYM_CHECK(check_payload(context, target, commitment.commitment, records, possession));
    }
    GYM_TRY(const Taken taken, take(context, worker, target, commitment, records));
    if (taken.fault) return fail(ErrorCode::kConflict, taken.fault->sentence);
    return taken.ack;
}

Result<records::UnitReceipt> unit_receipt(const Context& context, const Digest& id) {
    return context.transact([&](db::Transaction& tx) -> Result<records::UnitReceipt> {
        GYM_TRY(const registry::Unit unit, registry::get_unit(tx, id));
        records::UnitReceipt out{unit, {}, {}};
        if (!unit.epoch) {
            GYM_TRY(const auto published, registry::find_chain_commitment(tx, id));
            if (!published || !published->epoch) return out;
            GYM_TRY(out.inclusion,
                    inclusion(context, tx, *published->epoch, published->leaf_index));
            out.commitment = published->commitment;
            return out;
        }
        GYM_TRY(out.inclusion, inclusion(context, tx, *unit.epoch, *unit.leaf_index));
        GYM_TRY(const auto stored, registry::find_commitment(tx, id));
        if (stored) out.commitment = stored->commitment;
        return out;
    });
}

Status defend(const Context& context, const Address& worker, const Digest& id) {
    return context.transact_feed([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit unit, registry::get_unit(tx, id));
        if (unit.worker != worker)
            return fail(ErrorCode::kPermissionDenied,
                        protocol::name_unit(unit.key) + " is another worker's");
        if (unit.status.state == UnitState::kDisputed && unit.status.defended) return {};
        GYM_TRY(const registry::Job job, registry::get_job(tx, unit.key.job_id));
        GYM_CHECK(registry::advance(tx, id, protocol::event::Defended{}, job.terms.lifecycle,
                                    context.now()));
        return {};
    });
}

}  // namespace gym::coordinator
