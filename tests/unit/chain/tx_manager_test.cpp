#include "gym/chain/tx_manager.hpp"

#include "gym/chain/transaction.hpp"
#include "transaction_decoder.hpp"
#include "tx_fixture.hpp"

namespace gym::chain {
namespace {

TEST_F(TxManagerTest, AnIntentIsDoneOnlyWhenItsBlockIsFinal) {
    const IntentRequest request = payment("a");
    submit(request);
    EXPECT_EQ(find("a").state, IntentState::kQueued);
    EXPECT_EQ(tick().signed_new, 1U);
    world_.chain.mine();
    for (std::uint64_t i = 1; i < SimChain::kFinalityDepth; ++i) {
        tick();
        EXPECT_EQ(find("a").state, IntentState::kSigned) << i;
        world_.chain.mine();
    }
    world_.chain.mine();
    EXPECT_EQ(tick().settled, 1U);
    const Intent done = find("a");
    EXPECT_EQ(done.state, IntentState::kDone);
    EXPECT_EQ(done.outcome->gas_used, SimChain::kGasPerCall);
    EXPECT_EQ(done.outcome->transaction_hash, done.attempts.front().hash);
    EXPECT_EQ(times_executed(world_.chain, request), 1U);
}

TEST_F(TxManagerTest, ARepeatedSubmitFindsTheSameIntentAndOtherContentConflicts) {
    submit(payment("a"));
    submit(payment("a"));
    IntentRequest relabeled = payment("a");
    relabeled.label = "other words";
    submit(relabeled);
    IntentRequest other = payment("a");
    other.value_wei = Amount(6);
    EXPECT_EQ(manager_->submit(other).error().code, ErrorCode::kConflict);
    tick();
    world_.chain.mine();
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 1U);
}

TEST_F(TxManagerTest, RefusesIdsThatNoDatabaseWouldKeep) {
    for (const std::string& id : {std::string(), std::string(201, 'x'), std::string("a\0b", 3),
                                  std::string("line\n"), std::string("\xc3\xa4")}) {
        IntentRequest request = payment("a");
        request.id = id;
        EXPECT_EQ(manager_->submit(request).error().code, ErrorCode::kInvalidArgument);
    }
    IntentRequest large = payment("a");
    large.data.assign(200 << 10, 1);
    EXPECT_EQ(manager_->submit(large).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(TxManagerTest, AStuckTransactionIsReplacedWithBothFeesAnEighthHigher) {
    submit(payment("a"));
    tick();
    world_.chain.set_base_fee(Amount(4'000'000'000));  // above what was offered
    world_.chain.mine();
    EXPECT_EQ(tick().bumped, 0U) << "not before bump_after_ms";
    world_.clock.advance_ms(1'000);
    EXPECT_EQ(tick().bumped, 1U);
    const Intent intent = find("a");
    ASSERT_EQ(intent.attempts.size(), 2U);
    const Amount eighth(1125);
    for (const auto fee : {&Attempt::fee_max_wei, &Attempt::priority_fee_wei})
        EXPECT_GE(intent.attempts[1].*fee,
                  (intent.attempts[0].*fee).mul_div(eighth, Amount(1000)).value());
    const auto first = testing::decode_transaction(intent.attempts[0].raw).value().transaction;
    const auto second = testing::decode_transaction(intent.attempts[1].raw).value().transaction;
    EXPECT_EQ(first.nonce, second.nonce);
    EXPECT_EQ(first.data, second.data);
    world_.chain.mine();
    finalize();
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 1U);
}

TEST_F(TxManagerTest, OnlyTheFirstOfAQueueIsReplaced) {
    submit(payment("a"));
    submit(payment("b"));
    tick();
    world_.chain.set_base_fee(Amount(4'000'000'000));
    world_.clock.advance_ms(1'000);
    EXPECT_EQ(tick().bumped, 1U);
    EXPECT_EQ(find("b").attempts.size(), 1U);
}

TEST_F(TxManagerTest, ANodeThatSuggestsAnAbsurdTipIsBelievedUpToABound) {
    world_.chain.suggest_priority_fee(Amount(490'000'000'000));
    submit(payment("a"));
    tick();
    ASSERT_EQ(find("a").attempts.size(), 1U);
    EXPECT_EQ(find("a").attempts[0].priority_fee_wei, Amount(5'000'000'000));
    world_.chain.suggest_priority_fee(Amount(3'000'000'000));
    submit(payment("b"));
    tick();
    EXPECT_EQ(find("b").attempts[0].priority_fee_wei, Amount(3'000'000'000));
}

TEST_F(TxManagerTest, FeesNeverPassTheCeiling) {
    TxPolicy policy = sim_policy();
    policy.fee_ceiling_wei = Amount(3'100'000'000);
    manager_ = world_.manager(policy);
    submit(payment("a"));
    tick();
    EXPECT_EQ(find("a").attempts.size(), 1U);
    world_.chain.set_base_fee(Amount(4'000'000'000));
    world_.chain.mine();
    for (int i = 0; i < 5; ++i) {
        world_.clock.advance_ms(1'000);
        const TickReport report = tick();
        EXPECT_EQ(report.bumped, 0U);
        ASSERT_FALSE(report.warnings.empty());
        EXPECT_NE(report.warnings.back().find("ceiling"), std::string::npos);
    }
    submit(payment("b"));
    tick();
    EXPECT_EQ(find("b").state, IntentState::kQueued) << "no nonce is taken while gas is too dear";
    world_.chain.set_base_fee(Amount(1'000'000'000));
    world_.chain.mine();
    tick();
    finalize();
    world_.chain.mine(2);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
}

TEST_F(TxManagerTest, CancelBeforeSigningTakesNoNonce) {
    submit(payment("a"));
    ASSERT_TRUE(manager_->cancel("a").ok());
    tick();
    EXPECT_EQ(find("a").state, IntentState::kCancelled);
    EXPECT_FALSE(find("a").nonce.has_value());
    EXPECT_EQ(world_.chain.pool_size(), 0U);
    EXPECT_EQ(manager_->cancel("a").error().code, ErrorCode::kConflict);
    EXPECT_EQ(manager_->cancel("none").error().code, ErrorCode::kNotFound);
}

TEST_F(TxManagerTest, CancelAfterBroadcastTakesTheNonceByASelfTransfer) {
    submit(payment("a"));
    tick();
    ASSERT_TRUE(manager_->cancel("a").ok());
    tick();
    world_.chain.mine();
    finalize();
    tick();
    EXPECT_EQ(find("a").state, IntentState::kCancelled);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 0U);
    ASSERT_EQ(world_.chain.executed().size(), 1U);
    const auto done = world_.chain.executed().front().recovered;
    EXPECT_EQ(done.transaction.to, world_.key.address());
    EXPECT_TRUE(done.transaction.value_wei.is_zero());
    submit(payment("b"));
    tick();
    world_.chain.mine();
    EXPECT_EQ(times_executed(world_.chain, payment("b")), 1U) << "no gap is left";
}

TEST_F(TxManagerTest, CancelThatComesTooLateEndsAsDone) {
    submit(payment("a"));
    tick();
    world_.chain.mine();
    ASSERT_TRUE(manager_->cancel("a").ok());
    finalize();
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
}

TEST_F(TxManagerTest, WhatWouldRevertIsRejectedWithoutANonceAndCanBeSubmittedAgain) {
    IntentRequest request = payment("a");
    request.data = {SimChain::kReverts, 1};
    submit(request);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kRejected);
    EXPECT_EQ(find("a").outcome->reason, "revert 01020304");
    EXPECT_FALSE(find("a").nonce.has_value());
    submit(request);
    EXPECT_EQ(find("a").state, IntentState::kQueued);
    EXPECT_FALSE(find("a").outcome.has_value());
}

TEST_F(TxManagerTest, WhatWouldRevertWaitsForOwnTransactionsOnTheirWay) {
    submit(payment("a"));
    IntentRequest dependent = payment("b");
    dependent.data = {SimChain::kReverts, 1};
    submit(dependent);
    tick();
    EXPECT_EQ(find("b").state, IntentState::kQueued) << "a may be what b waits for";
    world_.chain.mine();
    tick();
    EXPECT_EQ(find("b").state, IntentState::kRejected);
}

TEST_F(TxManagerTest, ARevertOnChainIsReportedWithItsReason) {
    IntentRequest request = payment("a");
    request.data = {SimChain::kFailsLate, 1};
    const auto run = [&] {
        submit(request);
        tick();
        world_.chain.mine();
        finalize();
        tick();
    };
    run();
    EXPECT_EQ(find("a").state, IntentState::kReverted);
    EXPECT_EQ(find("a").outcome->reason, "revert 01020304");
    run();
    EXPECT_EQ(find("a").attempts.size(), 1U) << "a settled intent is never sent again";
}

TEST_F(TxManagerTest, AForgottenTransactionIsSentAgain) {
    submit(payment("a"));
    tick();
    world_.chain.drop_pool();
    EXPECT_EQ(world_.chain.pool_size(), 0U);
    world_.clock.advance_ms(100);
    tick();
    EXPECT_EQ(world_.chain.pool_size(), 1U);
    EXPECT_EQ(find("a").attempts.size(), 1U);
}

TEST_F(TxManagerTest, AReorgedTransactionIsMinedAgainOnce) {
    submit(payment("a"));
    submit(payment("b"));
    tick();
    world_.chain.mine(2);
    tick();
    world_.chain.reorg(2, true);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 0U);
    world_.clock.advance_ms(100);
    tick();
    world_.chain.mine();
    finalize();
    tick();
    for (const char* id : {"a", "b"}) {
        EXPECT_EQ(find(id).state, IntentState::kDone);
        EXPECT_EQ(times_executed(world_.chain, payment(id)), 1U);
    }
}

TEST_F(TxManagerTest, ANonceTakenByAStrangerSupersedesAfterAWhile) {
    submit(payment("a"));
    tick();
    Transaction foreign;
    foreign.chain_id = SimChain::kChainId;
    foreign.nonce = 0;
    foreign.fee_max_wei = Amount(100'000'000'000);
    foreign.priority_fee_wei = Amount(100'000'000'000);
    foreign.gas_limit = 21'000;
    foreign.to = Address{};
    ASSERT_TRUE(world_.chain.send(sign_transaction(foreign, world_.key).raw).ok());
    world_.chain.mine();
    finalize();
    EXPECT_FALSE(tick().warnings.empty());
    EXPECT_EQ(find("a").state, IntentState::kSigned) << "a lagging node looks the same";
    world_.clock.advance_ms(5'000);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kSuperseded);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 0U);
    submit(payment("b"));
    tick();
    world_.chain.mine();
    EXPECT_EQ(times_executed(world_.chain, payment("b")), 1U);
}

TEST_F(TxManagerTest, HaltsOnAnotherChain) {
    TxPolicy policy = sim_policy();
    policy.chain_id = 1;
    EXPECT_EQ(world_.manager(policy)->tick().error().code, ErrorCode::kMismatch);
}

TEST_F(TxManagerTest, HaltsOnAChainThatLostWhatWasFinal) {
    submit(payment("a"));
    tick();
    world_.chain.mine();
    finalize();
    tick();
    ASSERT_EQ(find("a").state, IntentState::kDone);
    world_.chain.reorg(static_cast<std::uint32_t>(world_.chain.head()), true);
    submit(payment("b"));
    const auto report = manager_->tick();
    EXPECT_EQ(report.error().code, ErrorCode::kMismatch);
    EXPECT_NE(report.error().message.find("lost finalized"), std::string::npos);
    EXPECT_EQ(world_.chain.pool_size(), 0U);
}

TEST_F(TxManagerTest, FailuresOfTheNodeLeaveEverythingToBeRetried) {
    submit(payment("a"));
    for (const char* failing :
         {"chain_id", "block", "nonce", "suggested_priority_fee", "estimate_gas", "send"}) {
        world_.chain.fault = [&](const char* method) -> std::optional<Error> {
            if (std::string_view(method) != failing) return std::nullopt;
            return fail(ErrorCode::kUnavailable, "node down");
        };
        EXPECT_EQ(world_.manager()->tick().error().code, ErrorCode::kUnavailable) << failing;
    }
    world_.chain.fault = nullptr;
    tick();
    world_.chain.mine();
    finalize();
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 1U);
}

TEST_F(TxManagerTest, WaitReportsWhatItWaitedFor) {
    submit(payment("a"));
    std::vector<Digest> sent;
    const auto waited = manager_->wait("a", 5, [&](const Digest& hash) { sent.push_back(hash); });
    EXPECT_EQ(sent, std::vector<Digest>{find("a").attempts.front().hash}) << "told once";
    EXPECT_EQ(waited.error().code, ErrorCode::kTimeout);
    EXPECT_NE(waited.error().message.find("pay for a"), std::string::npos);
    EXPECT_NE(waited.error().message.find("signed"), std::string::npos);
}

TEST_F(TxManagerTest, WhatTheNodeRefusedIsNotToldAsSent) {
    using chain::SendOutcome;
    std::vector<Digest> sent;
    const auto wait = [&] {
        return manager_->wait("a", 0, [&](const Digest& hash) { sent.push_back(hash); });
    };
    submit(payment("a"));
    for (const SendOutcome refusal : {SendOutcome::kNoFunds, SendOutcome::kUnderpriced}) {
        world_.chain.refusal = refusal;
        EXPECT_EQ(wait().error().code, ErrorCode::kTimeout);
        EXPECT_EQ(sent, std::vector<Digest>{});
        world_.clock.advance_ms(100);
    }
    world_.chain.refusal.reset();
    EXPECT_EQ(wait().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(sent, std::vector<Digest>{find("a").attempts.back().hash});
    world_.chain.mine();
    manager_ = world_.manager();  // a command that is run again finds it in a block
    EXPECT_EQ(wait().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(sent.size(), 2U);
    finalize();
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(wait().value().state, IntentState::kDone);
    EXPECT_EQ(sent.size(), 2U) << "it waits for nothing any more";
}

TEST_F(TxManagerTest, ExecuteFailsWithTheReasonOfARevert) {
    IntentRequest request = payment("a");
    request.data = {SimChain::kReverts};
    const auto executed = manager_->execute(request, 1'000);
    EXPECT_EQ(executed.error().code, ErrorCode::kConflict);
    EXPECT_NE(executed.error().message.find("revert 01020304"), std::string::npos);
}

}  // namespace
}  // namespace gym::chain
