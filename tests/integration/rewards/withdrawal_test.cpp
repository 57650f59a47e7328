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

/// The amount that the contract would pay to `owner` now.
Amount requested(const FakeChain& chain, const Address& owner) {
    const auto found = chain.requests.find(owner);
    return found == chain.requests.end() ? Amount() : found->second;
}

// An attacker leaves trims behind that the contract refuses for ever, so that the trim of another
// address, which asks for money that its jobs have locked, never gets its turn.
TEST_F(WithdrawalTest, TrimsThatTheContractRefusesKeepNoOtherTrimWaiting) {
    const Address clutter = testing::test_address(0x71, 1);
    funded_job_of(clutter, 1, "clutter");
    funded_job(80);
    for (int i = 0; i < 400; ++i)
        chain_.request_withdrawal(clutter, Amount(1));
    for (int i = 0; i < 3; ++i)
        tick();
    chain_.request_withdrawal(owner_, Amount(80));
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_EQ(requested(chain_, owner_), Amount(0));
    EXPECT_EQ(requested(chain_, clutter), Amount(0));
}

TEST_F(WithdrawalTest, TheOldestTrimGoesFirst) {
    funded_job(80);
    chain_.holds_back = true;
    chain_.request_withdrawal(owner_, Amount(80));
    tick();
    // As many of others as one tick sends at most, with ids that sort before every hash.
    const auto later = database_->transact([](db::Transaction& tx) {
        return tx.exec(
            "INSERT INTO rewards.trim (id, owner, amount) SELECT 'trim:' || lpad(n::text, 8, '0'), "
            "decode(lpad(to_hex(n), 40, '0'), 'hex'), 0 FROM generate_series(1, 500) n");
    });
    ASSERT_TRUE(later.ok()) << later.error().message;
    chain_.holds_back = false;
    tick();
    EXPECT_EQ(requested(chain_, owner_), Amount(0));
}

TEST_F(WithdrawalTest, ATrimOfARequestThatWasReplacedIsNotSent) {
    funded_job(80);
    chain_.deposit(owner_, Amount(20));
    tick();
    chain_.holds_back = true;
    request(100);  // to be trimmed to 20
    request(10);   // and this is all free
    chain_.holds_back = false;
    tick();
    tick();
    EXPECT_EQ(requested(chain_, owner_), Amount(10));
    EXPECT_EQ(withdrawing(), Amount(10));
}

TEST_F(WithdrawalTest, ATrimThatIsStillNeededOutlivesAnOlderOne) {
    funded_job(80);
    chain_.deposit(owner_, Amount(20));
    tick();
    chain_.holds_back = true;
    request(100);  // to be trimmed to 20
    chain_.holds_back = false;
    // Meanwhile on chain: a smaller request, all of it free, then one for everything; and an old
    // trim to 60 is mined only now.
    chain_.request_withdrawal(owner_, Amount(100));
    chain_.requests[owner_] = Amount(60);
    chain_.emit(WithdrawalTrimmed{owner_, Amount(60)});
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_EQ(requested(chain_, owner_), Amount(20));
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
