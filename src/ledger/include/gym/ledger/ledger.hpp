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
/// @errors kNotFound.
Result<AccountId> find_account(db::Transaction& transaction, const AccountKey& key);
/// No further transfer may touch the account. @errors kConflict unless balance and pending sums are
/// zero.
Status close_account(db::Transaction& transaction, AccountId account);

/// Decides and books `requests` in order, one round trip; one status each. Requests of one group
/// must be neighbours. A request that cannot be booked leaves no trace and does not stop the
/// others. `now` decides expiry. @errors kInvalidArgument above kBatchMax or for a group that is
/// split.
Result<std::vector<TransferStatus>> submit(db::Transaction& transaction,
                                           std::span<const TransferRequest> requests, UnixMs now);
/// Writes kExpire for at most `count_max` pending transfers past their expiry; how many.
Result<std::size_t> expire(db::Transaction& transaction, UnixMs now, std::size_t count_max = 1000);

Result<Balance> balance(db::Transaction& transaction, AccountId account);
/// The zero balance for an account that was never opened.
Result<Balance> balance(db::Transaction& transaction, const AccountKey& key);
Result<std::optional<Transfer>> find_transfer(db::Transaction& transaction, const TransferId& id);
/// Entries after `version`, oldest first.
Result<std::vector<Entry>> history(db::Transaction& transaction, AccountId account,
                                   std::int64_t after_version = 0, std::size_t count_max = 1000);

/// Violated invariants, one sentence each; empty when all is well. Recomputes every balance from
/// the entries: minutes on a large ledger. Needs a role that may read schema audit.
Result<std::vector<std::string>> audit(db::Transaction& transaction);

/// The same, each call a transaction of its own, retried on lost connections (all calls are
/// idempotent). Thread-safe.
class Ledger {
  public:
    Ledger(db::Database& database, const Clock& clock) : database_(database), clock_(clock) {}

    Result<AccountId> open_account(const AccountKey& key);
    Result<std::vector<TransferStatus>> submit(std::span<const TransferRequest> requests);
    Result<std::size_t> expire(std::size_t count_max = 1000);
    Result<Balance> balance(const AccountKey& key);
    Result<Balance> balance(AccountId account);
    Result<std::vector<Entry>> history(AccountId account, std::int64_t after_version = 0,
                                       std::size_t count_max = 1000);

    /// All views see one moment.
    Result<std::vector<std::string>> audit();

  private:
    db::Database& database_;
    const Clock& clock_;
};

}  // namespace gym::ledger
