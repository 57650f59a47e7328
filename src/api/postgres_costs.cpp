#include <algorithm>

#include "gym/api/postgres.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/mirrors.hpp"
#include "gym/registry/size_limits.hpp"
#include "gym/rewards/accounts.hpp"
#include "postgres_calls.hpp"

// Costs of jobs so far, and the most that they can cost.
namespace gym::api {
namespace {

/// The part of an escrow's debits that went back to the owner.
Result<Amount> refunded_of(db::Transaction& tx, const ledger::AccountKey& escrow) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT coalesce(sum(t.amount), 0)::numeric(78, 0) AS total "
                        "FROM ledger.account a JOIN ledger.entry e ON e.account_id = a.id "
                        "JOIN ledger.transfer t ON t.id = e.transfer_id AND t.debit_account = a.id "
                        "JOIN ledger.account c ON c.id = t.credit_account AND c.kind = 'available' "
                        "WHERE a.owner = $1 AND a.asset = $2 AND a.kind = 'escrow'",
                        {escrow.owner, escrow.asset}));
    return row.get<Amount>("total");
}

/// The rounds whose credits are not all booked.
Result<std::vector<std::uint64_t>> open_rounds_of(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT r.round FROM registry.round r WHERE r.job_id = $1 AND NOT EXISTS "
                    "(SELECT FROM rewards.finished_round f WHERE f.job_id = r.job_id AND f.round = "
                    "r.round)",
                    {job_id}));
    std::vector<std::uint64_t> out;
    for (const db::Row row : rows)
        out.push_back(row.get<std::uint64_t>(0));
    return out;
}

/// The most that assigned units may still cost, beyond the payments for them so far.
Result<Amount> committed_of(db::Transaction& tx, const registry::Job& job,
                            const protocol::CostRates& rates) {
    if (!job.artifacts) return Amount();
    GYM_TRY(const auto rounds, open_rounds_of(tx, job.id));
    GYM_TRY(const protocol::Work work, registry::billable_work(tx, job.id, rounds));
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT coalesce(sum(amount) FILTER (WHERE is_open AND state = 'posted'), "
                        "0) AS paid, coalesce(sum(amount) FILTER (WHERE NOT is_open AND state = "
                        "'unfunded'), 0) AS late FROM (SELECT state, amount, "
                        "round = ANY ($2::bigint[]) AS is_open FROM rewards.credit "
                        "WHERE job_id = $1 AND payer IS NULL) c",
                        {job.id, db::Param::array(rounds)}));
    const auto late = row.get<Amount>("late");
    if (work.training_flops.is_zero() && work.report_flops.is_zero()) return late;
    GYM_TRY(const Amount bound, protocol::cost_bound(registry::work_price(job), rates, work));
    const auto open = bound.minus(row.get<Amount>("paid"));
    return open.ok() ? late.plus(*open) : Result<Amount>(late);
}

}  // namespace

namespace calls {

Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx,
                                                      const rewards::PublishedFee& fee) {
    GYM_TRY(auto rates, registry::published_cost_rates(tx));
    if (!fee.verification_premium_ppm || !fee.uptime_bonus_max_ppm) rates.reset();
    if (!rates) return rates;
    // Two services have a configuration each: a bound holds whichever takes more.
    rates->fee_ppm = std::max(rates->fee_ppm, fee.fee_ppm);
    rates->cost_bound_ppm =
        std::max(rates->cost_bound_ppm,
                 protocol::cost_of_compute_ppm(*fee.verification_premium_ppm,
                                               *fee.uptime_bonus_max_ppm, rates->fee_ppm));
    return rates;
}

Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx) {
    const auto fee = rewards::published_fee(tx);
    if (fee.ok()) return cost_rates(tx, *fee);
    if (fee.error().code == ErrorCode::kNotFound) return std::optional<protocol::CostRates>();
    return fee.error();
}

Result<JobCost> cost_of(db::Transaction& tx, const registry::Job& job, const std::string& asset) {
    const ledger::AccountKey escrow = rewards::escrow_account(asset, job.id);
    GYM_TRY(const ledger::Balance balance, ledger::balance(tx, escrow));
    JobCost cost{
        .spent = balance.debits, .reserved = balance.debits_pending, .left = balance.spendable()};
    GYM_TRY(const auto rates, cost_rates(tx));
    if (rates) {
        GYM_TRY(cost.committed, committed_of(tx, job, *rates));
    }
    if (!job.ended_at_ms) return cost;  // only an ended job gives money back
    GYM_TRY(cost.refunded, refunded_of(tx, escrow));
    GYM_TRY(cost.spent, balance.debits.minus(cost.refunded));
    return cost;
}

}  // namespace calls

Result<JobBill> PostgresBackend::bill(const Digest& id) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<JobBill> {
        GYM_TRY(const registry::Job job, registry::get_job(tx, id));
        GYM_TRY(const JobCost cost, calls::cost_of(tx, job, options_.asset));
        JobBill out{id, cost.spent, {}};
        GYM_TRY(out.kinds, rewards::job_totals(tx, id));
        return out;
    });
}

Result<std::vector<rewards::Receipt>> PostgresBackend::unit_receipts(const Digest& id) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) -> Result<std::vector<rewards::Receipt>> {
                           GYM_TRY([[maybe_unused]] const auto unit, registry::get_unit(tx, id));
                           return rewards::unit_receipts(tx, id);
                       });
}

Result<NetworkTerms> PostgresBackend::terms() {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<NetworkTerms> {
        NetworkTerms out;
        GYM_TRY(out.fee, rewards::published_fee(tx));
        GYM_TRY(out.bound, calls::cost_rates(tx, out.fee));
        GYM_TRY(out.sizes, registry::published_size_limits(tx));
        GYM_TRY(out.dispute_window_ms, registry::published_dispute_window(tx));
        return out;
    });
}

Result<std::vector<std::string>> PostgresBackend::mirrors() {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::published_mirrors(tx); });
}

Result<Market> PostgresBackend::market() {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<Market> {
        GYM_TRY(const db::Row row,
                tx.exec_one("SELECT count(*) AS jobs, percentile_disc(0.5) WITHIN GROUP (ORDER BY "
                            "price_wei_per_pflop) AS price FROM (SELECT price_wei_per_pflop FROM "
                            "registry.job ORDER BY submitted_at_ms DESC, id LIMIT 100) newest"));
        Market out{row.get<std::uint64_t>("jobs"), row.get<std::optional<Amount>>("price")};
        // A job whose last round is trained settles, and needs no workers.
        GYM_TRY(const db::Row running,
                tx.exec_one("SELECT count(*) AS jobs, coalesce(sum(slots_max), 0)::bigint AS slots "
                            "FROM registry.job j WHERE status = 'running' AND NOT EXISTS (SELECT "
                            "FROM registry.round r WHERE r.job_id = j.id AND r.round = j.rounds "
                            "AND r.state IN ('aggregated', 'closed'))"));
        out.running = running.get<std::uint64_t>("jobs");
        out.slots_running = running.get<std::uint64_t>("slots");
        out.least_wei_per_pflop = options_.price_per_pflop_min;
        GYM_TRY(
            const auto paid,
            // By what was trained: a job of a few steps at an absurd price counts for a few steps.
            tx.exec_optional(
                "SELECT CASE WHEN visibility = 'public' THEN id END AS id, price_wei_per_pflop "
                "FROM (SELECT id, visibility, price_wei_per_pflop, "
                "sum(trained) OVER (ORDER BY price_wei_per_pflop, id) AS below, sum(trained) "
                "OVER () AS total FROM (SELECT j.id, j.visibility, j.price_wei_per_pflop, (SELECT "
                "coalesce(sum(r.commitment_count), 0) FROM (SELECT commitment_count FROM "
                "registry.round WHERE job_id = j.id AND state IN ('aggregated', 'closed') "
                "ORDER BY round DESC LIMIT 100) r) * j.steps::numeric * "
                "greatest(coalesce(j.flops_per_step, 0), 1) AS trained FROM (SELECT * FROM "
                "registry.job "
                "ORDER BY submitted_at_ms DESC, id LIMIT 100) j) newest) paid "
                "WHERE total > 0 AND 2 * below >= total ORDER BY below, id LIMIT 1"));
        if (paid)
            out.paid = Market::Paid{paid->get<std::optional<Digest>>("id"),
                                    paid->get<Amount>("price_wei_per_pflop")};
        return out;
    });
}

}  // namespace gym::api
