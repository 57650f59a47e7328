#include "rewards_fixture.hpp"

namespace gym::rewards {
namespace {

class WithdrawalTest : public RewardsTest {
  protected:
    Amount available() { return balance(available_account(asset(), owner_)).spendable(); }
    Amount withdrawing() { return balance(withdrawing_account(asset(), owner_)).spendable(); }
    void withdraw(std::uint64_t amount) {
        chain_.escrow = *chain_.escrow.minus(Amount(amount));
        chain_.emit(Withdrawn{owner_, Amount(amount)});
        tick();
    }
    void request(std::uint64_t amount) {
        chain_.emit(WithdrawalRequested{owner_, Amount(amount)});
        tick();
        tick();  // takes in a trim
    }
};

TEST_F(WithdrawalTest, ARequestHoldsTheAmountBackUntilItIsPaid) {
    chain_.deposit(owner_, Amount(100));
    request(60);
    EXPECT_EQ(available(), Amount(40));
    EXPECT_EQ(withdrawing(), Amount(60));
    withdraw(60);
    EXPECT_EQ(withdrawing(), Amount(0));
    EXPECT_EQ(available(), Amount(40));
}

TEST_F(WithdrawalTest, ANewRequestReplacesTheOneBefore) {
    chain_.deposit(owner_, Amount(100));
    request(60);
    request(10);
    EXPECT_EQ(withdrawing(), Amount(10));
    request(0);
    EXPECT_EQ(available(), Amount(100));
}

TEST_F(WithdrawalTest, WhatJobsHaveLockedIsTrimmedFromARequest) {
    funded_job(80);
    chain_.deposit(owner_, Amount(20));
    request(100);
    EXPECT_EQ(withdrawing(), Amount(20));
    bool trimmed = false;
    for (const ChainEvent& event : chain_.events)
        if (const auto* trim = std::get_if<WithdrawalTrimmed>(&event.what))
            trimmed = trim->amount == Amount(20);
    EXPECT_TRUE(trimmed);
    withdraw(20);
    EXPECT_EQ(available(), Amount(0));
}

TEST_F(WithdrawalTest, AWithdrawalThatOvertookItsTrimComesOutOfTheJobsBudget) {
    const Digest job = funded_job(80);
    chain_.holds_back = true;
    request(50);
    withdraw(50);
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(30));
    chain_.holds_back = false;
}

TEST_F(WithdrawalTest, MoreThanTheLedgerHasStopsTheDaemon) {
    chain_.deposit(owner_, Amount(10));
    tick();
    chain_.emit(Withdrawn{owner_, Amount(11)});
    EXPECT_EQ(daemon_->tick().error().code, ErrorCode::kConflict);
    EXPECT_EQ(available(), Amount(10));
}

}  // namespace
}  // namespace gym::rewards
