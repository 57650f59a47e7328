#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/types.hpp"

namespace gym::ledger {

/// Most requests of one submit().
inline constexpr std::size_t kBatchMax = 4096;

// The ledger inside a transaction of the caller's, so that its own rows (a cursor, an idempotency
// key) commit together with the transfers or not at all. Rules and history are enforced by the
// database (sql/migrations/0010_ledger.sql); these functions are the only way in for any role.

/// The account's id; opened if it does not exist. @errors kInvalidArgument for a bad name.
Result<AccountId> open_account(db::Transaction& transaction, const AccountKey& key);
/// Decides and books `requests` in order, one round trip; one status each. Requests of one group
/// must be neighbours. A request that cannot be booked leaves no trace and does not stop the
/// others. `now` decides expiry. @errors kInvalidArgument above kBatchMax or for a group that is
/// split.
Result<std::vector<TransferStatus>> submit(db::Transaction& transaction,
                                           std::span<const TransferRequest> requests, UnixMs now);
Result<Balance> balance(db::Transaction& transaction, AccountId account);
/// The zero balance for an account that was never opened.
Result<Balance> balance(db::Transaction& transaction, const AccountKey& key);
/// Violated invariants, one sentence each; empty when all is well. Recomputes every balance from
/// the entries: minutes on a large ledger. Needs a role that may read schema audit.
Result<std::vector<std::string>> audit(db::Transaction& transaction);

}  // namespace gym::ledger
