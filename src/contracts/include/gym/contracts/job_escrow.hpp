#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/crypto/key.hpp"
#include "gym/records/order.hpp"

namespace gym::contracts {

struct Deposited {
    Address owner;
    Address from;
    Amount amount;
    Amount deposit_id;  ///< counts from 1 without gaps
    friend bool operator==(const Deposited&, const Deposited&) = default;
};
struct Released {
    std::uint64_t epoch = 0;
    Address owner;
    Amount amount;
    friend bool operator==(const Released&, const Released&) = default;
};
struct WithdrawalRequested {
    Address owner;
    Amount amount;
    std::uint64_t available_at_s = 0;
    friend bool operator==(const WithdrawalRequested&, const WithdrawalRequested&) = default;
};
/// A signed order locked money of its owner.
struct Locked {
    Address owner;
    Digest nonce;
    Digest job;  ///< whose budget is raised; zero for the order of a job itself
    Amount amount;
    friend bool operator==(const Locked&, const Locked&) = default;
};
struct LockedOwn {
    Address owner;
    Amount amount;
    friend bool operator==(const LockedOwn&, const LockedOwn&) = default;
};
struct Unlocked {
    Address owner;
    Amount amount;
    Amount total;  ///< of the owner over all time
    friend bool operator==(const Unlocked&, const Unlocked&) = default;
};
struct Withdrawn {
    Address owner;
    Amount amount;
    friend bool operator==(const Withdrawn&, const Withdrawn&) = default;
};
struct ExitRequested {
    Address owner;
    std::uint64_t available_at_s = 0;  ///< 0: the owner has left, or stays
    friend bool operator==(const ExitRequested&, const ExitRequested&) = default;
};
using EscrowEvent = std::variant<Deposited, Released, WithdrawalRequested, Locked, LockedOwn,
                                 Unlocked, Withdrawn, ExitRequested>;

class JobEscrow {
  public:
    explicit JobEscrow(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall deposit(const Address& owner, const Amount& amount) const;
    /// The sender of the transaction must be the signer of the permit.
    [[nodiscard]] ContractCall deposit_with_permit(const Address& owner, const Amount& amount,
                                                   std::uint64_t deadline_s,
                                                   const crypto::Signature& permit) const;
    /// At most 256 owners, each once per epoch.
    [[nodiscard]] ContractCall release(std::uint64_t epoch,
                                       const std::vector<std::pair<Address, Amount>>& spent) const;
    [[nodiscard]] ContractCall request_withdrawal(const Amount& amount) const;
    /// Locks what the owner signed for; `signature` is over records::order_digest().
    [[nodiscard]] ContractCall lock(const records::JobOrder& order,
                                    const crypto::Signature& signature) const;
    [[nodiscard]] ContractCall lock(const records::JobFunding& funding,
                                    const crypto::Signature& signature) const;
    /// The sender's own balance.
    [[nodiscard]] ContractCall lock_own(const Amount& amount) const;
    /// (owner, what is unlocked of it over all time), at most 256.
    [[nodiscard]] ContractCall unlock(const std::vector<std::pair<Address, Amount>>& totals) const;
    [[nodiscard]] ContractCall withdraw() const;
    [[nodiscard]] ContractCall request_exit() const;
    [[nodiscard]] ContractCall cancel_exit() const;
    [[nodiscard]] ContractCall exit() const;
    [[nodiscard]] ContractCall set_release_cap(const Amount& cap) const;
    [[nodiscard]] ContractCall set_owner_release_cap(const Amount& cap) const;

    [[nodiscard]] Result<Amount> balance_of(
        chain::ChainClient& client, const Address& owner,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    /// The part of the owner's balance that is locked.
    [[nodiscard]] Result<Amount> locked_of(
        chain::ChainClient& client, const Address& owner,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> total_locked(
        chain::ChainClient& client, const chain::BlockId& at = chain::BlockTag::kLatest) const;
    /// What the order with this nonce locked; zero if it did not.
    [[nodiscard]] Result<Amount> lock_of(chain::ChainClient& client, const records::JobOrder& order,
                                         const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> lock_of(chain::ChainClient& client,
                                         const records::JobFunding& funding,
                                         const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> total_balance(
        chain::ChainClient& client, const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> released_of(
        chain::ChainClient& client, std::uint64_t epoch, const Address& owner,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    /// The most that one epoch may release, of all owners and of one.
    [[nodiscard]] Result<Amount> release_cap(chain::ChainClient& client) const;
    [[nodiscard]] Result<Amount> owner_release_cap(chain::ChainClient& client) const;
    /// (the epoch of the latest releases, the amount it has released)
    [[nodiscard]] Result<std::pair<std::uint64_t, Amount>> release_state(
        chain::ChainClient& client) const;
    /// (amount, Unix seconds from which it can be withdrawn)
    [[nodiscard]] Result<std::pair<Amount, std::uint64_t>> withdrawal_of(
        chain::ChainClient& client, const Address& owner) const;

    /// Unix seconds from which exit() pays; 0: the owner does not leave.
    [[nodiscard]] Result<std::uint64_t> exit_of(chain::ChainClient& client,
                                                const Address& owner) const;

    [[nodiscard]] Result<std::optional<EscrowEvent>> parse_event(const chain::Log& log) const;
    /// Topic 0 of every EscrowEvent, for LogFilter.
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

}  // namespace gym::contracts
