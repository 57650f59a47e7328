#include "rewards_fixture.hpp"

namespace gym::rewards {
namespace {

class WithdrawalTest : public RewardsTest {
  protected:
    Amount available() { return balance(available_account(asset(), owner_)).spendable(); }
    Amount withdrawing() { return balance(withdrawing_account(asset(), owner_)).spendable(); }
    void withdraw(std::uint64_t amount) {
        chain_.withdraw(owner_, Amount(amount));
        tick();
    }
    void request(std::uint64_t amount) {
        chain_.request_withdrawal(owner_, Amount(amount));
        tick();
    }
    /// For more budget of a job that has 1 wei.
    void accept_order(std::uint64_t amount) {
        job_ = funded_job(1);
        chain_.deposit(owner_, Amount(100));
        tick();
        const auto stored = test_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(testing::store_funding(tx, job_, Amount(amount)));
            return testing::accept_orders(tx, asset(), job_, clock_.now_ms());
        });
        ASSERT_TRUE(stored.ok()) << stored.error().message;
    }
    registry::StoredOrder order() {
        return database_
            ->transact([&](db::Transaction& tx) { return registry::orders_of_job(tx, job_); })
            .value()
            .back();
    }
    Amount budget() { return balance(escrow_account(asset(), job_)).spendable(); }

    Digest job_;
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

TEST_F(WithdrawalTest, ARequestHoldsNothingBackThatJobsHaveLocked) {
    funded_job(80);
    chain_.deposit(owner_, Amount(20));
    request(100);
    EXPECT_EQ(withdrawing(), Amount(20));
    withdraw(20);
    EXPECT_EQ(available(), Amount(0));
}

// The contract pays what is not locked: an order that it has not seen yet is not protected from
// that.
TEST_F(WithdrawalTest, AWithdrawalThatOvertakesALockEndsTheOrder) {
    accept_order(80);
    chain_.holds_back = true;
    EXPECT_EQ(available(), Amount(20));
    request(100);
    EXPECT_EQ(withdrawing(), Amount(20));
    withdraw(100);
    EXPECT_EQ(order().state, registry::OrderState::kRefused);
    EXPECT_NE(order().reason.find("withdrew the money"), std::string::npos);
    EXPECT_EQ(available(), Amount(0));
    EXPECT_EQ(budget(), Amount(1));
    chain_.holds_back = false;
    tick();
    EXPECT_EQ(chain_.locked[owner_], Amount(1)) << "it is not sent any more";
}

TEST_F(WithdrawalTest, AnOrderIsLockedWhenTheChainSaysSo) {
    accept_order(80);
    chain_.holds_back = true;
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_EQ(order().state, registry::OrderState::kLocking);
    EXPECT_EQ(budget(), Amount(1));
    chain_.holds_back = false;
    chain_.failures = 1;
    tick();
    tick();
    EXPECT_EQ(order().state, registry::OrderState::kLocked) << "what failed is sent again";
    EXPECT_EQ(budget(), Amount(81));
    EXPECT_EQ(chain_.locked[owner_], Amount(81));
}

TEST_F(WithdrawalTest, AnOrderThatTheContractRefusesGivesItsMoneyBack) {
    accept_order(80);
    chain_.refuses_locks = "it expired";
    tick();
    EXPECT_EQ(order().state, registry::OrderState::kRefused);
    EXPECT_EQ(order().reason, "it expired");
    EXPECT_EQ(available(), Amount(100));
}

TEST_F(WithdrawalTest, WhatIsLeftOfAJobIsUnlocked) {
    const Digest job = funded_job(5'000);
    const Digest other = funded_job_of(testing::test_address(0x71, 1), 50, "other");
    history_.run_round(job, {{0, 2 * kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(chain_.locked[owner_], Amount(2'900));
    EXPECT_EQ(chain_.unlocked[owner_], Amount(0)) << "the job still needs it";
    history_.end_job(job);
    history_.end_job(other);
    for (int i = 0; i < 3; ++i) {
        restart();
        tick();
    }
    EXPECT_EQ(chain_.locked[owner_], Amount(0));
    EXPECT_EQ(chain_.unlocked[owner_], Amount(2'900));
    EXPECT_EQ(chain_.unlocked[testing::test_address(0x71, 1)], Amount(50));
    EXPECT_EQ(chain_.orders.count("unlock:1:0"), 1U);
    EXPECT_EQ(chain_.orders.count("unlock:2:0"), 0U) << "one call, once";
}

// A rest that the chain must not take from anybody else.
TEST_F(WithdrawalTest, ARoundThatTheOwnersLocksDoNotCoverWaitsAndHoldsUpNobody) {
    const Digest job = funded_job(5'000);
    const Digest other = funded_job_of(testing::test_address(0x71, 1), 5'000, "other");
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    history_.run_round(other, {{1, kPflop, Fate::kUnsampled}});
    chain_.unlocked[owner_] = Amount(4'500);
    chain_.locked[owner_] = Amount(500);
    chain_.emit(Unlocked{owner_, Amount(4'500), Amount(4'500)});
    settle();
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(1'050));
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(0));
    const auto held = database_->transact([](db::Transaction& tx) {
        return tx.exec_one("SELECT held FROM rewards.finished_round WHERE held <> ''");
    });
    ASSERT_TRUE(held.ok()) << held.error().message;
    EXPECT_NE(held->get<std::string>(0).find("(JobEscrow.lockedOf), and owes more"),
              std::string::npos);
}

// What nobody can prevent is prepared for: the jobs end, all that they spent is released, and the
// rest of the owner's money is what the contract pays back.
TEST_F(WithdrawalTest, TheJobsOfAnOwnerThatLeavesEndAndTheRestIsItsOwn) {
    const Digest job = funded_job(5'000);
    const Digest other = funded_job_of(testing::test_address(0x71, 1), 50, "other");
    chain_.deposit(owner_, Amount(20));
    const auto request_of = [&](const Digest& id) {
        return test_.owner()
            .transact([&](db::Transaction& tx) { return registry::get_job(tx, id); })
            .value()
            .request;
    };
    history_.run_round(job, {{0, 2 * kPflop, Fate::kUnsampled}});
    tick();
    EXPECT_EQ(request_of(job), std::nullopt);
    chain_.leave(owner_, 2'000'000'000);
    tick();
    EXPECT_EQ(request_of(job), registry::JobRequest::kCancel);
    EXPECT_EQ(request_of(other), std::nullopt);
    // A request of the owner to resume the job does not keep it from being cancelled.
    ASSERT_TRUE(test_.owner()
                    .transact([&](db::Transaction& tx) {
                        return registry::request_job(tx, job, registry::JobRequest::kResume);
                    })
                    .ok());
    tick();
    EXPECT_EQ(request_of(job), registry::JobRequest::kCancel);

    history_.end_job(job);
    for (int i = 0; i < 5; ++i)
        tick();
    EXPECT_EQ(available(), Amount(2'920));
    chain_.take_everything(owner_, Amount(2'920));
    tick();
    EXPECT_EQ(available(), Amount(0));
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(0));
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(2'100));
    EXPECT_EQ(test_.owner()
                  .transact([&](db::Transaction& tx) {
                      return tx.exec_one("SELECT count(*) FROM rewards.leaving");
                  })
                  .value()
                  .get<std::int64_t>(0),
              0);
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
