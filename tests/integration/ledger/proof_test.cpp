#include "gym/ledger/proof.hpp"

#include "seal_fixture.hpp"

namespace gym::ledger {
namespace {

class ProofTest : public SealTest {
  protected:
    Result<TransferProof> prove(const std::string& name) {
        return database_->transact(
            [&](db::Transaction& tx) { return prove_transfer(tx, transfer_id(name)); });
    }
};

TEST_F(ProofTest, EveryTransferOfEverySealHasOneThatHoldsWithoutTheLedger) {
    fund(a_, 1'000);
    ASSERT_TRUE(tick());
    for (int count : {1, 2, 3, 5, 8}) {
        std::vector<std::string> names;
        for (int i = 0; i < count; ++i) {
            names.push_back(std::to_string(count) + "/" + std::to_string(i));
            pay(names.back(), 7);
        }
        const auto seal = tick();
        for (const std::string& name : names) {
            const auto proof = prove(name);
            ASSERT_TRUE(proof.ok()) << proof.error().message;
            EXPECT_EQ(proof->seal, *seal);
            EXPECT_EQ(proof->debit.owner, "0xa");
            EXPECT_EQ(proof->credit, (AccountKey{"0xb", "erc20:1:test", AccountKind::kAvailable}));
            EXPECT_EQ(proof->transfer.amount, Amount(7));
            const auto read = parse_proof(encode_proof(*proof));
            ASSERT_TRUE(read.ok()) << read.error().message;
            EXPECT_EQ(*read, *proof);
            EXPECT_TRUE(check_proof(*read).ok());
        }
    }
}

TEST_F(ProofTest, CoversPendingTransfersTheirResolutionsAndGroups) {
    fund(a_, 100);
    TransferRequest pending = move("p", a_, b_, 5, TransferKind::kPending);
    pending.expires_at = 2'000'000;
    TransferRequest first = move("g1", a_, b_, 1), second = move("g2", a_, c_, 1);
    first.group = second.group = transfer_id("g");
    ASSERT_EQ(book({pending, first, second}), (Statuses{kCreated, kCreated, kCreated}));
    ASSERT_EQ(book(resolve("post", "p", TransferKind::kPost)), kCreated);
    ASSERT_TRUE(tick());
    for (const char* name : {"p", "g1", "g2", "post"}) {
        const auto proof = prove(name);
        ASSERT_TRUE(proof.ok()) << proof.error().message;
        EXPECT_EQ(*parse_proof(encode_proof(*proof)), *proof);
    }
    EXPECT_EQ(prove("p")->transfer.expires_at, std::optional<UnixMs>(2'000'000));
    EXPECT_EQ(prove("post")->transfer.pending, std::optional(transfer_id("p")));
    EXPECT_EQ(prove("g2")->transfer.group, std::optional(transfer_id("g")));
}

TEST_F(ProofTest, WhatIsNotThereOrNotSealedYetHasNone) {
    fund(a_, 100);
    EXPECT_EQ(prove("none").error().code, ErrorCode::kNotFound);
    pay("fresh");
    EXPECT_EQ(prove("fresh").error().code, ErrorCode::kConflict);
}

TEST_F(ProofTest, AnyChangeOfAProofIsFound) {
    fund(a_, 100);
    for (int i = 0; i < 5; ++i)
        pay("t" + std::to_string(i));
    ASSERT_TRUE(tick());
    pay("next");
    ASSERT_TRUE(tick());
    const TransferProof good = *prove("t3");
    ASSERT_TRUE(check_proof(good).ok());
    const std::vector<std::function<void(TransferProof&)>> changes = {
        [](auto& p) { p.transfer.amount = Amount(2); },
        [](auto& p) { p.transfer.reason += "x"; },
        [](auto& p) { p.transfer.created_at_us += 1; },
        [](auto& p) { p.transfer.credit_entry->balance_after = "1000"; },
        [](auto& p) { p.transfer.debit_entry->version += 1; },
        [](auto& p) { p.transfer.debit_entry.reset(); },
        [](auto& p) { p.transfer.seq -= 1; },
        [](auto& p) { p.transfer.id.data[0] ^= 1; },
        [](auto& p) { p.transfer.kind = TransferKind::kPending; },
        [](auto& p) { p.transfer.group = p.transfer.id; },
        [](auto& p) { p.transfer.expires_at = 0; },
        [](auto& p) { p.credit.owner = "0xc"; },
        [](auto& p) { p.debit.asset = "erc20:2:test"; },
        [](auto& p) { p.credit.kind = AccountKind::kEarned; },
        [](auto& p) { std::swap(p.debit, p.credit); },
        [](auto& p) { p.index ^= 1; },
        [](auto& p) { p.siblings.pop_back(); },
        [](auto& p) { p.siblings.push_back(p.siblings.back()); },
        [](auto& p) { p.siblings.front().data[31] ^= 1; },
        [](auto& p) { p.seal.record.root.data[0] ^= 1; },
        [](auto& p) { p.seal.record.transfers -= 1; },
        [](auto& p) { p.seal.record.sealed_at += 1; },
        [](auto& p) { p.seal.record.previous.data[0] ^= 1; },
        [](auto& p) { p.seal.record.signer.data[0] ^= 1; },
        [](auto& p) { p.seal.hash.data[0] ^= 1; },
        [](auto& p) { p.seal.signature.data[3] ^= 1; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        TransferProof bad = good;
        changes[i](bad);
        EXPECT_FALSE(check_proof(bad).ok()) << "change " << i;
    }
    TransferProof two_assets = good;
    two_assets.credit.asset = "erc20:2:test";
    EXPECT_NE(check_proof(two_assets).error().message.find("different assets"), std::string::npos);
    TransferProof other = good;
    other.seal = prove("next")->seal;
    EXPECT_FALSE(check_proof(other).ok()) << "another seal";
}

TEST_F(ProofTest, TextThatIsNoProofIsRefused) {
    fund(a_, 100);
    ASSERT_TRUE(tick());
    const auto id = database_->transact([](db::Transaction& tx) {
        return tx.exec_one("SELECT uuid_send(id) FROM ledger.transfer");
    });
    const auto proof = database_->transact(
        [&](db::Transaction& tx) { return prove_transfer(tx, id->get<TransferId>(0)); });
    const std::string text = encode_proof(*proof);
    ASSERT_TRUE(parse_proof(text).ok());
    for (std::size_t size = 0; size < text.size(); ++size)
        EXPECT_EQ(parse_proof(text.substr(0, size)).error().code, ErrorCode::kMalformed) << size;
    TransferProof forged = *proof;
    forged.credit.owner += "\nsigned by          0xdead";
    EXPECT_NE(parse_proof(encode_proof(forged)).error().message.find("'owner' has a control"),
              std::string::npos);
    EXPECT_FALSE(parse_proof("[]").ok());
    EXPECT_FALSE(parse_proof("{\"format\":\"gym.ledger_proof.v2\"}").ok());
}

}  // namespace
}  // namespace gym::ledger
