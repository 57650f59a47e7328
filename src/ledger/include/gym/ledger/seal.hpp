#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/crypto/key.hpp"
#include "gym/ledger/types.hpp"

// Seals (docs/LEDGER.md): a Merkle root over the transfers that were committed since the seal
// before, chained and signed. Everything here is a pure function of what the tables hold.
namespace gym::ledger {

/// Most transfers of one seal.
inline constexpr std::size_t kSealTransfersMax = 65'536;

/// The version and balance of an account after a transfer.
struct SealedEntry {
    std::int64_t version = 0;   ///< of the account: 1 for its first entry
    std::string balance_after;  ///< decimal, may start with '-'
    friend bool operator==(const SealedEntry&, const SealedEntry&) = default;
};

/// A row of ledger.transfer without the fingerprint, which follows from the rest.
struct SealedTransfer {
    std::uint64_t seq = 0;  ///< the order of transfers; grows, may have gaps
    TransferId id;
    TransferKind kind = TransferKind::kTransfer;
    AccountId debit{};
    AccountId credit{};
    Amount amount;
    std::optional<TransferId> pending;
    std::optional<UnixMs> expires_at;
    std::optional<TransferId> group;
    std::string reason;
    std::optional<SealedEntry> debit_entry;   ///< kTransfer and kPost
    std::optional<SealedEntry> credit_entry;  ///< kTransfer and kPost
    std::int64_t created_at_us = 0;  ///< microseconds since 2000-01-01 UTC, as PostgreSQL counts
    friend bool operator==(const SealedTransfer&, const SealedTransfer&) = default;
};

/// H("gym.account.v1" | id | owner | asset | kind): the digest of an account in a leaf.
[[nodiscard]] Digest account_digest(AccountId id, const AccountKey& key);
/// H("gym.transfer.v1" | the transfer with its entries, each account as its digest).
[[nodiscard]] Digest transfer_leaf(const SealedTransfer& transfer, const Digest& debit,
                                   const Digest& credit);
/// The result of ledger.fingerprint() for the request that booked `transfer`.
[[nodiscard]] Digest fingerprint(const SealedTransfer& transfer);

struct SealRecord {
    std::uint64_t number = 0;     ///< 1, 2, ... without gaps
    std::uint64_t first_seq = 0;  ///< of its transfers
    std::uint64_t last_seq = 0;
    std::uint64_t transfers = 0;  ///< 1 to kSealTransfersMax
    Digest root;                  ///< of a Merkle tree (commit/merkle.hpp) over the leaves by seq
    Digest previous;              ///< hash of the seal before; zero for the first
    UnixMs sealed_at = 0;         ///< never before the seal before
    Address signer;
    friend bool operator==(const SealRecord&, const SealRecord&) = default;
};

/// H("gym.seal.v1" | the record); ledger.seal_hash() is the same in SQL.
[[nodiscard]] Digest seal_hash(const SealRecord& record);

struct Seal {
    SealRecord record;
    Digest hash;
    crypto::Signature signature;  ///< EIP-712, LedgerSeal(uint64 number,bytes32 hash)
    friend bool operator==(const Seal&, const Seal&) = default;
};

/// Fills in signer, hash and signature.
[[nodiscard]] Seal sign_seal(SealRecord record, const crypto::PrivateKey& key);
/// @errors kMismatch if the hash is not the record's, kUnauthenticated if the signature is not its
/// signer's.
Status check_seal(const Seal& seal);

/// The head of the chain of seals, as epoch files and readers keep it: it fixes all seals up to
/// `number`.
struct SealHead {
    std::uint64_t number = 0;
    Digest hash;
    friend bool operator==(const SealHead&, const SealHead&) = default;
};

}  // namespace gym::ledger
