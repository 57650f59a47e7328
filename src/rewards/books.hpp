#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/dataset_parts.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/rewards/accounting.hpp"
#include "gym/rewards/credit.hpp"

// Credits and the transfers that they stand for, written together.
namespace gym::rewards {

/// The transaction, terms and moment of one step of the accounting.
struct Books {
    db::Transaction& transaction;
    const RewardsConfig& config;
    UnixMs now = 0;
    std::map<Digest, registry::Job> jobs = {};  ///< seen in this transaction

    /// Providers of jobs on mixes, likewise.
    std::map<Digest, std::vector<registry::JobDataPart>> data = {};

    Result<registry::Job> job(const Digest& id);
    Result<std::vector<registry::JobDataPart>> data_of(const Digest& job_id);
    /// Opens both accounts and submits a transfer between them.
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

db::TransactOptions idempotent();

}  // namespace gym::rewards
