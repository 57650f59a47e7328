// What JobEscrow's caps do to epochs: an epoch never asks for a release that the contract refuses.
#include "rewards_fixture.hpp"

namespace gym::rewards {
namespace {

class CapsTest : public RewardsTest {
  protected:
    /// A round whose one final unit costs the owner `wei`, its uptime bonus included.
    void round_of(const Digest& job, std::size_t worker, std::uint64_t wei) {
        history_.run_round(job, {{worker, wei * kPflop / 1'050, Fate::kUnsampled}});
    }
    EpochFile file(std::uint64_t epoch) { return parse_epoch_file(published_.at(epoch)).value(); }
    Amount released(std::uint64_t epoch, const Address& owner) {
        Amount out;
        for (const ChainEvent& event : chain_.events)
            if (const auto* release = std::get_if<Released>(&event.what))
                if (release->epoch == epoch && release->owner == owner)
                    out = *out.plus(release->amount);
        return out;
    }
    std::string problem() {
        const auto epochs =
            database_->transact([](db::Transaction& tx) { return list_epochs(tx, 1); });
        return epochs.value().front().problem;
    }
};

TEST_F(CapsTest, RoundsBeyondAnOwnersCapWaitForTheNextEpoch) {
    chain_.caps.owner = Amount(2'500);
    const Digest job = funded_job(100'000);
    for (std::size_t i = 0; i < 3; ++i)
        round_of(job, i, 1'050);
    for (int i = 0; i < 10; ++i)
        tick();
    ASSERT_EQ(published_.size(), 2U);
    EXPECT_EQ(file(1).rounds.size(), 2U) << "the two oldest";
    EXPECT_EQ(file(1).rounds.front().round, 1U);
    EXPECT_EQ(released(1, owner_), Amount(2'100));
    EXPECT_EQ(file(2).rounds.size(), 1U);
    EXPECT_EQ(released(2, owner_), Amount(1'050));
    EXPECT_EQ(file(2).total_cumulative, Amount(3'150)) << "nothing was lost";
    EXPECT_EQ(summary_of(history_.earner(2)).payable, Amount(1'050));
}

TEST_F(CapsTest, OneOwnersCapKeepsNoOtherOwnersWorkUnpaid) {
    chain_.caps.owner = Amount(2'500);
    const Address other = testing::test_address(0x71, 1);
    const Digest job = funded_job(100'000);
    const Digest job_of_other = funded_job_of(other, 100'000, "other");
    round_of(job, 0, 2'100);
    round_of(job, 1, 2'100);
    round_of(job_of_other, 2, 2'100);
    const TickReport report = tick();
    EXPECT_EQ(report.epoch_closed, 1U);
    EXPECT_EQ(report.rounds_held, 1U);
    for (int i = 0; i < 10; ++i)
        tick();
    EXPECT_EQ(released(1, owner_), Amount(2'100));
    EXPECT_EQ(released(1, other), Amount(2'100));
    EXPECT_EQ(released(2, owner_), Amount(2'100));
    EXPECT_EQ(released(2, other), Amount(0));
}

TEST_F(CapsTest, TheCapOfAllOwnersSplitsAnEpochToo) {
    chain_.caps.epoch = Amount(2'500);
    const Address other = testing::test_address(0x71, 1);
    const Digest job = funded_job(100'000);
    const Digest job_of_other = funded_job_of(other, 100'000, "other");
    round_of(job, 0, 2'100);
    round_of(job_of_other, 1, 2'100);
    for (int i = 0; i < 10; ++i)
        tick();
    EXPECT_EQ(released(1, owner_), Amount(2'100));
    EXPECT_EQ(released(1, other), Amount(0));
    EXPECT_EQ(released(2, other), Amount(2'100));
}

// Only an admin can help: others are paid meanwhile, and at last its epoch says what it waits for.
TEST_F(CapsTest, ARoundAboveTheCapByItselfWaitsForTheAdminAndNobodyElse) {
    chain_.caps.owner = Amount(2'500);
    const Address other = testing::test_address(0x71, 1);
    const Digest job = funded_job(100'000);
    const Digest job_of_other = funded_job_of(other, 100'000, "other");
    round_of(job, 0, 4'200);
    round_of(job_of_other, 1, 1'050);
    EXPECT_EQ(tick().rounds_held, 1U);
    for (int i = 0; i < 10; ++i)
        tick();
    EXPECT_EQ(released(1, other), Amount(1'050));
    EXPECT_EQ(released(2, owner_), Amount(0));
    EXPECT_EQ(problem(), "release:2:0: above a cap");
    chain_.caps.owner = Amount(4'200);
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_EQ(released(2, owner_), Amount(4'200));
    EXPECT_EQ(problem(), "");
}

}  // namespace
}  // namespace gym::rewards
