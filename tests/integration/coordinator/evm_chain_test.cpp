// The chain port over a real node and the real contract.
#include "gym/coordinator/evm_chain.hpp"
#include "gym/coordinator/stake_port.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "anvil.hpp"
#include "gym/chain/dispute_contracts.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::testing {
namespace {

Digest digest(std::string_view text) {
    return commit::sha256(as_bytes(text));
}

/// The contracts on a private chain with a block every 100 ms that survives a stop; one key holds
/// every role.
class EvmChainTest : public ::testing::Test {
  protected:
    static chain::AnvilOptions options() {
        chain::AnvilOptions out;
        out.block_time_ms = 100;
        out.persist = true;
        return out;
    }
    void SetUp() override {
        chain::DeployParams params;
        params.token_holder = key_.address();
        params.token_supply = params.growth_limit = params.release_cap = Amount(1'000);
        params.settler = params.guardian = params.coordinator = key_.address();
        const auto deployed = chain::deploy(manager_, anvil_.client(),
                                            chain::find_artifacts().value(), params, 20'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment = *deployed;
        port = coordinator::make_evm_chain(anvil_.client(), manager_,
                                           {deployed->commitment_log, {}}, 1);
    }
    /// Ticks until `ask` has an answer; the chain makes a block every 100 ms.
    template <class F>
    auto wait_for(F&& ask) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        for (;;) {
            const Status ticked = port->tick();
            EXPECT_TRUE(ticked.ok()) << ticked.error().message;
            auto answer = ask();
            if (answer || std::chrono::steady_clock::now() > deadline) return answer;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }

    TestAnvil anvil_{options()};
    SystemClock clock_;
    crypto::PrivateKey key_ = anvil_.funded_key(0);
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<chain::IntentStore> intents_ =
        file_->intents(anvil_.chain_id(), key_.address());
    chain::TxManager manager_{
        anvil_.client(),       *intents_, key_.clone(), clock_, test_policy(anvil_.chain_id()),
        chain::describe_revert};
    const Digest job = digest("job");
    chain::Deployment deployment;
    std::unique_ptr<coordinator::ChainPort> port;
};

TEST_F(EvmChainTest, posts_rounds_and_epochs_once_and_reads_the_beacon) {
    EXPECT_FALSE(port->round_posted(job, 1, digest("record")).value());
    ASSERT_TRUE(port->post_round(job, 1, digest("record")).ok());
    ASSERT_TRUE(port->post_round(job, 1, digest("record")).ok()) << "repeating is no error";
    ASSERT_TRUE(wait_for([&] { return port->round_posted(job, 1, digest("record")).value(); }));
    EXPECT_EQ(port->round_posted(job, 1, digest("another")).error().code, ErrorCode::kConflict);

    const coordinator::EpochPost epoch{1, job, 1, digest("root"), 3};
    EXPECT_FALSE(port->epoch_block(epoch).value().has_value());
    ASSERT_TRUE(port->post_epoch(epoch).ok());
    const auto block = wait_for([&] { return port->epoch_block(epoch).value(); });
    ASSERT_TRUE(block.has_value());
    coordinator::EpochPost other = epoch;
    other.count = 4;
    EXPECT_EQ(port->epoch_block(other).error().code, ErrorCode::kConflict);

    const auto beacon = wait_for([&] { return port->randomness(*block + 2).value(); });
    ASSERT_TRUE(beacon.has_value());
    EXPECT_EQ(*beacon, anvil_.client().block(*block + 2).value()->prevrandao);
    EXPECT_FALSE(port->randomness(*block + 100'000).value().has_value());
}

TEST_F(EvmChainTest, a_node_that_is_away_is_unavailable_and_then_goes_on) {
    ASSERT_TRUE(port->post_round(job, 1, digest("record")).ok());
    anvil_.stop(false);
    EXPECT_FALSE(port->round_posted(job, 1, digest("record")).ok());
    anvil_.start();
    EXPECT_TRUE(
        wait_for([&] { return port->round_posted(job, 1, digest("record")).value_or(false); }));
}

TEST_F(EvmChainTest, stakes_are_those_of_the_contract_and_asked_for_again_after_a_while) {
    ManualClock clock(1'000);
    const auto stakes =
        coordinator::make_evm_stake(anvil_.client(), deployment.stake, clock, 10'000);
    const Address worker = chain::private_chain_key(5).address();
    EXPECT_TRUE(stakes->active_stake(worker)->is_zero());
    const chain::Stake contract(deployment.stake);
    const chain::GymToken token(deployment.chain_id, deployment.token);
    for (const auto& [id, call] :
         {std::pair{"approve", token.approve(deployment.stake, Amount(1'000))},
          std::pair{"stake", contract.stake(worker, Amount(70))}}) {
        const auto done = manager_.execute(call.intent(id), 20'000);
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    clock.advance_ms(9'999);
    EXPECT_TRUE(stakes->active_stake(worker)->is_zero()) << "kept";
    clock.advance_ms(1);
    EXPECT_EQ(stakes->active_stake(worker).value(), Amount(70));
    const auto nowhere = coordinator::make_evm_stake(anvil_.client(), worker, clock, 10'000);
    EXPECT_EQ(nowhere->active_stake(worker).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::testing
