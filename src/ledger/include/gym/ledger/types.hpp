#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

namespace gym::ledger {

/// A transfer's permanent id, a UUID in SQL. The caller picks it, so that a retry finds its own
/// work.
using TransferId = FixedBytes<16, struct TransferIdTag>;

/// The id of the transfer that `purpose` names ("unit-final:0x12..."): SHA-256 of it, cut to a
/// version 8 UUID (RFC 9562). The same purpose is the same transfer for ever.
[[nodiscard]] TransferId transfer_id(std::string_view purpose);
/// The usual text form, 8-4-4-4-12.
[[nodiscard]] std::string to_uuid(const TransferId& id);
[[nodiscard]] Result<TransferId> parse_uuid(std::string_view text);

/// What an account holds. A balance is credits minus debits.
enum class AccountKind {
    kAvailable,         ///< an owner's deposits, free for jobs or withdrawal
    kEscrow,            ///< a job's budget
    kEarned,            ///< a node's final credits, before the epoch's close
    kPayable,           ///< what the payout root lets an earner claim on chain
    kWithdrawing,       ///< deposits on their way back to the owner's wallet
    kChainEscrow,       ///< tokens in the JobEscrow contract: balance is minus what is there
    kChainDistributor,  ///< tokens in the RewardsDistributor contract: balance is minus what is
                        ///< there
    kDust,              ///< remainders of divisions
};
[[nodiscard]] std::string_view to_string(AccountKind kind) noexcept;
[[nodiscard]] Result<AccountKind> parse_account_kind(std::string_view text);

/// An account's name; unique. `asset` keeps tokens apart: both sides of a transfer have the same.
struct AccountKey {
    std::string owner;  ///< "0x..." address in lower case, "job:0x...", or "system"; 1 to 128 bytes
    std::string asset;  ///< erc20_asset(); 1 to 96 bytes
    AccountKind kind = AccountKind::kAvailable;
    friend auto operator<=>(const AccountKey&, const AccountKey&) = default;
};

/// "erc20:<chain id>:<token address>".
[[nodiscard]] std::string erc20_asset(std::uint64_t chain_id, const Address& token);
/// The two chain accounts may go below zero (they mirror tokens held by contracts); no other
/// account may.
[[nodiscard]] constexpr bool may_overdraw(AccountKind kind) {
    return kind == AccountKind::kChainEscrow || kind == AccountKind::kChainDistributor;
}

/// A row of ledger.account; positive.
enum class AccountId : std::int64_t {};

enum class TransferKind {
    kTransfer,  ///< moves at once
    kPending,   ///< reserves on the debit side until posted, voided or expired
    kPost,      ///< completes a pending transfer in full
    kVoid,      ///< gives a pending transfer's reservation back
    kExpire,    ///< as void, by its expiry; written by the SQL function ledger.expire() only
};
[[nodiscard]] std::string_view to_string(TransferKind kind) noexcept;
[[nodiscard]] Result<TransferKind> parse_transfer_kind(std::string_view text);

struct TransferRequest {
    TransferId id;
    TransferKind kind = TransferKind::kTransfer;
    AccountId debit{};                  ///< kTransfer, kPending
    AccountId credit{};                 ///< kTransfer, kPending
    Amount amount;                      ///< kTransfer, kPending: above zero. kPost, kVoid: zero
    std::optional<TransferId> pending;  ///< kPost, kVoid: which
    std::optional<UnixMs> expires_at;   ///< kPending only
    std::optional<TransferId> group;    ///< neighbours with the same group: all are created or none
    std::string reason;                 ///< what for, e.g. "compute"; at most 256 bytes
};

/// The outcome of one request. Everything but the optional `reason` of a request is in its
/// fingerprint.
enum class TransferStatus {
    kCreated,
    kExists,           ///< done before: same id, same content
    kExistsDifferent,  ///< the id belongs to another transfer; nothing was done
    kInsufficient,     ///< the debit account cannot cover the amount
    kClosed,           ///< a closed account, or a pending transfer that was resolved or has expired
    kUnknown,          ///< no such account or pending transfer
    kInvalid,          ///< one account on both sides, two assets, or fields that the kind forbids
    kGroupFailed,      ///< nothing wrong with this one, but another of its group failed
};
[[nodiscard]] std::string_view to_string(TransferStatus status) noexcept;
[[nodiscard]] Result<TransferStatus> parse_transfer_status(std::string_view text);
/// The transfer is in the ledger as requested.
[[nodiscard]] constexpr bool done(TransferStatus status) {
    return status == TransferStatus::kCreated || status == TransferStatus::kExists;
}

struct Balance {
    Amount debits;
    Amount credits;
    Amount debits_pending;   ///< reserved on this account
    Amount credits_pending;  ///< on the way to this account
    std::int64_t version = 0;
    bool closed = false;

    /// credits - debits - debits_pending, what a transfer may take; zero where that is negative.
    [[nodiscard]] Amount spendable() const;
    /// credits - debits. @errors kOutOfRange if it is negative (chain accounts).
    [[nodiscard]] Result<Amount> net() const { return credits.minus(debits); }
    /// debits - credits: what a chain account's contract holds. @errors kOutOfRange if negative.
    [[nodiscard]] Result<Amount> held() const { return debits.minus(credits); }
};

}  // namespace gym::ledger
