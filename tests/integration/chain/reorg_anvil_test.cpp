// Reorgs of a real node: every deposit is credited exactly once, from the chain that won.

#include <chrono>
#include <map>
#include <thread>

#include "deployed.hpp"
#include "gym/chain/log_follower.hpp"
#include "gym/contracts/job_escrow.hpp"

namespace gym::testing {
namespace {

class ReorgOnAnvil : public DeployedTest {
  protected:
    std::unique_ptr<chain::LogFollower> follower(chain::FollowerStore& memory) {
        chain::FollowerOptions options;
        options.chain_id = anvil_.chain_id();
        options.start_block = deployment_.start_block;
        options.filter = {{deployment_.escrow}, contracts::JobEscrow::topics()};
        return std::make_unique<chain::LogFollower>(
            anvil_.client(), memory, options,
            [this](const chain::LogKey& key, const chain::Log& log) -> Status {
                GYM_TRY(const auto event, escrow().parse_event(log));
                if (event) credits_.emplace(key, std::get<contracts::Deposited>(*event).amount);
                return {};
            });
    }
    Amount credited() const {
        Amount out;
        for (const auto& [key, amount] : credits_)
            out = out.plus(amount).value();
        return out;
    }
    std::map<chain::LogKey, Amount> credits_;
};

TEST_F(ReorgOnAnvil, EachDepositIsCreditedExactlyOnce) {
    anvil_.rpc("evm_setIntervalMining", "[0]");
    anvil_.rpc("anvil_mine", "[3]");
    const auto memory = payer_.file->follower("deposits", anvil_.chain_id()).value();
    auto following = follower(*memory);
    const auto approve = token().approve(deployment_.escrow, tokens("1000"));
    ASSERT_TRUE(payer_.manager->submit(approve.intent("approve")).ok());
    ASSERT_TRUE(payer_.manager->tick().ok());
    anvil_.mine(3);
    ASSERT_TRUE(payer_.manager->tick().ok());

    std::uint32_t orphaned = 0;
    for (int i = 0; i < 6; ++i) {
        const auto call = escrow().deposit(owner_.address(), tokens("1"));
        ASSERT_TRUE(payer_.manager->submit(call.intent("deposit/" + std::to_string(i))).ok());
        ASSERT_TRUE(payer_.manager->tick().ok());
        anvil_.mine(1);
        const auto seen = following->tick();
        ASSERT_TRUE(seen.ok()) << seen.error().message;
        if (i % 2 == 0) {
            // Not deeper than what is not final yet (finality is two blocks behind the head).
            anvil_.rpc("anvil_reorg", "[1,[]]");
            following = follower(*memory);  // and a restart
            const auto after = following->tick();
            ASSERT_TRUE(after.ok()) << after.error().message;
            orphaned += after->blocks_orphaned;
        }
    }
    // The manager sends again what the reorgs dropped.
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(payer_.manager->tick().ok());
        anvil_.mine(1);
        ASSERT_TRUE(following->tick().ok());
        if (credits_.size() == 6 &&
            payer_.manager->find("deposit/5").value().state == chain::IntentState::kDone)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GE(orphaned, 3U);
    EXPECT_EQ(credits_.size(), 6U);
    EXPECT_EQ(credited(), tokens("6"));
    EXPECT_EQ(escrow().balance_of(anvil_.client(), owner_.address()).value(), tokens("6"));
}

TEST_F(ReorgOnAnvil, AReorgBelowFinalityHalts) {
    anvil_.rpc("evm_setIntervalMining", "[0]");
    const auto memory = payer_.file->follower("deposits", anvil_.chain_id()).value();
    anvil_.mine(6);
    auto following = follower(*memory);
    ASSERT_TRUE(following->tick().ok());
    anvil_.rpc("anvil_reorg", "[5,[]]");
    anvil_.mine(3);
    const auto report = following->tick();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kMismatch);
    EXPECT_NE(report.error().message.find("was finalized"), std::string::npos);
    EXPECT_EQ(follower(*memory)->tick().error().code, ErrorCode::kMismatch);
}

}  // namespace
}  // namespace gym::testing
