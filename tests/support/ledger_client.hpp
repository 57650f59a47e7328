#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/ledger.hpp"

// Calls of the ledger that tests and benchmarks make and no service does.
namespace gym::ledger {

struct Entry {
    std::int64_t version = 0;
    TransferId transfer;
    bool is_credit = false;
    Amount amount;
    std::string balance_after;  ///< decimal, may start with '-'
    std::string reason;
    UnixMs created_at = 0;
};

struct Transfer {
    TransferId id;
    TransferKind kind = TransferKind::kTransfer;
    AccountId debit{};
    AccountId credit{};
    Amount amount;
    std::optional<TransferId> pending;
    std::optional<TransferId> resolved_by;  ///< of a pending transfer
    std::optional<TransferKind> resolution;
    std::optional<UnixMs> expires_at;
    std::string reason;
    UnixMs created_at = 0;
};

/// @errors kNotFound.
Result<AccountId> find_account(db::Transaction& transaction, const AccountKey& key);
/// Closes the account: no further transfer may touch it. @errors kConflict unless balance and
/// pending sums are zero.
Status close_account(db::Transaction& transaction, AccountId account);
/// Writes kExpire for at most `count_max` pending transfers past their expiry. @return how many.
Result<std::size_t> expire(db::Transaction& transaction, UnixMs now, std::size_t count_max = 1000);
Result<std::optional<Transfer>> find_transfer(db::Transaction& transaction, const TransferId& id);
/// Entries after `version`, oldest first.
Result<std::vector<Entry>> history(db::Transaction& transaction, AccountId account,
                                   std::int64_t after_version = 0, std::size_t count_max = 1000);

/// The ledger with a transaction for each call, retried on lost connections (all calls are
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
