#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/rewards/accounting.hpp"
#include "gym/rewards/settlement_chain.hpp"

namespace gym::rewards {

/// Publishes an epoch file. A second call with the same content succeeds.
using PublishFile =
    std::function<Status(std::uint64_t epoch, const Digest& root, std::string_view json)>;

struct Reconciliation {
    std::uint64_t block = 0;
    Amount escrow_ledger, escrow_chain;
    Amount distributor_ledger, distributor_chain;
    Amount claimed_ledger, claimed_chain;
    Amount locked_ledger, locked_chain;
    /// Deposits, locks and claims agree to the last unit, and the distributor holds at least what
    /// is owed. It may hold more: a stranger's gift must not stop the network.
    [[nodiscard]] bool agrees() const {
        return escrow_ledger == escrow_chain && claimed_ledger == claimed_chain &&
               locked_ledger == locked_chain && distributor_ledger <= distributor_chain;
    }
};

/// Epochs: closes the books over finished rounds, publishes the file, and brings release and payout
/// root on chain, one epoch after the other. All state is in schema rewards; see Accounting for
/// what a crash means.
class Settlement {
  public:
    Settlement(db::Database& database, const Clock& clock, RewardsConfig config,
               SettlementChain& chain, PublishFile publish)
        : database_(database),
          clock_(clock),
          config_(config),
          chain_(chain),
          publish_(std::move(publish)) {}

    /// Closes an epoch over the finished rounds, oldest first, that the contracts' limits let one
    /// epoch pay, if there is something to pay and no epoch is under way: earned -> payable,
    /// cumulative totals, file, root. A round is paid as a whole; one that does not fit keeps no
    /// other waiting. @return the epoch that was closed, if any.
    Result<std::optional<std::uint64_t>> close_epoch();
    /// Takes the epoch under way one step further: file published -> released -> root submitted.
    /// @return true if no epoch is under way, or it has just ended.
    Result<bool> advance();
    /// Brings the locks of accepted orders on chain. A job starts, and its budget grows, once the
    /// lock is in a finalized block; an order that the contract will not take is refused, and its
    /// money is free again. @return how many were decided.
    Result<std::size_t> lock_orders();
    /// Unlocks what owners have locked and their jobs need no more.
    Status unlock();
    /// Shows the leaves that are demanded of the pending root: a root that leaves one out never
    /// pays.
    Status show_leaves();

    /// Compares the ledger with the contracts at the end of `block`, up to which all events are
    /// booked. Stores the result (rewards.reconciliation). @errors as the chain and the database.
    Result<Reconciliation> reconcile(std::uint64_t block);

  private:
    db::Database& database_;
    const Clock& clock_;
    RewardsConfig config_;
    SettlementChain& chain_;
    PublishFile publish_;
};

}  // namespace gym::rewards
