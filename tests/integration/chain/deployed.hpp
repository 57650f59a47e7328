#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "anvil.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/chain/deploy.hpp"
#include "gym/chain_store/sqlite.hpp"

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
                                                     chain::describe_revert);
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
        chain::DeployParams params;
        params.token_holder = owner_.address();
        params.token_supply = tokens("1000000");
        params.growth_limit = tokens("1000000");
        params.release_cap = tokens("1000");
        params.dispute = dispute_terms();
        params.settler = params.guardian = params.coordinator = admin;
        const auto deployed = chain::deploy(*admin_.manager, anvil_.client(),
                                            chain::find_artifacts().value(), params, kTimeoutMs);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment_ = *deployed;
    }

    [[nodiscard]] virtual chain::DisputeParams dispute_terms() const { return {}; }

    /// Sends and waits for finality; the test fails unless it succeeds.
    chain::Outcome send(Sender& sender, const chain::ContractCall& call, const std::string& id) {
        const auto done = sender.manager->execute(call.intent(id), kTimeoutMs);
        EXPECT_TRUE(done.ok()) << done.error().message;
        return done.ok() ? *done : chain::Outcome{};
    }
    chain::ContractCall permit_deposit(const Amount& amount) {
        const auto nonce = token().permit_nonce(anvil_.client(), owner_.address()).value();
        const std::uint64_t deadline_s = 4'000'000'000;
        const auto permit =
            token().sign_permit(owner_, deployment_.escrow, amount, nonce, deadline_s);
        return escrow().deposit_with_permit(owner_.address(), amount, deadline_s, permit);
    }

    chain::GymToken token() const { return {deployment_.chain_id, deployment_.token}; }
    chain::JobEscrow escrow() const { return chain::JobEscrow(deployment_.escrow); }
    chain::CommitmentLog commitments() const {
        return chain::CommitmentLog(deployment_.commitment_log);
    }
    chain::RewardsDistributor distributor() const {
        return chain::RewardsDistributor(deployment_.distributor);
    }

    TestAnvil anvil_{options()};
    SystemClock clock_;
    crypto::PrivateKey deployer_ = anvil_.funded_key(0);
    crypto::PrivateKey owner_ = anvil_.funded_key(1);
    Sender admin_{anvil_, deployer_.clone(), clock_};
    Sender payer_{anvil_, owner_.clone(), clock_};
    chain::Deployment deployment_;
};

}  // namespace gym::testing
