#pragma once

#include "gym/api/postgres.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/registry/job_spec.hpp"

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

/// The weights that a job of `owner` begins from, if it may and they fit.
/// @param needed the program's parameters.
/// @errors kNotFound (no such state, job or round, or a job whose model the owner may not see); as
/// engine::Differences.
Result<registry::StateRef> find_weights(db::Transaction& tx, const Address& owner,
                                        const registry::InitialWeights& init,
                                        const engine::StateLayout& needed);

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
