#include "calls/prefix_calls.hpp"

#include "drivers/membership.hpp"
#include "drivers/prefixes.hpp"
#include "gym/coordinator/decisions.hpp"

namespace gym::coordinator {
namespace {

using protocol::PrefixState;
using protocol::UnitState;

/// The unit that a prefix names and fits.
struct PrefixTarget {
    registry::Unit unit;
    registry::Job job;
};

Result<PrefixTarget> find_prefix_target(const Context& context, db::Transaction& tx,
                                        const protocol::UnitPrefix& prefix) {
    GYM_TRY(const auto round, context.facts->round_by_record(tx, prefix.round_record));
    if (round == nullptr)
        return fail(ErrorCode::kNotFound,
                    "prefix: no round has record " + prefix.round_record.hex());
    const protocol::RoundRecord& record = round->record;
    const protocol::UnitKey key{record.job_id, record.round, prefix.slot, 0};
    GYM_CHECK(protocol::check_against_round(prefix, record, round->record_hash, key.attempt));
    GYM_TRY(registry::Unit unit, registry::get_unit(tx, protocol::unit_id(key)));
    GYM_TRY(registry::Job job, registry::get_job(tx, record.job_id));
    return PrefixTarget{std::move(unit), std::move(job)};
}

/// A prefix is taken as long as a commitment is.
Status check_prefix_time(const PrefixTarget& target, UnixMs now_ms) {
    if (target.unit.status.state != UnitState::kAssigned) return {};  // keep_prefix() says so
    const auto committed = protocol::apply(target.unit.status, protocol::event::Committed{},
                                           lifecycle_of(target.job, target.unit.key.round), now_ms);
    if (committed.ok()) return {};
    return fail(committed.error().code, "prefix: " + protocol::name_unit(target.unit.key) +
                                            " takes no commitment any more");
}

/// The prefix of the current draw, which is this verifier's.
Result<registry::Prefix> require_drawn(db::Transaction& tx, const Address& verifier,
                                       const PrefixTarget& target,
                                       const protocol::UnitPrefix& found) {
    GYM_TRY(auto prefix, registry::find_prefix(tx, target.unit.id));
    if (!prefix || prefix->verifier != verifier)
        return fail(ErrorCode::kPermissionDenied, "no prefix of " +
                                                      protocol::name_unit(target.unit.key) +
                                                      " is assigned to verifier " + verifier.hex());
    if (found.steps == prefix->steps) return *std::move(prefix);
    return fail(ErrorCode::kMismatch, "prefix: a report on " + std::to_string(found.steps) +
                                          " steps, " + std::to_string(prefix->steps) +
                                          " are assigned");
}

}  // namespace

Status keep_prefix(const Context& context, const Address& worker,
                   const protocol::SignedPrefix& prefix) {
    GYM_CHECK(protocol::verify_signature(context.options.domain, prefix, worker));
    return context.transact_idempotent([&](db::Transaction& tx) -> Status {
        const UnixMs now_ms = context.now();
        GYM_CHECK(require_node(tx, worker, records::NodeRole::kWorker));
        GYM_TRY(const PrefixTarget target, find_prefix_target(context, tx, prefix.prefix));
        if (target.unit.worker != worker)
            return fail(ErrorCode::kPermissionDenied,
                        "prefix: slot " + std::to_string(prefix.prefix.slot) + " belongs to " +
                            target.unit.worker.hex() + ", not to " + worker.hex());
        GYM_CHECK(check_prefix_time(target, now_ms));
        return registry::keep_prefix(tx, target.unit.id, prefix, now_ms);
    });
}

Status report_prefix(const Context& context, const Address& verifier,
                     const protocol::SignedPrefix& found) {
    GYM_CHECK(protocol::verify_signature(context.options.domain, found, verifier));
    const registry::PrefixReport report{found.prefix.link, found.signature};
    return context.transact_feed([&](db::Transaction& tx) -> Status {
        const UnixMs now_ms = context.now();
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(require_node(tx, verifier, records::NodeRole::kVerifier));
        GYM_TRY(const PrefixTarget target, find_prefix_target(context, tx, found.prefix));
        GYM_TRY(registry::Prefix prefix, require_drawn(tx, verifier, target, found.prefix));
        if (prefix.report == report) return {};  // the same again
        if (prefix.state != PrefixState::kDrawn)
            return fail(ErrorCode::kConflict, "prefix: it is " +
                                                  std::string(to_string(prefix.state)) +
                                                  " and takes no other report");
        if (now_ms > prefix.deadline_ms)
            return fail(ErrorCode::kTimeout, "prefix: the report came " +
                                                 std::to_string(now_ms - prefix.deadline_ms) +
                                                 " ms after its deadline");
        GYM_CHECK(registry::store_prefix_report(tx, target.unit.id, report, now_ms));
        prefix.report = report;
        return decide_by_report(context, tx, target.job, target.unit, prefix);
    });
}

}  // namespace gym::coordinator
