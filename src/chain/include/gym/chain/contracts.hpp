#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"

// Bindings of contracts/src, described in contracts/README.md: calls as data to send, views,
// events. Amounts are base units of the token. Views: @errors as ChainClient; kConflict with the
// decoded revert; kNotFound if there is no contract at the address. Events: nullopt for a log of
// another kind or contract,
// @errors kMalformed for a log that has the kind but not the form.

namespace gym::chain {

/// A contract call that waits for a sender.
struct ContractCall {
    Address to;
    Bytes data;
    std::string label;
    Amount value_wei = {};

    [[nodiscard]] IntentRequest intent(std::string id) const;
};

/// GymToken: ERC-20 with EIP-2612 permits.
class GymToken {
  public:
    GymToken(std::uint64_t chain_id, Address address) : chain_id_(chain_id), address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall approve(const Address& spender, const Amount& amount) const;
    [[nodiscard]] ContractCall transfer(const Address& to, const Amount& amount) const;
    [[nodiscard]] Result<Amount> balance_of(ChainClient& client, const Address& owner,
                                            const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> allowance(ChainClient& client, const Address& owner,
                                           const Address& spender) const;
    [[nodiscard]] Result<Amount> total_supply(ChainClient& client) const;
    /// The number of permits that `owner` used.
    [[nodiscard]] Result<Amount> permit_nonce(ChainClient& client, const Address& owner) const;
    /// The owner's signature that lets `spender` take `amount` until `deadline_s` (Unix seconds).
    /// The domain is computed here, never taken from a node, which could have another contract's
    /// message signed.
    [[nodiscard]] crypto::Signature sign_permit(const crypto::PrivateKey& owner,
                                                const Address& spender, const Amount& amount,
                                                const Amount& nonce,
                                                std::uint64_t deadline_s) const;

  private:
    std::uint64_t chain_id_;
    Address address_;
};

// --- JobEscrow
// -------------------------------------------------------------------------------------------

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
struct WithdrawalTrimmed {
    Address owner;
    Amount amount;  ///< what is left of the request
    friend bool operator==(const WithdrawalTrimmed&, const WithdrawalTrimmed&) = default;
};
struct Withdrawn {
    Address owner;
    Amount amount;
    friend bool operator==(const Withdrawn&, const Withdrawn&) = default;
};
using EscrowEvent =
    std::variant<Deposited, Released, WithdrawalRequested, WithdrawalTrimmed, Withdrawn>;

class JobEscrow {
  public:
    explicit JobEscrow(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall deposit(const Address& owner, const Amount& amount) const;
    /// The sender of the transaction must be who signed the permit.
    [[nodiscard]] ContractCall deposit_with_permit(const Address& owner, const Amount& amount,
                                                   std::uint64_t deadline_s,
                                                   const crypto::Signature& permit) const;
    /// At most 256 owners, each once per epoch.
    [[nodiscard]] ContractCall release(std::uint64_t epoch,
                                       const std::vector<std::pair<Address, Amount>>& spent) const;
    [[nodiscard]] ContractCall request_withdrawal(const Amount& amount) const;
    [[nodiscard]] ContractCall trim_withdrawal(const Address& owner, const Amount& amount) const;
    [[nodiscard]] ContractCall withdraw() const;
    [[nodiscard]] ContractCall set_release_cap(const Amount& cap) const;
    [[nodiscard]] ContractCall set_owner_release_cap(const Amount& cap) const;

    [[nodiscard]] Result<Amount> balance_of(ChainClient& client, const Address& owner,
                                            const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> total_balance(ChainClient& client,
                                               const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> released_of(ChainClient& client, std::uint64_t epoch,
                                             const Address& owner,
                                             const BlockId& at = BlockTag::kLatest) const;
    /// The most that one epoch may release, of all owners and of one.
    [[nodiscard]] Result<Amount> release_cap(ChainClient& client) const;
    [[nodiscard]] Result<Amount> owner_release_cap(ChainClient& client) const;
    /// (the epoch that releases go on in, what it has released)
    [[nodiscard]] Result<std::pair<std::uint64_t, Amount>> release_state(ChainClient& client) const;
    /// (amount, Unix seconds from which it can be withdrawn)
    [[nodiscard]] Result<std::pair<Amount, std::uint64_t>> withdrawal_of(
        ChainClient& client, const Address& owner) const;

    [[nodiscard]] Result<std::optional<EscrowEvent>> parse_event(const Log& log) const;
    /// Topic 0 of every EscrowEvent, for LogFilter.
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

// --- CommitmentLog
// ---------------------------------------------------------------------------------------

struct RoundPosted {
    Digest job_id;
    std::uint64_t round = 0;
    Digest round_record_hash;
    friend bool operator==(const RoundPosted&, const RoundPosted&) = default;
};
struct EpochPosted {
    std::uint64_t epoch = 0;
    Digest job_id;
    std::uint64_t round = 0;
    Digest commitments_root;
    std::uint32_t count = 0;
    friend bool operator==(const EpochPosted&, const EpochPosted&) = default;
};
struct CommitmentPosted {
    Digest job_id;
    std::uint64_t round = 0;
    Address sender;
    Bytes commitment;
    friend bool operator==(const CommitmentPosted&, const CommitmentPosted&) = default;
};
using CommitmentEvent = std::variant<RoundPosted, EpochPosted, CommitmentPosted>;

class CommitmentLog {
  public:
    explicit CommitmentLog(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall post_round(const Digest& job_id, std::uint64_t round,
                                          const Digest& round_record_hash) const;
    [[nodiscard]] ContractCall post_epoch(const EpochPosted& epoch) const;
    /// 1 to 1,024 bytes.
    [[nodiscard]] ContractCall post_commitment(const Digest& job_id, std::uint64_t round,
                                               ByteView commitment) const;

    struct Round {
        Digest round_record_hash;  ///< zero if the round was not posted
        std::uint64_t epoch = 0;   ///< 0 while open
    };
    struct Epoch {
        Digest commitments_root;  ///< zero if the epoch was not posted
        std::uint32_t count = 0;
        std::uint64_t block_number = 0;  ///< the beacon comes from a later block
    };
    [[nodiscard]] Result<Round> round_of(ChainClient& client, const Digest& job_id,
                                         std::uint64_t round,
                                         const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Epoch> epoch_of(ChainClient& client, std::uint64_t epoch,
                                         const BlockId& at = BlockTag::kLatest) const;

    [[nodiscard]] Result<std::optional<CommitmentEvent>> parse_event(const Log& log) const;
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

// --- RewardsDistributor
// ----------------------------------------------------------------------------------

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
    [[nodiscard]] ContractCall set_recipient(const Address& recipient) const;

    /// The root that pays now / that waits; epoch 0 if there is none.
    [[nodiscard]] Result<RootSubmitted> active_root(ChainClient& client,
                                                    const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<RootSubmitted> pending_root(ChainClient& client,
                                                     const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<std::uint64_t> last_epoch(ChainClient& client) const;
    [[nodiscard]] Result<Amount> claimed(ChainClient& client, const Address& earner,
                                         const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> growth_limit(ChainClient& client) const;
    [[nodiscard]] Result<Amount> total_claimed(ChainClient& client,
                                               const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Address> recipient_of(ChainClient& client, const Address& earner) const;
    [[nodiscard]] Result<Digest> leaf_of(ChainClient& client, const Address& earner,
                                         const Amount& cumulative) const;

    [[nodiscard]] Result<std::optional<DistributorEvent>> parse_event(const Log& log) const;
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

/// Turns revert data of our contracts (and Error(string), Panic(uint256)) into
/// "InsufficientBalance(owner=0x.., balance=5, amount=6)"; unknown data into its hexadecimal form.
[[nodiscard]] std::string describe_revert(ByteView revert_data);

/// Every custom error that describe_revert knows, as signatures with parameter names.
[[nodiscard]] const std::vector<std::string>& known_errors();

}  // namespace gym::chain
