// The transaction manager against a real node: fees, stuck transactions, lost pools, restarts,
// deaths.

#include <filesystem>

#include "deployed.hpp"
#include "gym/chain/transaction.hpp"
#include "gym/contracts/call.hpp"
#include "manual_clock.hpp"

namespace gym::testing {
namespace {

using chain::IntentState;

chain::IntentRequest payment_to(const Address& to, std::uint64_t wei, const std::string& id) {
    chain::IntentRequest out;
    out.id = id;
    out.to = to;
    out.value_wei = Amount(wei);
    out.label = "pay " + id;
    return out;
}

class TxOnAnvil : public ::testing::Test {
  protected:
    static constexpr std::uint32_t kTimeoutMs = 20'000;
    static chain::AnvilOptions options() {
        chain::AnvilOptions out;
        out.persist = true;
        return out;
    }
    chain::Intent find(const std::string& id) { return sender_.manager->find(id).value(); }
    chain::TickReport tick() {
        const auto report = sender_.manager->tick();
        EXPECT_TRUE(report.ok()) << report.error().message;
        return report.ok() ? *report : chain::TickReport{};
    }
    void submit(const chain::IntentRequest& request) {
        ASSERT_TRUE(sender_.manager->submit(request).ok());
    }
    Amount balance(const Address& who) {
        return anvil_.client().balance(who, chain::BlockTag::kLatest).value();
    }
    std::uint64_t nonce() {
        return anvil_.client().nonce(key_.address(), chain::BlockTag::kLatest).value();
    }
    std::uint64_t base_fee() {
        return anvil_.client()
            .block(chain::BlockTag::kLatest)
            .value()
            ->base_fee_wei.to_u64()
            .value();
    }
    void automine(bool on) { anvil_.rpc("evm_setAutomine", on ? "[true]" : "[false]"); }

    TestAnvil anvil_{options()};
    testing::ManualClock clock_{1};
    crypto::PrivateKey key_ = anvil_.funded_key(3);
    Sender sender_{anvil_, key_.clone(), clock_};
    const Address payee_ = chain::private_chain_key(100).address();
};

TEST_F(TxOnAnvil, AStuckTransactionIsReplacedAndPaysOnce) {
    automine(false);
    submit(payment_to(payee_, 7, "a"));
    submit(payment_to(payee_, 11, "b"));
    tick();
    // Ten times what was offered: the pool keeps the transactions, blocks do not take them.
    anvil_.rpc("anvil_setNextBlockBaseFeePerGas", "[\"0x4a817c800\"]");
    anvil_.mine(1);
    EXPECT_EQ(nonce(), 0U);
    clock_.advance_ms(30'000);
    EXPECT_EQ(tick().bumped, 1U);
    ASSERT_EQ(find("a").attempts.size(), 2U);
    const auto& attempts = find("a").attempts;
    EXPECT_GE(attempts[1].fee_max_wei,
              attempts[0].fee_max_wei.mul_div(Amount(1125), Amount(1000)).value());
    for (int i = 0; i < 10 && nonce() < 2; ++i) {
        anvil_.mine(1);
        clock_.advance_ms(30'000);
        tick();
    }
    anvil_.mine(4);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
    EXPECT_EQ(find("b").state, IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(18));
    EXPECT_EQ(nonce(), 2U);
}

TEST_F(TxOnAnvil, ADroppedTransactionIsSentAgain) {
    automine(false);
    submit(payment_to(payee_, 7, "a"));
    tick();
    anvil_.rpc("anvil_dropTransaction", "[\"" + find("a").attempts[0].hash.hex() + "\"]");
    anvil_.mine(1);
    EXPECT_TRUE(balance(payee_).is_zero());
    clock_.advance_ms(2'000);
    tick();
    anvil_.mine(4);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(7));
}

TEST_F(TxOnAnvil, CancelReplacesByASelfTransfer) {
    automine(false);
    submit(payment_to(payee_, 7, "a"));
    tick();
    ASSERT_TRUE(sender_.manager->cancel("a").ok());
    tick();
    anvil_.mine(4);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kCancelled);
    EXPECT_TRUE(balance(payee_).is_zero());
    EXPECT_EQ(nonce(), 1U);
}

TEST_F(TxOnAnvil, SendingTheSameBytesTwiceIsAccepted) {
    automine(false);
    submit(payment_to(payee_, 7, "a"));
    tick();
    const auto raw = find("a").attempts[0].raw;
    EXPECT_EQ(anvil_.client().send(raw).value(), chain::SendOutcome::kAccepted);
    anvil_.mine(1);
    EXPECT_EQ(anvil_.client().send(raw).value(), chain::SendOutcome::kNonceUsed);
}

TEST_F(TxOnAnvil, AReplacementThatIsTooCheapIsSaidSo) {
    automine(false);
    chain::Transaction tx;
    tx.chain_id = anvil_.chain_id();
    tx.fee_max_wei = Amount(10'000'000'000);
    tx.priority_fee_wei = Amount(1'000'000'000);
    tx.gas_limit = 21'000;
    tx.to = payee_;
    ASSERT_EQ(anvil_.client().send(chain::sign_transaction(tx, key_).raw).value(),
              chain::SendOutcome::kAccepted);
    tx.value_wei = Amount(1);
    tx.fee_max_wei = Amount(9'000'000'000);
    EXPECT_EQ(anvil_.client().send(chain::sign_transaction(tx, key_).raw).value(),
              chain::SendOutcome::kUnderpriced);
    const crypto::PrivateKey poor = chain::private_chain_key(50);
    EXPECT_EQ(anvil_.client().send(chain::sign_transaction(tx, poor).raw).value(),
              chain::SendOutcome::kNoFunds);
}

/// Another program sends this with the same key, at such a price that it goes first.
chain::SignedTransaction sent_elsewhere(std::uint64_t chain_id, std::uint64_t nonce,
                                        const Address& to, const crypto::PrivateKey& key) {
    chain::Transaction tx;
    tx.chain_id = chain_id;
    tx.nonce = nonce;
    tx.fee_max_wei = Amount(100'000'000'000);
    tx.priority_fee_wei = Amount(100'000'000'000);
    tx.gas_limit = 21'000;
    tx.to = to;
    tx.value_wei = Amount(1'000);
    return chain::sign_transaction(tx, key);
}

TEST_F(TxOnAnvil, ANonceThatAStrangerTookIsGivenUpAndTheRestGoesOn) {
    const Address other = chain::private_chain_key(101).address();
    automine(false);
    for (const char* id : {"a", "b"})
        submit(payment_to(payee_, id[0] == 'a' ? 7 : 11, id));
    tick();
    ASSERT_EQ(find("a").nonce, 0U);
    const auto foreign = sent_elsewhere(anvil_.chain_id(), 0, other, key_);
    ASSERT_EQ(anvil_.client().send(foreign.raw).value(), chain::SendOutcome::kAccepted)
        << "it replaces ours in the node's pool";
    anvil_.mine(4);
    EXPECT_EQ(balance(other), Amount(1'000));
    const chain::TickReport report = tick();
    ASSERT_FALSE(report.warnings.empty());
    EXPECT_NE(report.warnings.back().find("unknown transaction"), std::string::npos);
    EXPECT_EQ(find("a").state, IntentState::kSigned) << "the node may lag";
    EXPECT_EQ(find("b").state, IntentState::kDone);
    clock_.advance_ms(60'000);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kSuperseded);
    EXPECT_EQ(balance(payee_), Amount(11)) << "nothing of it happened";

    // Sent again it happens, once, and a nonce that was taken before it gets one is passed over.
    ASSERT_EQ(anvil_.client().send(sent_elsewhere(anvil_.chain_id(), 2, other, key_).raw).value(),
              chain::SendOutcome::kAccepted);
    anvil_.mine(1);
    ASSERT_TRUE(sender_.manager->submit_idempotent(payment_to(payee_, 7, "a")).ok());
    tick();
    EXPECT_EQ(find("a#2").nonce, 3U);
    anvil_.mine(4);
    tick();
    EXPECT_EQ(find("a#2").state, IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(18));
    EXPECT_EQ(nonce(), 4U);
}

// Both have the nonce: the stranger's waits in the pool, ours comes second and is refused until it
// offers more.
TEST_F(TxOnAnvil, AStrangersTransactionInThePoolIsOutbidOrGivenWayTo) {
    const Address other = chain::private_chain_key(101).address();
    automine(false);
    chain::Transaction cheap;
    cheap.chain_id = anvil_.chain_id();
    cheap.fee_max_wei = Amount(2'000'000'000);
    cheap.priority_fee_wei = Amount(1'000'000'000);
    cheap.gas_limit = 21'000;
    cheap.to = other;
    cheap.value_wei = Amount(1'000);
    ASSERT_EQ(anvil_.client().send(chain::sign_transaction(cheap, key_).raw).value(),
              chain::SendOutcome::kAccepted);
    submit(payment_to(payee_, 7, "a"));
    for (int i = 0; i < 10; ++i) {
        tick();
        clock_.advance_ms(2'000);
    }
    EXPECT_EQ(find("a").nonce, 0U);
    anvil_.mine(4);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(7));
    EXPECT_TRUE(balance(other).is_zero());
    EXPECT_EQ(nonce(), 1U);
}

TEST_F(TxOnAnvil, AnEmptyWalletIsAWarningAndPaysOnceItIsFunded) {
    Sender poor(anvil_, chain::private_chain_key(51), clock_);
    ASSERT_TRUE(poor.manager->submit(payment_to(payee_, 7, "a")).ok());
    const auto report = poor.manager->tick();
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_FALSE(report->warnings.empty());
    (void)anvil_.funded_key(51);
    clock_.advance_ms(2'000);
    ASSERT_TRUE(poor.manager->tick().ok());
    anvil_.mine(4);
    ASSERT_TRUE(poor.manager->tick().ok());
    EXPECT_EQ(poor.manager->find("a").value().state, IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(7));
}

TEST_F(TxOnAnvil, ANodeThatRestartsIsRetriedAndForgetsNothing) {
    automine(false);
    submit(payment_to(payee_, 7, "before"));
    tick();
    anvil_.mine(1);
    submit(payment_to(payee_, 11, "during"));
    tick();  // in the pool, which a restart loses
    anvil_.stop(false);
    const auto down = sender_.manager->tick();
    ASSERT_FALSE(down.ok());
    EXPECT_EQ(down.error().code, ErrorCode::kUnavailable) << down.error().message;
    anvil_.start();
    clock_.advance_ms(2'000);
    tick();
    anvil_.mine(4);
    tick();
    EXPECT_EQ(find("before").state, IntentState::kDone);
    EXPECT_EQ(find("during").state, IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(18));
    EXPECT_EQ(nonce(), 2U);
}

TEST_F(TxOnAnvil, AChainThatStartsAnewHalts) {
    submit(payment_to(payee_, 7, "a"));
    tick();
    anvil_.mine(4);
    tick();
    ASSERT_EQ(find("a").state, IntentState::kDone);
    anvil_.stop(true);
    std::filesystem::remove(anvil_.folder() / "anvil-state.json");
    anvil_.start();
    const auto report = sender_.manager->tick();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kMismatch);
}

// Each life is a process of its own over the same file; every other point to die at is in
// tests/unit/chain.
TEST_F(TxOnAnvil, DeathBetweenStoringSendingAndReceiptPaysOnce) {
    const auto path = anvil_.folder() / "wallet.sqlite";
    const auto life = [&](bool broadcast) {
        const auto file = chain_store::SqliteChainStore::open(path).value();
        const auto store = file->intents(anvil_.chain_id(), key_.address());
        chain::TxManager manager(anvil_.client(), *store, key_.clone(), clock_,
                                 test_policy(anvil_.chain_id()), contracts::describe_revert);
        (void)manager.submit(payment_to(payee_, 7, "a"));
        if (!broadcast) {
            // A death after storing and before sending leaves this behind.
            chain::Transaction tx;
            tx.chain_id = anvil_.chain_id();
            tx.fee_max_wei = Amount(10'000'000'000);
            tx.priority_fee_wei = Amount(1'000'000'000);
            tx.gas_limit = 21'000;
            tx.to = payee_;
            tx.value_wei = Amount(7);
            const auto signed_tx = chain::sign_transaction(tx, key_);
            EXPECT_TRUE(store
                            ->assign("a", 0, 21'000,
                                     {signed_tx.hash, signed_tx.raw, tx.fee_max_wei,
                                      tx.priority_fee_wei, false, clock_.now_ms()})
                            .ok());
            return IntentState::kSigned;
        }
        EXPECT_TRUE(manager.tick().ok());
        return manager.find("a").value().state;
    };
    life(false);
    EXPECT_TRUE(balance(payee_).is_zero());
    EXPECT_EQ(life(true), IntentState::kSigned);  // sent; dies before the receipt
    EXPECT_EQ(life(true), IntentState::kSigned);  // mined, not final
    anvil_.mine(4);
    EXPECT_EQ(life(true), IntentState::kDone);
    EXPECT_EQ(life(true), IntentState::kDone);
    EXPECT_EQ(balance(payee_), Amount(7));
    EXPECT_EQ(nonce(), 1U);
}

}  // namespace
}  // namespace gym::testing
