// How many transactions are on their way, what is asked about those in blocks, what is sent again.
#include "tx_fixture.hpp"

namespace gym::chain {
namespace {

using TxFlightTest = TxManagerTest;

TEST_F(TxFlightTest, AtMostSoManyAreInFlight) {
    TxPolicy policy = sim_policy();
    policy.in_flight_max = 3;
    policy.unmined_max = 8;
    manager_ = world_.manager(policy);
    for (int i = 0; i < 8; ++i)
        submit(payment("p" + std::to_string(i)));
    const TickReport report = tick();
    EXPECT_EQ(report.signed_new, 3U);
    EXPECT_EQ(report.queued_left, 5U);
    EXPECT_EQ(tick().signed_new, 0U);
    for (int i = 0; i < 5; ++i) {
        world_.chain.mine();
        finalize();
        tick();
    }
    for (int i = 0; i < 8; ++i) {
        const std::string id = "p" + std::to_string(i);
        EXPECT_EQ(find(id).state, IntentState::kDone) << id;
        EXPECT_EQ(*find(id).nonce, static_cast<std::uint64_t>(i)) << "in the order of submission";
    }
}

TEST_F(TxFlightTest, SlowFinalityDoesNotHoldUpWhatNodesWouldTake) {
    TxPolicy policy = sim_policy();
    policy.unmined_max = 3;
    policy.in_flight_max = 7;
    manager_ = world_.manager(policy);
    for (int i = 0; i < 12; ++i)
        submit(payment("p" + std::to_string(i)));
    EXPECT_EQ(tick().signed_new, 3U);
    EXPECT_EQ(tick().signed_new, 0U) << "none of the three is in a block";
    world_.chain.mine();
    TickReport report = tick();
    EXPECT_EQ(report.signed_new, 3U) << "none is final, and three are in a block";
    EXPECT_EQ(report.in_flight, 6U);
    EXPECT_EQ(report.unmined, 3U);
    world_.chain.mine();
    report = tick();
    EXPECT_EQ(report.signed_new, 1U) << "seven that are not final are enough";
    EXPECT_EQ(report.queued_left, 5U);
    for (int i = 0; i < 5; ++i) {
        finalize();
        world_.chain.mine();
        tick();
    }
    for (int i = 0; i < 12; ++i) {
        const std::string id = "p" + std::to_string(i);
        EXPECT_EQ(find(id).state, IntentState::kDone) << id;
        EXPECT_EQ(times_executed(world_.chain, payment(id)), 1U);
    }
}

TEST_F(TxFlightTest, WhatIsInABlockIsAskedForAgainOnlyWhenItIsFinal) {
    int asked = 0;
    world_.chain.fault = [&](const char* method) -> std::optional<Error> {
        if (std::string_view(method) == "receipt") ++asked;
        return std::nullopt;
    };
    submit(payment("a"));
    tick();
    world_.chain.mine();
    for (std::uint64_t i = 0; i < SimChain::kFinalityDepth; ++i) {
        const TickReport report = tick();
        EXPECT_EQ(report.taken.count("a"), 1U) << "it is said to be there nonetheless";
        EXPECT_EQ(asked, 1);
        world_.chain.mine();
    }
    tick();
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(find("a").state, IntentState::kDone);
}

TEST_F(TxFlightTest, WhatAReorgMovedToALaterBlockIsDoneWhenThatOneIsFinal) {
    submit(payment("a"));
    tick();
    world_.chain.mine();
    tick();  // notes the block
    world_.chain.reorg(1, true);
    world_.clock.advance_ms(100);
    tick();  // sent again
    world_.chain.mine(SimChain::kFinalityDepth - 2, false);
    world_.chain.mine();  // in this one now
    tick();
    world_.chain.mine(2);
    tick();
    EXPECT_EQ(find("a").state, IntentState::kSigned) << "final is where it was before";
    finalize();
    tick();
    EXPECT_EQ(find("a").state, IntentState::kDone);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 1U);
}

TEST_F(TxFlightTest, WhatEndedWithoutHappeningIsSentAgainUnderAnotherId) {
    const auto again = [&] { return manager_->submit_idempotent(payment("a")).value(); };
    EXPECT_EQ(again().request.id, "a");
    ASSERT_TRUE(manager_->cancel("a").ok());
    tick();
    ASSERT_EQ(find("a").state, IntentState::kCancelled);
    EXPECT_EQ(again().request.id, "a#2");
    EXPECT_EQ(again().request.id, "a#2") << "it is on its way";
    tick();
    world_.chain.mine();
    finalize();
    tick();
    EXPECT_EQ(again().state, IntentState::kDone);
    EXPECT_EQ(manager_->find("a#3").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(times_executed(world_.chain, payment("a")), 1U);
}

TEST_F(TxFlightTest, SendingAgainComesToAnEnd) {
    for (int i = 0; i < TxManager::kRepeatsMax; ++i) {
        const auto intent = manager_->submit_idempotent(payment("a"));
        ASSERT_TRUE(intent.ok()) << intent.error().message;
        ASSERT_TRUE(manager_->cancel(intent->request.id).ok());
        tick();
    }
    EXPECT_EQ(manager_->submit_idempotent(payment("a")).error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace gym::chain
