#include "drivers/commitments.hpp"

#include <algorithm>

#include "drivers/membership.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/blob_access.hpp"
#include "gym/registry/chain_commitments.hpp"
#include "gym/registry/delta_places.hpp"
#include "gym/registry/prefixes.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;
using registry::RoundState;

/// Whether the round has no epoch yet; also if it is not recorded.
Result<bool> is_unsealed(db::Transaction& tx, const Digest& job, std::uint64_t round) {
    GYM_TRY(const auto state, registry::find_round_state(tx, job, round));
    return !state || *state == RoundState::kRecorded || *state == RoundState::kOpen;
}

/// Whether an epoch to come may have commitments of this round: its own or, where the round takes
/// late ones, the next round's.
Result<bool> has_epoch_to_come(db::Transaction& tx, const protocol::RoundRecord& record) {
    GYM_TRY(const bool own, is_unsealed(tx, record.job_id, record.round));
    if (own || !record.accept_late) return own;
    return is_unsealed(tx, record.job_id, record.round + 1);
}

/// A commitment on chain to a unit of this network.
struct Published {
    CommitmentTarget target;
    Address worker;
    protocol::SignedCommitment commitment;
    std::uint64_t block = 0;
};

/// Absent: it is not to a unit whose epoch is to come, or not signed by its worker. Anybody can
/// publish anything, so most is decided by what is in memory.
Result<std::optional<Published>> read_published(const Context& context,
                                                const CommitmentNews::Item& item) {
    using Found = std::optional<Published>;
    const auto decoded = protocol::decode_signed_commitment(item.commitment);
    if (!decoded.ok()) return Found();
    Published out;
    out.commitment = *decoded;
    out.block = item.block;
    const protocol::UnitCommitment& says = decoded->commitment;
    GYM_TRY(const auto round, context.transact([&](db::Transaction& tx) {
        return context.facts->round_by_record(tx, says.round_record);
    }));
    const auto* slot = round == nullptr ? nullptr : round->record.find_slot(says.slot);
    if (slot == nullptr) return Found();
    out.worker = slot->worker;
    if (!protocol::verify_signature(context.options.domain, *decoded, out.worker).ok())
        return Found();
    GYM_TRY(const bool takes, context.transact([&](db::Transaction& tx) {
        return has_epoch_to_come(tx, round->record);
    }));
    if (!takes) return Found();
    auto target = find_target(context, out.worker, says);
    if (target.ok()) {
        out.target = *std::move(target);
        return Found(std::move(out));
    }
    // Fields that the round does not fix: the contract asks for no such commitment, either.
    const ErrorCode code = target.error().code;
    if (code == ErrorCode::kUnavailable || code == ErrorCode::kInternal) return target.error();
    return Found();
}

/// Whether the unit can still be committed to.
bool is_awaited(const Context& context, db::Transaction& tx, const Published& published,
                const registry::Unit& unit) {
    const auto next =
        protocol::apply(unit.status, protocol::event::Committed{},
                        lifecycle_of(published.target.job, unit.key.round), context.now());
    return next.ok() && require_node(tx, published.worker, records::NodeRole::kWorker).ok();
}

/// The step records stay with the worker.
Status commit(const Context& context, db::Transaction& tx, const Published& published,
              const registry::Unit& unit) {
    const UnixMs now_ms = context.now();
    const Digest& delta = published.commitment.commitment.delta_root;
    GYM_CHECK(registry::store_commitment(tx, unit.id, published.commitment, {}, now_ms));
    GYM_CHECK(registry::advance(tx, unit.id, protocol::event::Committed{},
                                lifecycle_of(published.target.job, unit.key.round), now_ms));
    GYM_CHECK(registry::drop_prefix(tx, unit.id));
    GYM_TRY(const bool sent, registry::has_uploaded(tx, published.worker, delta));
    GYM_TRY(const bool named, registry::is_delta_named(tx, published.worker, delta));
    if (sent || named) return {};
    return registry::want_delta(tx, published.worker, delta, now_ms);
}

/// A second commitment is a fault, once. @return a line for the log, empty if nothing is new.
Result<std::string> contradict(const Context& context, db::Transaction& tx,
                               const Published& published, const registry::Unit& unit,
                               const registry::StoredCommitment& stored) {
    if (stored.commitment.commitment == published.commitment.commitment) return std::string();
    GYM_TRY(const bool known, registry::has_equivocation(tx, unit.id));
    if (known) return std::string();
    GYM_TRY(const protocol::Reason fault,
            take_equivocation(context, tx, published.target, unit, stored, published.commitment));
    return fault.sentence;
}

/// @return a line for the log, empty if nothing is new: the chain is read again as far as a
/// reorganisation reaches.
Result<std::string> take(const Context& context, const Published& published) {
    return context.transact_feed([&](db::Transaction& tx) -> Result<std::string> {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit unit, registry::get_unit(tx, published.target.unit));
        GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
        const protocol::SignedCommitment& first =
            stored ? stored->commitment : published.commitment;
        bool is_new = false;
        if (!unit.epoch) {
            GYM_TRY(is_new, registry::note_chain_commitment(tx, {unit.id, first, published.block}));
        }
        if (stored) return contradict(context, tx, published, unit, *stored);
        if (!is_new) return std::string();
        const std::string name = protocol::name_unit(unit.key);
        if (!is_awaited(context, tx, published, unit)) {
            GYM_CHECK(registry::drop_undecided_prefix(tx, unit.id));
            return name + ": its commitment was published when it had ended";
        }
        GYM_CHECK(commit(context, tx, published, unit));
        return name + ": committed by block " + std::to_string(published.block);
    });
}

Status take_item(const Context& context, const CommitmentNews::Item& item, TickSummary& summary) {
    GYM_TRY(const auto published, read_published(context, item));
    if (!published) return {};
    GYM_TRY(const std::string line, take(context, *published));
    if (!line.empty()) note(summary, line);
    return {};
}

}  // namespace

Result<CommitmentTarget> find_target(const Context& context, const Address& worker,
                                     const protocol::UnitCommitment& commitment) {
    return context.transact([&](db::Transaction& tx) -> Result<CommitmentTarget> {
        GYM_TRY(const registry::Node node, registry::get_node(tx, worker));
        // Not from the database: a round's record is long, and each of its workers asks for it.
        GYM_TRY(const auto round, context.facts->round_by_record(tx, commitment.round_record));
        if (round == nullptr)
            return fail(ErrorCode::kNotFound,
                        "commitment: no round has record " + commitment.round_record.hex());
        const protocol::RoundRecord& record = round->record;
        const protocol::UnitKey key{record.job_id, record.round, commitment.slot, 0};
        GYM_CHECK(protocol::check_against_round(commitment, record, round->record_hash, worker,
                                                key.attempt));
        GYM_TRY(registry::Job job, registry::get_job(tx, record.job_id));
        return CommitmentTarget{std::move(job), protocol::unit_id(key)};
    });
}

Result<protocol::Reason> take_equivocation(const Context& context, db::Transaction& tx,
                                           const CommitmentTarget& target,
                                           const registry::Unit& unit,
                                           const registry::StoredCommitment& first,
                                           const protocol::SignedCommitment& second) {
    const UnixMs now_ms = context.now();
    const protocol::LifecycleParams& params = target.job.terms.lifecycle;
    GYM_CHECK(registry::store_equivocation(tx, unit.id, second, now_ms));
    const protocol::Reason reason =
        protocol::equivocation(unit.key, first.leaf, protocol::commitment_leaf(second));
    registry::Unit faulty = unit;
    if (protocol::is_legal(unit.status.state, UnitState::kRejected)) {
        GYM_TRY(faulty, registry::advance(tx, unit.id, protocol::event::FaultProven{}, params,
                                          now_ms, reason));
    } else {
        faulty.reason_code = protocol::to_string(reason.code);
        faulty.reason = reason.sentence;
    }
    GYM_CHECK(exclude_worker(context, tx, faulty, now_ms));
    return reason;
}

Status take_chain_commitments(const Context& context, TickSummary& summary) {
    context.log_read->store(false);
    const Address log = context.options.domain.verifying_contract.value_or(Address{});
    GYM_TRY(const auto seen, context.transact([&](db::Transaction& tx) {
        return registry::find_commitments_seen(tx, log);
    }));
    GYM_TRY(const auto news, context.deps.chain.commitments_since(seen));
    if (!news) {
        context.log_read->store(true);
        return {};
    }
    std::uint64_t read_to = news->seen_block;
    Status failed;
    for (const CommitmentNews::Item& item : news->published) {
        const Status taken = take_item(context, item, summary);
        if (taken.ok()) continue;
        // It comes again; the others are not kept waiting.
        read_to = std::min(read_to, item.block - 1);
        if (failed.ok()) failed = taken;
    }
    GYM_CHECK(context.transact(
        [&](db::Transaction& tx) { return registry::set_commitments_seen(tx, log, read_to); }));
    context.log_read->store(failed.ok() && news->is_all);
    return failed;
}

}  // namespace gym::coordinator
