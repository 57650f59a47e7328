// PostgreSQL dies and comes back while transactions are on their way.

#include <chrono>
#include <thread>

#include "gym/chain/tx_manager.hpp"
#include "manual_clock.hpp"
#include "sim_chain.hpp"
#include "stores.hpp"

namespace gym::testing {
namespace {

chain::IntentRequest payment(int number) {
    chain::IntentRequest out;
    out.id = "payment/" + std::to_string(number);
    out.to = chain::private_chain_key(5).address();
    out.data = {1, static_cast<std::uint8_t>(number)};
    out.label = "pay";
    return out;
}

TEST(DatabaseRestart, LosesNoIntentAndPaysNoneTwice) {
    TestDatabase database;
    const auto user = database.as("gym_rewards");
    SimChain node;
    testing::ManualClock clock{1};
    const auto key = chain::private_chain_key(1);
    const auto store =
        chain_store::postgres_intents(*user, {"gym_rewards"}, SimChain::kChainId, key.address());
    chain::TxPolicy policy;
    policy.chain_id = SimChain::kChainId;
    policy.rebroadcast_ms = 1;
    chain::TxManager manager(node, *store, key.clone(), clock, policy,
                             [](ByteView) { return std::string("reverted"); });
    constexpr int kPayments = 6;
    for (int i = 0; i < kPayments; ++i) {
        ASSERT_TRUE(manager.submit(payment(i)).ok());
        const bool away = i == 3;  // once the server is gone while the manager works
        if (away) {
            ASSERT_TRUE(postgres().stop(db::StopMode::kImmediate).ok());
        }
        // The server belongs to the thread that starts it, so the manager works in the other one.
        std::thread work([&] {
            const auto report = manager.tick();
            EXPECT_TRUE(report.ok()) << report.error().message;
        });
        if (away) {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            EXPECT_TRUE(postgres().start().ok());
        }
        work.join();
        clock.advance_ms(10);
        if (i == 1) {
            ASSERT_TRUE(postgres().restart(db::StopMode::kImmediate).ok());
        }
        node.mine();
    }
    node.mine(SimChain::kFinalityDepth);
    ASSERT_TRUE(manager.tick().ok());
    const auto executed = node.executed();
    EXPECT_EQ(executed.size(), static_cast<std::size_t>(kPayments));
    for (int i = 0; i < kPayments; ++i)
        EXPECT_EQ(store->find(payment(i).id).value().state, chain::IntentState::kDone) << i;
}

}  // namespace
}  // namespace gym::testing
