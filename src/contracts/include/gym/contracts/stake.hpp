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
struct DefenderChanged {
    Address owner;
    Address defender;  ///< zero: nobody but the owner
    friend bool operator==(const DefenderChanged&, const DefenderChanged&) = default;
};
struct RecipientChanged {
    Address owner;
    Address recipient;
    std::uint64_t at_s = 0;  ///< from when on it is
    friend bool operator==(const RecipientChanged&, const RecipientChanged&) = default;
};
struct LocksChanged {
    Address owner;
    std::uint64_t locks = 0;  ///< units with games that are open against the owner
    friend bool operator==(const LocksChanged&, const LocksChanged&) = default;
};
struct ProofRecorded {
    Address owner;
    std::uint64_t number = 0;  ///< of the announcement of the game that was won
    Address prover;
    std::uint64_t moves = 0;  ///< what the game counts in the division of the compensation
    friend bool operator==(const ProofRecorded&, const ProofRecorded&) = default;
};
struct Slashed {
    Address owner;
    Address finder;
    Amount burned;
    Amount reward;
    Amount compensation;  ///< of provers beside the finder
    friend bool operator==(const Slashed&, const Slashed&) = default;
};
struct Compensated {
    std::uint64_t number = 0;  ///< of the game's announcement
    Address prover;
    Amount amount;
    friend bool operator==(const Compensated&, const Compensated&) = default;
};
using StakeEvent =
    std::variant<Staked, ThawStarted, StakeWithdrawn, DefenderChanged, RecipientChanged,
                 LocksChanged, ProofRecorded, Slashed, Compensated>;

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
    // The sender is the owner or its recipient.
    [[nodiscard]] ContractCall thaw(const Address& owner, const Amount& amount) const;
    [[nodiscard]] ContractCall withdraw(const Address& owner) const;
    /// @param defender who else may answer in games against `owner`; zero: nobody.
    [[nodiscard]] ContractCall set_defender(const Address& owner, const Address& defender) const;
    /// At once if the recipient sends it, a thaw period later if the owner does that is not the
    /// recipient.
    [[nodiscard]] ContractCall set_recipient(const Address& owner, const Address& recipient) const;
    /// Pays the prover of a won game. @param number of the game's announcement.
    [[nodiscard]] ContractCall compensate(std::uint64_t number) const;

    /// Who may do what with a stake besides its owner.
    struct Keys {
        Address defender;        ///< may answer in games; zero: nobody
        Address recipient;       ///< gets what is withdrawn; the owner unless it set another
        Address next_recipient;  ///< that the owner asked for; zero: none
        std::uint64_t next_recipient_at_s = 0;
    };
    [[nodiscard]] Result<Keys> keys_of(chain::ChainClient& client, const Address& owner,
                                       const chain::BlockId& at = chain::BlockTag::kLatest) const;

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
    /// What compensate() would pay now; nothing before the slash, of the finder's game, and where
    /// it is paid. @param number of the game's announcement.
    [[nodiscard]] Result<Amount> compensation_of(
        chain::ChainClient& client, std::uint64_t number,
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
