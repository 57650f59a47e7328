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
#include "gym/rewards/epoch_file.hpp"
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

struct NewCredit {
    ledger::TransferId id;
    CreditKind kind = CreditKind::kCompute;
    Address earner;
    Address node;
    Digest job_id;
    std::uint64_t round = 0;
    std::optional<Digest> unit;
    std::optional<Address> payer;  ///< whose available tokens pay it; absent: the job's escrow
    CreditInputs inputs;
};

/// Computes the amount and books it: pending (kCompute, until the unit is final) or at once. A
/// credit of zero leaves no trace, nor does one that a payer cannot cover; one that the escrow
/// cannot cover is kept as unfunded and its job asked to pause.
Status book_credit(Books& books, const NewCredit& credit);

/// Fee, burn and emission of a round whose other credits are booked.
Status book_round_fees(Books& books, const Digest& job_id, std::uint64_t round);
/// The fee on one credit that was paid after its round had been finished; nothing for one of a
/// round that is not, whose fee is still to come, and for a fee itself.
Status book_late_fee(Books& books, const std::string& credit_uuid);

inline constexpr std::string_view kReceiptSelect =
    "SELECT c.id, c.kind, c.state, c.posting, c.earner, c.node, c.job_id, c.round, c.unit_id, "
    "c.flops, "
    "c.tokens, c.price, c.premium_ppm, c.quality_ppm, c.compute, c.uptime_ppm, c.bonus_max_ppm, "
    "c.amount, "
    "c.challenges, c.answered, c.charged, c.fee_ppm, c.burned_ppm, c.burned, c.emission_ppm, "
    "c.compute_total, c.payer, c.reason, c.epoch, c.created_at_ms, c.changed_at_ms FROM "
    "rewards.credit c ";
Result<Receipt> to_receipt(const db::Row& row);

db::TransactOptions idempotent();

}  // namespace gym::rewards
