#include "gym/ledger/seal.hpp"

#include <gtest/gtest.h>

// The expected hashes are of another implementation of docs/LEDGER.md (Python's hashlib): whoever
// keeps a proof must be able to check it in ten years.
namespace gym::ledger {
namespace {

const AccountKey kEscrow{"system", "erc20:1:t", AccountKind::kChainEscrow};
const AccountKey kAlice{"0xa", "erc20:1:t", AccountKind::kAvailable};
const Amount kLarge =
    *Amount::parse("1606938044258990275541962092341162602522202993782792835301376");

TransferId counting_id() {
    TransferId id;
    for (std::size_t i = 0; i < id.data.size(); ++i)
        id.data[i] = static_cast<std::uint8_t>(i);
    return id;
}
TransferId filled_id() {
    TransferId id;
    id.data.fill(0xaa);
    return id;
}

SealedTransfer payment() {
    SealedTransfer transfer;
    transfer.seq = 5;
    transfer.id = counting_id();
    transfer.debit = AccountId{7};
    transfer.credit = AccountId{9};
    transfer.amount = Amount(250);
    transfer.debit_entry = SealedEntry{3, "-250"};
    transfer.credit_entry = SealedEntry{1, "250"};
    transfer.reason = "pay";
    transfer.created_at_us = 812'345'678'901'234;
    return transfer;
}
SealedTransfer reservation() {
    SealedTransfer transfer;
    transfer.seq = 6;
    transfer.id = counting_id();
    transfer.kind = TransferKind::kPending;
    transfer.debit = AccountId{7};
    transfer.credit = AccountId{9};
    transfer.amount = kLarge;
    transfer.expires_at = 1'700'000'000'000;
    transfer.group = filled_id();
    return transfer;
}
SealedTransfer posting() {
    SealedTransfer transfer;
    transfer.seq = 7;
    transfer.id = filled_id();
    transfer.kind = TransferKind::kPost;
    transfer.debit = AccountId{7};
    transfer.credit = AccountId{9};
    transfer.amount = kLarge;
    transfer.pending = counting_id();
    transfer.debit_entry = SealedEntry{4, "-1"};
    transfer.credit_entry = SealedEntry{2, "1"};
    transfer.reason = "x";
    return transfer;
}
std::string leaf(const SealedTransfer& transfer) {
    return transfer_leaf(transfer, account_digest(transfer.debit, kEscrow),
                         account_digest(transfer.credit, kAlice))
        .hex();
}

SealRecord record() {
    SealRecord out{.number = 2,
                   .first_seq = 5,
                   .last_seq = 7,
                   .transfers = 3,
                   .root = {},
                   .previous = {},
                   .sealed_at = 1'700'000'000'123,
                   .signer = {}};
    out.root.data.fill(1);
    out.previous.data.fill(2);
    out.signer.data.fill(3);
    return out;
}

TEST(SealHashes, AreWhatTheDocumentSays) {
    EXPECT_EQ(account_digest(AccountId{7}, kEscrow).hex(),
              "0x0ac5faece39913d295bb5cb18a3f91b32787b3b89460499d9236525a10b09e4c");
    EXPECT_EQ(leaf(payment()),
              "0x1383345ab02419ee57d9e65eb4fdf76cd47ec288c4bf0d5a7b913d16af54c29a");
    EXPECT_EQ(leaf(reservation()),
              "0x7ec025db0c186732dcef0e8b688f567bb85be8697b02296e9b2ab528f71e11de");
    EXPECT_EQ(leaf(posting()),
              "0xbdc6e69dcd442d4a5f5581914fb0a75109eb9b14e63484b654b236d206b595f6");
    EXPECT_EQ(seal_hash(record()).hex(),
              "0x102bd4f0c0d5167d3a18664cebb6a6710829c532ecf89a8b75c5e2790d2213eb");
}

TEST(Fingerprint, IsOfWhatWasAskedFor) {
    EXPECT_EQ(fingerprint(payment()).hex(),
              "0x45862bbbb31d7d78bbfdd4453ede162c11fae61817bd80ec91997075e9a0654e");
    EXPECT_EQ(fingerprint(reservation()).hex(),
              "0x0cbc46a1dfafcf3f54ad6ce65b9c542634a1d7c3442af64c1fe4deccbe2cd855");
    EXPECT_EQ(fingerprint(posting()).hex(),
              "0x6ecc640e2adc2a005c30c609064097164c46f060b1d8e6a0a281297e5c4d1aa4")
        << "a resolution is asked for by its pending transfer alone";
}

TEST(CheckSeal, AcceptsWhatItsSignerSignedAndNothingElse) {
    const auto key = crypto::PrivateKey::generate();
    const Seal seal = sign_seal(record(), key);
    EXPECT_EQ(seal.record.signer, key.address());
    EXPECT_TRUE(check_seal(seal).ok());
    Seal other = seal;
    other.hash.data[0] ^= 1;
    EXPECT_EQ(check_seal(other).error().code, ErrorCode::kMismatch);
    other = seal;
    other.record.root.data[31] ^= 1;
    EXPECT_EQ(check_seal(other).error().code, ErrorCode::kMismatch);
    other = seal;
    other.record.signer.data[0] ^= 1;
    other.hash = seal_hash(other.record);
    EXPECT_EQ(check_seal(other).error().code, ErrorCode::kUnauthenticated);
    other = seal;
    other.signature.data[5] ^= 1;
    EXPECT_EQ(check_seal(other).error().code, ErrorCode::kUnauthenticated);
    Seal renumbered = sign_seal(record(), key);
    renumbered.record.number = 3;
    renumbered.hash = seal_hash(renumbered.record);
    EXPECT_EQ(check_seal(renumbered).error().code, ErrorCode::kUnauthenticated);
}

}  // namespace
}  // namespace gym::ledger
