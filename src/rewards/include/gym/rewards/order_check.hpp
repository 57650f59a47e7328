#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/verify.hpp"
#include "gym/records/order.hpp"
#include "gym/rewards/fact_check.hpp"

/// Recovers the signers of orders again after their money has moved. Auditors need it: they trust
/// neither gym-api nor gym-rewards.
namespace gym::rewards {

/// What JobEscrow has locked by an order, over all time; zero if it has not.
using ReadLock = std::function<Result<Amount>(const registry::StoredOrder&)>;

/// Compares what jobs paid in the last of `files` with what their owners signed: each job has an
/// order that its owner signed for this network, over its price of work and at least its price of
/// data, the chain has locked what each order is for, and all files together pay no more than these
/// orders come to. One sentence a deviation, in the order of the jobs' ids; empty if all holds.
/// @param files epochs 1, 2, .. without a gap. @errors those of the source and of `read_lock`.
[[nodiscard]] Result<std::vector<std::string>> check_orders(const std::vector<EpochFile>& files,
                                                            FactSource& facts,
                                                            const records::OrderNetwork& network,
                                                            const ReadLock& read_lock);

struct LockedOrders {
    std::uint64_t count = 0;
    std::vector<ledger::Problem> problems;  ///< in the order in which the orders came
};
/// Recovers the signer of every order whose money was locked; all must be for one network. Needs a
/// role that may read the orders (gym_auditor).
Result<LockedOrders> verify_locked_orders(db::Database& database);

}  // namespace gym::rewards
