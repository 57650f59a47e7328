#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "anvil.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/game/dispute_params.hpp"

namespace gym::testing {

inline Amount tokens(const char* text) {
    return Amount::parse_tokens(text).value();
}

/// A transaction manager with a store of its own in memory.
struct Sender {
    std::unique_ptr<chain_store::SqliteChainStore> file =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<chain::IntentStore> store;
    std::unique_ptr<chain::TxManager> manager;

    Sender(TestAnvil& anvil, crypto::PrivateKey key, const Clock& clock) {
        store = file->intents(anvil.chain_id(), key.address());
        manager = std::make_unique<chain::TxManager>(anvil.client(), *store, std::move(key), clock,
                                                     test_policy(anvil.chain_id()),
                                                     contracts::describe_revert);
    }
};

/// The contracts on a private chain with a block every 100 ms; the deployer holds every role.
class DeployedTest : public ::testing::Test {
  protected:
    static constexpr std::uint32_t kTimeoutMs = 20'000;

    static chain::AnvilOptions options() {
        chain::AnvilOptions out;
        out.block_time_ms = 100;
        return out;
    }

    void SetUp() override {
        const Address admin = deployer_.address();
        contracts::DeployParams params;
        params.token_holder = owner_.address();
        params.token_supply = tokens("1000000");
        params.growth_limit = tokens("1000000");
        params.release_cap = tokens("1000");
        params.dispute = dispute_terms();
        params.settler = params.guardian = params.coordinator = admin;
        const auto deployed =
            contracts::deploy(*admin_.manager, anvil_.client(), contracts::find_artifacts().value(),
                              params, kTimeoutMs);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment_ = *deployed;
    }

    [[nodiscard]] virtual game::DisputeParams dispute_terms() const { return {}; }

    /// Sends and waits for finality; the test fails unless it succeeds.
    chain::Outcome send(Sender& sender, const contracts::ContractCall& call,
                        const std::string& id) {
        const auto done = sender.manager->execute(call.intent(id), kTimeoutMs);
        EXPECT_TRUE(done.ok()) << done.error().message;
        return done.ok() ? *done : chain::Outcome{};
    }
    contracts::ContractCall permit_deposit(const Amount& amount) {
        const auto nonce = token().permit_nonce(anvil_.client(), owner_.address()).value();
        const std::uint64_t deadline_s = 4'000'000'000;
        const auto permit =
            token().sign_permit(owner_, deployment_.escrow, amount, nonce, deadline_s);
        return escrow().deposit_with_permit(owner_.address(), amount, deadline_s, permit);
    }

    contracts::GymToken token() const { return {deployment_.chain_id, deployment_.token}; }
    contracts::JobEscrow escrow() const { return contracts::JobEscrow(deployment_.escrow); }
    contracts::CommitmentLog commitments() const {
        return contracts::CommitmentLog(deployment_.commitment_log);
    }
    contracts::RewardsDistributor distributor() const {
        return contracts::RewardsDistributor(deployment_.distributor);
    }

    TestAnvil anvil_{options()};
    SystemClock clock_;
    crypto::PrivateKey deployer_ = anvil_.funded_key(0);
    crypto::PrivateKey owner_ = anvil_.funded_key(1);
    Sender admin_{anvil_, deployer_.clone(), clock_};
    Sender payer_{anvil_, owner_.clone(), clock_};
    contracts::Deployment deployment_;
};

}  // namespace gym::testing
