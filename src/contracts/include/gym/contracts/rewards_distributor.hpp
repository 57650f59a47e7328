#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"

namespace gym::contracts {

struct RootSubmitted {
    std::uint64_t epoch = 0;
    Digest root;
    Amount total_cumulative;
    Digest epoch_file_root;
    std::uint64_t active_at_s = 0;
    friend bool operator==(const RootSubmitted&, const RootSubmitted&) = default;
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
using DistributorEvent = std::variant<RootSubmitted, RootDisabled, Claimed, RecipientSet>;

/// One earner's claim: everything it ever earned, and the siblings from its leaf up.
struct Claim {
    Address earner;
    Amount cumulative;
    std::vector<Digest> proof;
};

class RewardsDistributor {
  public:
    explicit RewardsDistributor(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    /// `root.active_at_s` is not part of the call.
    [[nodiscard]] ContractCall submit_root(const RootSubmitted& root) const;
    [[nodiscard]] ContractCall disable(std::uint64_t epoch) const;
    /// Anybody may, as long as the root is pending. `active` and `pending` are leaves of one earner
    /// under the active and the pending root, the latter with less.
    [[nodiscard]] ContractCall disable_fallen(std::uint64_t epoch, const Claim& active,
                                              const Claim& pending) const;
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
