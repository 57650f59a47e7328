#pragma once

#include <cstddef>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/rewards/accounts.hpp"
#include "gym/rewards/settlement_chain.hpp"

namespace gym::rewards {

/// Turns owners' orders, chain events, unit states, accepted reports, decided prefixes and closed
/// rounds into credits and ledger transfers. Each step is one database transaction that moves its
/// cursor and its money together, under ids derived from the cause: stopping it at any point and
/// starting it again books nothing twice and loses nothing. One instance at a time makes progress
/// (a second one waits for its row locks). Not thread-safe.
class Accounting {
  public:
    Accounting(db::Database& database, const Clock& clock, RewardsConfig config)
        : database_(database), clock_(clock), config_(config) {}

    /// Publishes fee, premium and bonus for quotes (published_fee()).
    Status publish_fee();

    /// Books one finalized event. A second call with the same key succeeds and changes nothing.
    Status on_chain_event(const ChainEvent& event);

    /// Reserves the money of orders that their owners signed, and refuses the others
    /// (check_order()), some at one time. @return how many were decided.
    Result<std::size_t> take_orders();

    // Each reads at most batch_max rows of its feed and returns how many it read.
    Result<std::size_t> consume_unit_events();
    Result<std::size_t> consume_reports();
    Result<std::size_t> consume_prefixes();
    /// Books the uptime bonuses of closed rounds. Call it when all feeds are read to their end.
    Result<std::size_t> finish_rounds();
    /// Requests the end of all jobs of owners that leave, in their place: what they spent is
    /// released before they take the rest.
    Status end_jobs_of_leaving();
    /// Pays credits that found an empty escrow, if it can cover them now.
    Result<std::size_t> fund_unfunded();
    /// Returns what is left of the budgets of ended jobs to their owners.
    Result<std::size_t> refund_ended_jobs();

  private:
    db::Database& database_;
    const Clock& clock_;
    RewardsConfig config_;
};

}  // namespace gym::rewards
