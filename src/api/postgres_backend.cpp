#include "gym/api/postgres.hpp"

#include "gym/ledger/ledger.hpp"
#include "gym/registry/orders.hpp"
#include "gym/registry/retention.hpp"
#include "gym/rewards/accounts.hpp"
#include "gym/rewards/queries.hpp"
#include "postgres_calls.hpp"

namespace gym::api {
namespace {

constexpr std::uint32_t kCreditsShown = 20;
constexpr std::uint32_t kFaultsShown = 200;

/// Credits minus debits of an account.
Result<Amount> net_of(db::Transaction& tx, const ledger::AccountKey& key) {
    GYM_TRY(const ledger::Balance balance, ledger::balance(tx, key));
    return balance.net();
}

/// The sum that the owner's jobs hold, with pending credits. Escrows of ended jobs are empty.
Result<Amount> escrowed_of(db::Transaction& tx, const Address& owner, const std::string& asset) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT coalesce(sum(a.credits - a.debits), 0)::numeric(78, 0) AS total "
                        "FROM ledger.account a WHERE a.asset = $2 AND a.kind = 'escrow' AND "
                        "a.owner IN (SELECT 'job:0x' || encode(id, 'hex') FROM registry.job "
                        "WHERE owner = $1 UNION ALL SELECT 'own:0x' || encode($1, 'hex'))",
                        {owner, asset}));
    return row.get<Amount>("total");
}

Result<OpenUnits> open_units_of(db::Transaction& tx, const Digest& job) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT count(*) AS open, count(*) FILTER (WHERE w) AS in_window, "
                        "max(deadline_ms) FILTER (WHERE w) AS window_end_ms "
                        "FROM (SELECT deadline_ms, state IN ('unsampled', 'verified', 'upheld') AS "
                        "w FROM registry.unit WHERE job_id = $1 AND ended_at_ms IS NULL) u",
                        {job}));
    return OpenUnits{row.get<std::uint64_t>("open"), row.get<std::uint64_t>("in_window"),
                     row.get<std::optional<UnixMs>>("window_end_ms")};
}

/// The columns that gym_api may see; registry::list_reports() reads all of them.
Result<std::vector<ReportView>> reports_of(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT draw, verifier, committed_at_ms, revealed_at_ms, is_equal, "
                    "accepted_seq IS NOT NULL AS accepted FROM registry.report "
                    "WHERE unit_id = $1 ORDER BY draw",
                    {unit}));
    std::vector<ReportView> out;
    for (const db::Row row : rows)
        out.push_back({row.get<std::uint32_t>("draw"), row.get<Address>("verifier"),
                       row.get<UnixMs>("committed_at_ms"),
                       row.get<std::optional<UnixMs>>("revealed_at_ms"),
                       row.get<std::optional<bool>>("is_equal"), row.get<bool>("accepted")});
    return out;
}

}  // namespace

PostgresBackend::PostgresBackend(db::Database& database, blob::BlobStore& blobs, const Clock& clock,
                                 Options options)
    : database_(database), blobs_(blobs), clock_(clock), options_(std::move(options)) {}

Result<AccountView> PostgresBackend::account(const Address& address) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<AccountView> {
        AccountView view;
        view.address = address;
        GYM_TRY(view.available, calls::available_for(tx, options_.asset, address));
        GYM_TRY(const Amount escrowed, escrowed_of(tx, address, options_.asset));
        GYM_TRY(const Amount waiting,
                registry::ordered_amount(tx, address, registry::OrderState::kWaiting));
        GYM_TRY(const Amount locking,
                registry::ordered_amount(tx, address, registry::OrderState::kLocking));
        GYM_TRY(view.escrowed, escrowed.plus(waiting));
        GYM_TRY(view.escrowed, view.escrowed.plus(locking));
        GYM_TRY(view.withdrawing,
                net_of(tx, rewards::withdrawing_account(options_.asset, address)));
        GYM_TRY(view.rewards, rewards::summary(tx, options_.asset, address));
        GYM_TRY(view.last_credits, rewards::list_receipts(tx, address, kCreditsShown));
        return view;
    });
}

Result<std::vector<registry::Node>> PostgresBackend::nodes(const registry::NodeFilter& filter) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::list_nodes(tx, filter); });
}

Result<registry::Node> PostgresBackend::node(const Address& address) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::get_node(tx, address); });
}

Result<std::vector<registry::Job>> PostgresBackend::jobs(const registry::JobFilter& filter) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::list_jobs(tx, filter); });
}

Result<JobView> PostgresBackend::job(const Digest& id) {
    return job_of_model(id, registry::Viewer::service());
}

Result<JobView> PostgresBackend::job_of_model(const Digest& id, const registry::Viewer& viewer) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<JobView> {
        JobView view;
        GYM_TRY(view.job, registry::get_job_of_model(tx, id, viewer));
        GYM_TRY(view.orders, registry::orders_of_job(tx, id));
        GYM_TRY(view.cost, calls::cost_of(tx, view.job, options_.asset));
        GYM_TRY(view.rounds, registry::list_rounds(tx, id));
        GYM_TRY(view.kept_rounds, registry::kept_rounds(tx, id));
        GYM_TRY(view.open_units, open_units_of(tx, id));
        GYM_TRY(view.evaluations, registry::evaluations_of(tx, id));
        registry::UnitFilter faults;
        faults.job_id = id;
        faults.states = {protocol::UnitState::kDisputed, protocol::UnitState::kRejected,
                         protocol::UnitState::kSlashed};
        faults.limit = kFaultsShown;
        GYM_TRY(view.faults, registry::list_units(tx, faults));
        GYM_TRY(view.units, calls::count_by(tx,
                                            "SELECT state, count(*) FROM registry.unit "
                                            "WHERE job_id = $1 AND kind = 'train' GROUP BY state",
                                            {id}));
        GYM_TRY(view.data, registry::job_data(tx, id));
        return view;
    });
}

Result<std::unique_ptr<const blob::BlobReader>> PostgresBackend::open_blob(const Digest& root) {
    auto reader = blobs_.open_reader(root);
    if (reader.ok() || reader.error().code != ErrorCode::kNotFound) return reader;
    GYM_TRY(const auto why, calls::read(database_, options_, [&](db::Transaction& tx) {
                return registry::why_pruned(tx, root);
            }));
    if (why) return fail(ErrorCode::kNotFound, *why);
    return reader;
}

Result<std::vector<registry::Unit>> PostgresBackend::units(const registry::UnitFilter& filter) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::list_units(tx, filter); });
}

Result<UnitView> PostgresBackend::unit(const Digest& id) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<UnitView> {
        UnitView view;
        GYM_TRY(view.unit, registry::get_unit(tx, id));
        GYM_TRY(view.history, registry::unit_history(tx, id));
        GYM_TRY(view.reports, reports_of(tx, id));
        return view;
    });
}

Result<std::vector<registry::Dataset>> PostgresBackend::datasets(
    const registry::DatasetFilter& filter) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) -> Result<std::vector<registry::Dataset>> {
                           GYM_TRY(auto found, registry::list_datasets(tx, filter));
                           GYM_CHECK(registry::add_names(tx, found));
                           return found;
                       });
}

Result<registry::Dataset> PostgresBackend::dataset(const Digest& root,
                                                   const registry::Viewer& viewer) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<registry::Dataset> {
        GYM_TRY(auto found, registry::get_dataset(tx, root, viewer));
        GYM_CHECK(registry::add_names(tx, {&found, 1}));
        return found;
    });
}

Result<std::vector<registry::Evaluation>> PostgresBackend::evaluations(std::uint32_t limit) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::list_evaluations(tx, limit); });
}

Result<registry::Evaluation> PostgresBackend::evaluation(const Digest& id) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::get_evaluation(tx, id); });
}

Result<rewards::ClaimProof> PostgresBackend::proof(const Address& earner) {
    GYM_TRY(const rewards::ActiveRoot root,
            calls::read(database_, options_, [&](db::Transaction& tx) {
                return rewards::active_root(tx, clock_.now_ms());
            }));
    // No connection is held while the tree is made or waited for.
    GYM_TRY(const auto tree,
            payout_trees_->tree(root, [&](std::uint64_t epoch) { return epoch_file(epoch); }));
    return rewards::claim_proof(root, *tree, earner);
}

Result<rewards::Receipt> PostgresBackend::receipt(std::string_view id) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return rewards::explain(tx, id); });
}

Result<std::vector<rewards::PayoutEpoch>> PostgresBackend::epochs(std::uint32_t limit) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return rewards::list_epochs(tx, limit); });
}

Result<std::string> PostgresBackend::epoch_file(std::uint64_t epoch) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return rewards::epoch_file(tx, epoch); });
}

Status PostgresBackend::ping() {
    auto answer = calls::read(database_, options_, [](db::Transaction& tx) -> Result<bool> {
        GYM_TRY(const db::Row row, tx.exec_one("SELECT true"));
        return row.get<bool>(0);
    });
    return answer.ok() ? Status{} : Status(answer.error());
}

Result<std::vector<registry::ServiceHealth>> PostgresBackend::services() {
    return calls::read(database_, options_, registry::service_health);
}

// Records that nodes signed.

Result<RoundView> PostgresBackend::round(const Digest& job_id, std::uint64_t round) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<RoundView> {
        RoundView view;
        GYM_TRY(view.round, registry::get_round(tx, job_id, round));
        GYM_TRY(view.aggregate,
                registry::own_commitment(tx, job_id, round, protocol::UnitKind::kAggregate));
        GYM_TRY(view.evaluation,
                registry::own_commitment(tx, job_id, round, protocol::UnitKind::kEvaluate));
        return view;
    });
}

Result<std::vector<registry::PublishedCommitment>> PostgresBackend::commitments(
    const Digest& job_id, std::uint64_t round, const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_commitments(tx, job_id, round, page);
    });
}

Result<std::vector<registry::PublishedReport>> PostgresBackend::reports(
    const Digest& job_id, std::uint64_t round, const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_reports(tx, job_id, round, page);
    });
}

Result<std::vector<registry::Prefix>> PostgresBackend::prefixes(const Digest& job_id,
                                                                std::uint64_t round,
                                                                const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_prefixes(tx, job_id, round, page);
    });
}

Result<std::vector<protocol::PublishedChallenge>> PostgresBackend::challenges(
    const Address& node, UnixMs from_ms, UnixMs to_ms, const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_challenges(tx, node, from_ms, to_ms, page);
    });
}

// Numbers for /metrics.

namespace {

using calls::count_by;

Status network_gauges(db::Transaction& tx, UnixMs live_since_ms, UnixMs now_ms, Gauges& gauges) {
    GYM_TRY(gauges.jobs, count_by(tx, "SELECT status, count(*) FROM registry.job GROUP BY status"));
    GYM_TRY(gauges.units, count_by(tx,
                                   "SELECT state, count(*) FROM registry.unit "
                                   "WHERE kind = 'train' GROUP BY state"));
    GYM_TRY(
        const db::Row nodes,
        tx.exec_one(
            "SELECT count(*) FILTER (WHERE role = 'worker' AND live) AS workers, "
            "count(*) FILTER (WHERE role = 'verifier' AND live) AS verifiers, "
            "count(*) FILTER (WHERE excluded_at_ms IS NOT NULL) AS excluded, "
            "coalesce(sum(refused_blobs), 0)::bigint AS refused FROM "
            "(SELECT role, excluded_at_ms, refused_blobs, NOT has_left AND last_seen_at_ms >= $1 "
            "AS live FROM registry.node) AS n",
            {live_since_ms}));
    gauges.workers_live = nodes.get<std::uint64_t>("workers");
    gauges.verifiers_live = nodes.get<std::uint64_t>("verifiers");
    gauges.nodes_excluded = nodes.get<std::uint64_t>("excluded");
    gauges.blobs_refused = nodes.get<std::uint64_t>("refused");
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
                             "claimed_chain AND locked_ledger IS NOT DISTINCT FROM "
                             "locked_chain AS equal FROM rewards.reconciliation "
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
