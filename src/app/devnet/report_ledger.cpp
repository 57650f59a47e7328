#include <algorithm>

#include "gym/devnet/report.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"

// What the ledger, its auditors and the registry say about money.
namespace gym::devnet {
namespace {

constexpr std::uint32_t kEpochsMax = 1'000;

/// The transfers that decided credits, by what was credited: from the ledger, not from the credits'
/// own amounts.
Status read_credits(db::Transaction& tx, LedgerReport& out) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT c.kind, sum(t.amount)::text AS amount FROM rewards.credit c "
                    "JOIN ledger.transfer t ON t.id = c.posting WHERE c.state = 'posted' "
                    "GROUP BY c.kind"));
    for (const db::Row row : rows) {
        GYM_TRY(out.credits[row.get<std::string>("kind")],
                Amount::parse(row.get<std::string>("amount")));
    }
    GYM_TRY(const db::Row count, tx.exec_one("SELECT count(*) AS n FROM ledger.transfer"));
    out.transfers = count.get<std::uint64_t>("n");
    return {};
}

/// Rows of all audit views: each is an invariant that does not hold.
Status read_violations(db::Transaction& tx, LedgerReport& out) {
    GYM_TRY(const db::Rows views,
            tx.exec("SELECT quote_ident(viewname) AS name FROM pg_views WHERE schemaname = 'audit' "
                    "ORDER BY viewname"));
    if (views.empty()) return fail(ErrorCode::kNotFound, "the database has no audit views");
    for (const db::Row view : views) {
        const auto name = view.get<std::string>("name");
        GYM_TRY(const db::Row row, tx.exec_one("SELECT count(*) AS n FROM audit." + name));
        const auto count = row.get<std::uint64_t>("n");
        out.audit_violations += count;
        if (count > 0) out.violated.push_back(name);
    }
    return {};
}

}  // namespace

Amount LedgerReport::credit(const std::string& kind) const {
    const auto found = credits.find(kind);
    return found == credits.end() ? Amount() : found->second;
}

Result<LedgerReport> read_ledger_report(db::Transaction& tx) {
    LedgerReport out;
    GYM_CHECK(read_credits(tx, out));
    GYM_CHECK(read_violations(tx, out));
    GYM_TRY(out.epochs, rewards::list_epochs(tx, kEpochsMax));
    std::ranges::reverse(out.epochs);
    return out;
}

Result<ProviderSummary> read_provider(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const registry::Job job, registry::get_job(tx, job_id));
    GYM_TRY(const registry::Dataset dataset, registry::get_dataset(tx, job.dataset_root));
    std::optional<Digest> evaluation;
    if (dataset.measurement) evaluation = dataset.measurement->evaluation;
    return ProviderSummary{.address = dataset.owner,
                           .dataset_root = dataset.root,
                           .licence = dataset.licence,
                           .tokens = dataset.tokens,
                           .price_wei_per_mtoken = job.data_price_wei_per_mtoken,
                           .novelty_ppm = dataset.novelty_ppm,
                           .usefulness_ppm = dataset.usefulness_ppm,
                           .evaluation = evaluation,
                           .quality_ppm = job.data_quality_ppm};
}

}  // namespace gym::devnet
