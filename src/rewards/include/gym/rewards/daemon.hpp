#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gym/rewards/accounting.hpp"
#include "gym/rewards/settlement.hpp"

namespace gym::rewards {

/// How far the finalized chain has been delivered to Accounting::on_chain_event.
struct ChainProgress {
    std::uint64_t finalized_block = 0;
    bool caught_up = false;  ///< everything up to finalized_block was delivered
};

struct TickReport {
    std::size_t orders = 0;  ///< accepted or refused
    std::size_t locks = 0;   ///< of accepted orders: on chain, or given up
    std::size_t unit_events = 0;
    std::size_t reports = 0;
    std::size_t prefixes = 0;
    std::size_t rounds = 0;
    std::optional<std::uint64_t> epoch_closed;
    bool settled = false;  ///< no epoch is under way
    std::optional<Reconciliation> reconciliation;
};

/// One pass over everything, in an order in which each step sees what the one before wrote: orders,
/// their locks, chain events, units, reports, rounds, unfunded credits, epochs, orders,
/// reconciliation.
class Daemon {
  public:
    using FollowChain =
        std::function<Result<ChainProgress>(const std::function<Status(const ChainEvent&)>&)>;

    Daemon(Accounting& accounting, Settlement& settlement, FollowChain follow)
        : accounting_(accounting), settlement_(settlement), follow_(std::move(follow)) {}

    /// @errors kUnavailable, kTimeout: try again; kMismatch and others need a person.
    Result<TickReport> tick();

  private:
    Accounting& accounting_;
    Settlement& settlement_;
    FollowChain follow_;
    std::uint64_t reconciled_block_ = 0;
    bool reconcile_due_ = true;
};

}  // namespace gym::rewards
