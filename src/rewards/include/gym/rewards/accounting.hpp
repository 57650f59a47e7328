#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/types.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "gym/rewards/settlement_chain.hpp"

namespace gym::rewards {

/// Who gets what is burned: an address without a key. Its payouts are never claimed for anybody.
inline constexpr Address kBurnAddress{
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xad}};

/// What jobs pay on top of their credits, and what a network may add to them (docs/REWARDS.md).
struct FeeTerms {
    std::uint32_t fee_ppm = 0;       ///< of a round's credits; 0: no fee
    std::uint32_t burned_ppm = 0;    ///< of the fee; the rest is `account`'s
    Address account;                 ///< needed with a fee
    std::uint32_t emission_ppm = 0;  ///< of what a round burns; 0: no emission
    Address emission_account;        ///< whose deposit pays emission, as long as it lasts

    /// @errors kInvalidArgument naming what does not fit together.
    [[nodiscard]] Status check() const;
};

/// What is fixed for a network.
struct RewardsConfig {
    PayoutDomain domain;
    FeeTerms fees;
    std::uint32_t verification_premium_ppm = 1'100'000;  ///< re-execution earns 1.1 times the work
    std::uint32_t uptime_bonus_max_ppm = 50'000;         ///< 5 % of compute at 100 % uptime
    std::int64_t uptime_window_ms =
        600'000;                    ///< uptime counts at least so far back from a round's end
    std::uint32_t batch_max = 200;  ///< feed rows of one database transaction
    std::uint64_t epoch_credits_max = 100'000;  ///< of one epoch file, but for a single round's

    [[nodiscard]] std::string asset() const {
        return ledger::erc20_asset(domain.chain_id, domain.token);
    }
};

// The ledger accounts of the network, by their keys.
[[nodiscard]] ledger::AccountKey available_account(const std::string& asset, const Address& owner);
[[nodiscard]] ledger::AccountKey escrow_account(const std::string& asset, const Digest& job_id);
[[nodiscard]] ledger::AccountKey earned_account(const std::string& asset, const Address& earner);
[[nodiscard]] ledger::AccountKey payable_account(const std::string& asset, const Address& earner);
[[nodiscard]] ledger::AccountKey withdrawing_account(const std::string& asset,
                                                     const Address& owner);
[[nodiscard]] ledger::AccountKey chain_escrow_account(const std::string& asset);
[[nodiscard]] ledger::AccountKey chain_distributor_account(const std::string& asset);

/// Turns what happened (chain events, unit states, accepted reports, closed rounds) into credits
/// and ledger transfers. Each step is one database transaction that moves its cursor and its money
/// together, under ids derived from the cause: stopping it anywhere and starting it again books
/// nothing twice and loses nothing. One instance at a time makes progress (a second one waits for
/// its row locks). Not thread-safe.
class Accounting {
  public:
    Accounting(db::Database& database, const Clock& clock, RewardsConfig config)
        : database_(database), clock_(clock), config_(config) {}

    /// Tells fee, premium and bonus to whoever asks for a quote (published_fee()).
    Status publish_fee();

    /// Books one finalized event; again for the same key is success and changes nothing.
    Status on_chain_event(const ChainEvent& event);

    // Each reads at most batch_max rows of its feed and says how many.
    Result<std::size_t> consume_unit_events();
    Result<std::size_t> consume_reports();
    /// Uptime bonuses of rounds that closed; to be called when both feeds are read to their end.
    Result<std::size_t> finish_rounds();
    /// Credits that found an empty escrow, tried again.
    Result<std::size_t> fund_unfunded();
    /// Budgets that are left of ended jobs go back to their owners.
    Result<std::size_t> refund_ended_jobs();

  private:
    db::Database& database_;
    const Clock& clock_;
    RewardsConfig config_;
};

}  // namespace gym::rewards
