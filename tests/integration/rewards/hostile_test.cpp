#include "rewards_fixture.hpp"

// Attempts of one party to make others wait for their money.
namespace gym::rewards {
namespace {

class HostileTest : public RewardsTest {
  protected:
    /// Ticks until nothing moves any more.
    void run_out() {
        for (int i = 0; i < 30; ++i)
            tick();
    }
    std::string held() {
        return database_
            ->transact([](db::Transaction& tx) -> Result<std::string> {
                GYM_TRY(const db::Row row,
                        tx.exec_one("SELECT coalesce(string_agg(held, ''), '') FROM "
                                    "rewards.finished_round"));
                return row.get<std::string>(0);
            })
            .value();
    }
    const Address rich_ = testing::test_address(0x71, 1);
};

TEST_F(HostileTest, TokensThatAStrangerSendsToTheDistributorAreNoDifference) {
    const Digest job = funded_job(10'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    chain_.distributor = *chain_.distributor.plus(Amount(1));
    ++chain_.block;
    tick();
    const auto now = settlement_->reconcile(chain_.block);
    ASSERT_TRUE(now.ok());
    EXPECT_TRUE(now->agrees());
    EXPECT_EQ(ledger::Ledger(*database_, clock_).audit().value(), std::vector<std::string>{});
}

TEST_F(HostileTest, ARoundAboveTheReleaseCapKeepsNoOtherRoundUnpaid) {
    chain_.caps.release = Amount(5'000);
    const Digest large = funded_job_of(rich_, 100'000, "large");
    const Digest small = funded_job(10'000, "small");
    history_.run_round(large, {{0, 6 * kPflop, Fate::kUnsampled}});
    history_.run_round(small, {{1, kPflop, Fate::kUnsampled}});
    run_out();
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(1'050));
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(0));
    EXPECT_NE(held().find("JobEscrow.releaseCap"), std::string::npos) << held();

    chain_.caps.release = Amount(7'000);
    run_out();
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(6'300)) << "once the cap is raised";
    EXPECT_EQ(held(), "");
}

TEST_F(HostileTest, WhatOneOwnerSpendsAboveItsCapIsPaidOverSeveralEpochs) {
    chain_.caps.owner_release = Amount(2'100);
    const Digest busy = funded_job_of(rich_, 100'000, "busy");
    const Digest other = funded_job(10'000, "other");
    for (int i = 0; i < 4; ++i)
        history_.run_round(busy, {{0, kPflop, Fate::kUnsampled}});
    history_.run_round(other, {{1, kPflop, Fate::kUnsampled}});
    run_out();
    EXPECT_EQ(held(), "") << "each round fits an epoch";
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(4'200));
    ASSERT_EQ(published_.size(), 2u);
    const auto first = parse_epoch_file(published_.at(1));
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->releases,
              (std::vector<FileRelease>{{owner_, Amount(1'050)}, {rich_, Amount(2'100)}}))
        << "the other owner's round came last and does not wait";
}

TEST_F(HostileTest, RoundsBeyondTheGrowthLimitOrAFilesSizeWaitForTheNextEpochAsAWhole) {
    config_.fees.fee_ppm = 100'000;
    config_.fees.burned_ppm = 500'000;
    config_.fees.account = testing::test_address(0x72, 1);
    config_.epoch_credits_max = 5;
    restart();
    const Digest job = funded_job(100'000);
    for (int i = 0; i < 3; ++i)  // 4 credits each: compute, uptime, fee, burn
        history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    run_out();
    EXPECT_EQ(published_.size(), 3u);
    for (const auto& [epoch, json] : published_) {
        const auto file = parse_epoch_file(json);
        ASSERT_TRUE(file.ok());
        EXPECT_EQ(file->rounds.size(), 1u) << epoch;
        EXPECT_EQ(file->credits.size(), 4u) << epoch;
    }
    config_.epoch_credits_max = 100;
    chain_.caps.growth = Amount(2'500);
    restart();
    for (int i = 0; i < 4; ++i)
        history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    run_out();
    EXPECT_EQ(published_.size(), 5u) << "two rounds an epoch";
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(7 * 1'050));
}

}  // namespace
}  // namespace gym::rewards
