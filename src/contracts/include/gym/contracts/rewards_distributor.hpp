#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/payouts/payout_tree.hpp"

namespace gym::contracts {

struct RootSubmitted {
    std::uint64_t epoch = 0;
    Digest root;
    Amount total_cumulative;
    Digest epoch_file_root;
    std::uint64_t active_at_s = 0;
    friend bool operator==(const RootSubmitted&, const RootSubmitted&) = default;
};
/// An earner's leaf of a pending root has to be shown before the root is active.
struct LeafDemanded {
    std::uint64_t epoch = 0;
    Address earner;
    Amount cumulative;  ///< under the active root
    Address by;
    friend bool operator==(const LeafDemanded&, const LeafDemanded&) = default;
};
struct LeafShown {
    std::uint64_t epoch = 0;
    Address earner;
    friend bool operator==(const LeafShown&, const LeafShown&) = default;
};
struct RootDisabled {
    std::uint64_t epoch = 0;
    friend bool operator==(const RootDisabled&, const RootDisabled&) = default;
};
struct Claimed {
    Address earner;
    Address recipient;
    Amount amount;
    Amount cumulative;
    friend bool operator==(const Claimed&, const Claimed&) = default;
};
struct RecipientSet {
    Address earner;
    Address recipient;  ///< zero: the earner itself
    friend bool operator==(const RecipientSet&, const RecipientSet&) = default;
};
using DistributorEvent =
    std::variant<RootSubmitted, RootDisabled, LeafDemanded, LeafShown, Claimed, RecipientSet>;

/// A leaf: everything that an earner ever earned, and its path. Sums are below 2^128.
struct Claim {
    Address earner;
    Amount cumulative;
    payouts::PayoutPath path;
};

class RewardsDistributor {
  public:
    explicit RewardsDistributor(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    /// `root.active_at_s` is not part of the call.
    [[nodiscard]] ContractCall submit_root(const RootSubmitted& root) const;
    [[nodiscard]] ContractCall disable(std::uint64_t epoch) const;
    /// Anybody may, as long as the root is pending. `active` is an earner's leaf under the active
    /// root, `pending` the one at which its path ends under the pending root: with less, or another
    /// earner's.
    [[nodiscard]] ContractCall disable_fallen(std::uint64_t epoch, const Claim& active,
                                              const Claim& pending) const;
    /// Has to be sent with demand_bond().
    [[nodiscard]] ContractCall demand_leaf(std::uint64_t epoch, const Claim& active) const;
    [[nodiscard]] ContractCall show_leaf(std::uint64_t epoch, const Claim& pending) const;
    /// From the account that demanded the leaf.
    [[nodiscard]] ContractCall reclaim_bond(std::uint64_t epoch, const Address& earner) const;
    [[nodiscard]] ContractCall claim(const Claim& claim) const;
    /// At most 256 claims.
    [[nodiscard]] ContractCall claim_many(const std::vector<Claim>& claims) const;

    /// The root that pays now / that waits; epoch 0 if there is none.
    [[nodiscard]] Result<RootSubmitted> active_root(
        chain::ChainClient& client, const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<RootSubmitted> pending_root(
        chain::ChainClient& client, const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> claimed(chain::ChainClient& client, const Address& earner,
                                         const chain::BlockId& at = chain::BlockTag::kLatest) const;
    /// In the smallest unit of the chain's own coin.
    [[nodiscard]] Result<Amount> demand_bond(chain::ChainClient& client) const;
    /// Demands of leaves of the last root that are open.
    [[nodiscard]] Result<Amount> open_demands(
        chain::ChainClient& client, const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> growth_limit(chain::ChainClient& client) const;
    [[nodiscard]] Result<Amount> total_claimed(
        chain::ChainClient& client, const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Address> recipient_of(chain::ChainClient& client,
                                               const Address& earner) const;
    [[nodiscard]] Result<Digest> leaf_of(chain::ChainClient& client, const Address& earner,
                                         const Amount& cumulative) const;

    [[nodiscard]] Result<std::optional<DistributorEvent>> parse_event(const chain::Log& log) const;
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

}  // namespace gym::contracts
