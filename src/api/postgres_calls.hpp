#pragma once

#include "gym/api/postgres.hpp"

/// How the backend talks to the database: briefly, because a person waits for the answer.
namespace gym::api::calls {

template <class F>
auto read(db::Database& database, const PostgresBackend::Options& options, F&& body) {
    db::TransactOptions transact;
    transact.isolation = db::Isolation::kRepeatableRead;  // one picture for all statements
    transact.read_only = true;
    transact.idempotent = true;
    transact.give_up_after = options.give_up_after;
    return database.transact(std::forward<F>(body), transact);
}

/// `body` finds its own work when it is run again.
template <class F>
auto write(db::Database& database, const PostgresBackend::Options& options, F&& body) {
    db::TransactOptions transact;
    transact.idempotent = true;
    transact.give_up_after = options.give_up_after;
    return database.transact(std::forward<F>(body), transact);
}

/// Rates that bound a job's costs; absent until coordinator and gym-rewards have published them.
Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx);
Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx,
                                                      const rewards::PublishedFee& fee);

Result<JobCost> cost_of(db::Transaction& tx, const registry::Job& job, const std::string& asset);

/// A statement whose rows are a name and a count.
inline Result<std::map<std::string, std::uint64_t>> count_by(db::Transaction& tx,
                                                             std::string_view sql,
                                                             db::Params params = {}) {
    GYM_TRY(const db::Rows rows, tx.exec(sql, params));
    std::map<std::string, std::uint64_t> out;
    for (const db::Row row : rows)
        out[row.get<std::string>(0)] = row.get<std::uint64_t>(1);
    return out;
}

}  // namespace gym::api::calls
