#include "gym/api/postgres.hpp"
#include "postgres_calls.hpp"

namespace gym::api {
namespace {

using calls::count_by;

Status network_gauges(db::Transaction& tx, UnixMs live_since_ms, UnixMs now_ms, Gauges& gauges) {
    GYM_TRY(gauges.jobs, count_by(tx, "SELECT status, count(*) FROM registry.job GROUP BY status"));
    GYM_TRY(gauges.units, count_by(tx,
                                   "SELECT state, count(*) FROM registry.unit "
                                   "WHERE kind = 'train' GROUP BY state"));
    GYM_TRY(const db::Row nodes,
            tx.exec_one("SELECT count(*) FILTER (WHERE role = 'worker' AND live) AS workers, "
                        "count(*) FILTER (WHERE role = 'verifier' AND live) AS verifiers, "
                        "count(*) FILTER (WHERE excluded_at_ms IS NOT NULL) AS excluded FROM "
                        "(SELECT role, excluded_at_ms, NOT has_left AND last_seen_at_ms >= $1 "
                        "AS live FROM registry.node) AS n",
                        {live_since_ms}));
    gauges.workers_live = nodes.get<std::uint64_t>("workers");
    gauges.verifiers_live = nodes.get<std::uint64_t>("verifiers");
    gauges.nodes_excluded = nodes.get<std::uint64_t>("excluded");
    GYM_TRY(gauges.rounds,
            count_by(tx, "SELECT state, count(*) FROM registry.round GROUP BY state"));
    // A round of a job that pauses or has ended waits for nobody.
    GYM_TRY(const db::Row open,
            tx.exec_one("SELECT greatest(0, coalesce($1 - min(r.recorded_at_ms), 0)) / 1000 AS age "
                        "FROM registry.round r JOIN registry.job j ON j.id = r.job_id "
                        "WHERE r.state NOT IN ('aggregated', 'closed') AND j.status = 'running'",
                        {now_ms}));
    gauges.round_open_s = open.get<std::uint64_t>("age");
    return {};
}

Status money_gauges(db::Transaction& tx, UnixMs now_ms, Gauges& gauges) {
    GYM_TRY(const db::Row feed,
            tx.exec_one("SELECT (SELECT coalesce(max(seq), 0) FROM registry.unit_event) - position "
                        "AS waiting FROM rewards.cursor WHERE name = 'unit_event'"));
    gauges.unit_events_waiting = feed.get<std::uint64_t>("waiting");
    GYM_TRY(const db::Row payout,
            tx.exec_one("SELECT coalesce(max(epoch), 0) AS newest, "
                        "greatest(0, coalesce($1 - min(closed_at_ms) FILTER (WHERE under_way), 0)) "
                        "/ 1000 AS age, coalesce(bool_or(under_way AND problem <> ''), false) AS "
                        "problem FROM (SELECT *, state IN ('closed', 'released') AS under_way "
                        "FROM rewards.settlement) AS s",
                        {now_ms}));
    gauges.payout_epoch = payout.get<std::uint64_t>("newest");
    gauges.payout_under_way_s = payout.get<std::uint64_t>("age");
    GYM_TRY(const db::Row held, tx.exec_one("SELECT EXISTS (SELECT FROM rewards.finished_round "
                                            "WHERE held <> '')"));
    gauges.payout_problem = payout.get<bool>("problem") || held.get<bool>(0);
    GYM_TRY(const auto books,
            tx.exec_optional("SELECT escrow_ledger = escrow_chain AND distributor_ledger <= "
                             "distributor_chain AND claimed_ledger IS NOT DISTINCT FROM "
                             "claimed_chain AS equal FROM rewards.reconciliation "
                             "ORDER BY block DESC LIMIT 1"));
    if (books) gauges.books_equal = books->get<bool>("equal");
    return {};
}

Status chain_gauges(db::Transaction& tx, UnixMs now_ms, Gauges& gauges) {
    const char* const open_intents = " FROM chain.intent WHERE state IN ('queued', 'signed') ";
    GYM_TRY(gauges.transactions_open, count_by(tx, std::string("SELECT service, count(*)") +
                                                       open_intents + "GROUP BY service"));
    GYM_TRY(gauges.transaction_oldest_s,
            count_by(tx,
                     std::string("SELECT service, greatest(0, $1 - min(submitted_at_ms)) / 1000") +
                         open_intents + "GROUP BY service",
                     {now_ms}));
    GYM_TRY(gauges.finalized_block,
            count_by(tx,
                     "SELECT service, coalesce(max(finalized_number), 0) FROM chain.follower "
                     "GROUP BY service"));
    return {};
}

}  // namespace

Result<Gauges> PostgresBackend::gauges() {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<Gauges> {
        const UnixMs now_ms = clock_.now_ms();
        Gauges gauges;
        GYM_CHECK(network_gauges(tx, now_ms - options_.node_live_ms, now_ms, gauges));
        GYM_CHECK(money_gauges(tx, now_ms, gauges));
        GYM_CHECK(chain_gauges(tx, now_ms, gauges));
        return gauges;
    });
}

}  // namespace gym::api
