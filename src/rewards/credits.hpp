#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/rewards/accounting.hpp"
#include "gym/rewards/credit.hpp"
#include "gym/rewards/queries.hpp"

// Credits: rows of rewards.credit and the transfers that they stand for, written together.
namespace gym::rewards {

/// What one step of the accounting works with.
struct Books {
    db::Transaction& transaction;
    const RewardsConfig& config;
    UnixMs now = 0;
    std::map<Digest, registry::Job> jobs = {};  ///< seen in this transaction

    Result<registry::Job> job(const Digest& id);
    /// Opens both accounts and asks for a transfer between them.
    Result<ledger::TransferStatus> move(
        const ledger::TransferId& id, const ledger::AccountKey& debit,
        const ledger::AccountKey& credit, const Amount& amount, const std::string& reason,
        ledger::TransferKind kind = ledger::TransferKind::kTransfer);
    /// The same; an error unless it is booked.
    Status must_move(const ledger::TransferId& id, const ledger::AccountKey& debit,
                     const ledger::AccountKey& credit, const Amount& amount,
                     const std::string& reason);
    Result<ledger::TransferStatus> resolve(const ledger::TransferId& id,
                                           const ledger::TransferId& pending,
                                           ledger::TransferKind kind);
};

/// Computes the amount and books the credit under `id`: pending (kCompute, until the unit is final)
/// or at once. A credit of zero leaves no trace, nor does one that a payer cannot cover; one that
/// the escrow cannot cover is kept as unfunded and its job asked to pause.
Status book_credit(Books& books, const ledger::TransferId& id, Credit credit);

/// Fee, burn and emission of a round whose other credits are booked.
Status book_round_fees(Books& books, const Digest& job_id, std::uint64_t round);
/// The fee on one credit that was paid after its round had been finished; nothing for one of a
/// round that is not, whose fee is still to come, and for a fee itself.
Status book_late_fee(Books& books, const std::string& credit_uuid);

/// "SELECT c.id, ... FROM rewards.credit c ", whose rows to_receipt() reads.
[[nodiscard]] const std::string& receipt_select();
Result<Receipt> to_receipt(const db::Row& row);

db::TransactOptions idempotent();

}  // namespace gym::rewards
