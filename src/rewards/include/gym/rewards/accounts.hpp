#pragma once

#include <cstdint>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/ledger/types.hpp"
#include "gym/payouts/payout_tree.hpp"
#include "gym/records/order.hpp"

// The terms and the ledger accounts of a network.
namespace gym::rewards {

using payouts::PayoutDomain;

/// The earner of burned amounts: an address without a key, so that its payouts are never claimed.
inline constexpr Address kBurnAddress{
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xad}};

/// The fee that jobs pay on top of their credits, and the emission that a network may add to them
/// (docs/REWARDS.md).
struct FeeTerms {
    std::uint32_t fee_ppm = 0;       ///< of a round's credits; 0: no fee
    std::uint32_t burned_ppm = 0;    ///< of the fee; `account` gets the rest
    Address account;                 ///< needed with a fee
    std::uint32_t emission_ppm = 0;  ///< of what a round burns; 0: no emission
    Address emission_account;        ///< pays emission, as long as what it locked lasts

    /// @errors kInvalidArgument naming the terms that contradict each other.
    [[nodiscard]] Status check() const;
};

/// The terms that are fixed for a network.
struct RewardsConfig {
    PayoutDomain domain;
    Address escrow;  ///< JobEscrow, for which owners sign their orders
    FeeTerms fees;
    std::uint32_t verification_premium_ppm = 1'100'000;  ///< re-execution earns 1.1 times the work
    std::uint32_t uptime_bonus_max_ppm = 50'000;         ///< 5 % of compute at 100 % uptime
    std::int64_t uptime_window_ms =
        600'000;                    ///< uptime counts at least this far back from a round's end
    std::uint32_t batch_max = 200;  ///< feed rows of one database transaction
    std::uint64_t epoch_credits_max =
        100'000;  ///< of one epoch file, unless a single round has more

    [[nodiscard]] records::OrderNetwork order_network() const { return {domain.chain_id, escrow}; }
    [[nodiscard]] std::string asset() const {
        return ledger::erc20_asset(domain.chain_id, domain.token);
    }
};

// The ledger accounts of the network, by their keys.
[[nodiscard]] ledger::AccountKey available_account(const std::string& asset, const Address& owner);
[[nodiscard]] ledger::AccountKey escrow_account(const std::string& asset, const Digest& job_id);
/// What an account locked itself, to pay without orders: emission.
[[nodiscard]] ledger::AccountKey own_escrow_account(const std::string& asset, const Address& owner);
[[nodiscard]] ledger::AccountKey earned_account(const std::string& asset, const Address& earner);
[[nodiscard]] ledger::AccountKey payable_account(const std::string& asset, const Address& earner);
[[nodiscard]] ledger::AccountKey withdrawing_account(const std::string& asset,
                                                     const Address& owner);
[[nodiscard]] ledger::AccountKey chain_escrow_account(const std::string& asset);
[[nodiscard]] ledger::AccountKey chain_distributor_account(const std::string& asset);

}  // namespace gym::rewards
