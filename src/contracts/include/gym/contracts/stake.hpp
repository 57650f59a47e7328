#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/crypto/key.hpp"

namespace gym::contracts {

struct Staked {
    Address owner;
    Address from;
    Amount amount;
    friend bool operator==(const Staked&, const Staked&) = default;
};
struct ThawStarted {
    Address owner;
    Amount amount;
    Amount shares;  ///< of the owner's thawing pool; a slash makes every share worth less
    std::uint64_t available_at_s = 0;
    friend bool operator==(const ThawStarted&, const ThawStarted&) = default;
};
struct StakeWithdrawn {
    Address owner;
    Amount amount;
    friend bool operator==(const StakeWithdrawn&, const StakeWithdrawn&) = default;
};
struct LocksChanged {
    Address owner;
    std::uint64_t locks = 0;  ///< units with games that are open against the owner
    friend bool operator==(const LocksChanged&, const LocksChanged&) = default;
};
struct Slashed {
    Address owner;
    Address finder;
    Address compensated;  ///< zero: none
    Amount burned;
    Amount reward;
    Amount compensation;
    friend bool operator==(const Slashed&, const Slashed&) = default;
};
using StakeEvent = std::variant<Staked, ThawStarted, StakeWithdrawn, LocksChanged, Slashed>;

class Stake {
  public:
    explicit Stake(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall stake(const Address& owner, const Amount& amount) const;
    /// The sender of the transaction must be the signer of the permit.
    [[nodiscard]] ContractCall stake_with_permit(const Address& owner, const Amount& amount,
                                                 std::uint64_t deadline_s,
                                                 const crypto::Signature& permit) const;
    [[nodiscard]] ContractCall thaw(const Amount& amount) const;
    [[nodiscard]] ContractCall withdraw() const;

    struct Holding {
        Amount active;            ///< backs units
        Amount thawing;           ///< backs nothing new, can still be slashed
        std::uint64_t locks = 0;  ///< nothing can be withdrawn unless 0
    };
    [[nodiscard]] Result<Holding> stake_of(
        chain::ChainClient& client, const Address& owner,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    /// Of each of `owners`, in order; many take few round trips.
    [[nodiscard]] Result<std::vector<Holding>> stakes_of(
        chain::ChainClient& client, std::span<const Address> owners,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<std::uint64_t> thaw_count(
        chain::ChainClient& client, const Address& owner,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<std::uint64_t> thaw_period_s(chain::ChainClient& client) const;
    [[nodiscard]] Result<Address> token(chain::ChainClient& client) const;
    [[nodiscard]] Result<Address> game(chain::ChainClient& client) const;

    [[nodiscard]] Result<std::optional<StakeEvent>> parse_event(const chain::Log& log) const;
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

}  // namespace gym::contracts
