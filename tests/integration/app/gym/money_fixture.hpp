#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "anvil.hpp"
#include "command.hpp"
#include "fake_backend.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/http_server/server.hpp"
#include "gym/payouts/payout_tree.hpp"

namespace gym::api::testing {

namespace json = boost::json;
inline constexpr std::uint64_t kWithdrawalDelayS = 3'600;

inline Amount tokens(const char* text) {
    return Amount::parse_tokens(text).value();
}

inline chain::AnvilOptions quick_blocks() {
    chain::AnvilOptions options;
    options.block_time_ms = 100;  // so that the chain grows and blocks become final
    options.persist = true;       // for the test that stops it
    return options;
}

/// `gym` with the owner's key, a real EVM with our contracts, and a gym-api that answers from
/// memory.
class MoneyCommandsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        store_ = chain_store::SqliteChainStore::open(":memory:").value();
        deploy();
        ASSERT_TRUE(contracts::save_deployment(place_ / "deployment.json", deployment_).ok());
        ASSERT_TRUE(crypto::save_keystore(place_ / "key.json", owner_,
                                          crypto::SecretBytes(std::string_view("pass")),
                                          crypto::ScryptCost::light())
                        .ok());
        ASSERT_TRUE(write_file_atomic(place_ / "pass", as_bytes("pass\n"), 0600).ok());
        ApiOptions options;
        options.network = {deployment_.chain_id,    deployment_.token,          deployment_.escrow,
                           deployment_.distributor, deployment_.commitment_log, deployment_.stake,
                           deployment_.dispute_game};
        api_.emplace(ApiDependencies{backend_, backend_, backend_, clock_}, options);
        server_ = http_server::Server::start({}, *api_).value();
        ::setenv("GYM_API", ("http://127.0.0.1:" + std::to_string(server_->port())).c_str(), 1);
        ::setenv("GYM_CHAIN", anvil_.url().c_str(), 1);
        ::setenv("GYM_DEPLOYMENT", (place_ / "deployment.json").c_str(), 1);
    }
    void TearDown() override {
        if (server_) server_->stop(1'000);
        for (const char* name : {"GYM_API", "GYM_CHAIN", "GYM_DEPLOYMENT"})
            ::unsetenv(name);
    }

    chain::Outcome execute(const crypto::PrivateKey& key, const contracts::ContractCall& call,
                           const std::string& id) {
        const auto intents = store_->intents(anvil_.chain_id(), key.address());
        chain::TxManager manager(anvil_.client(), *intents, key.clone(), clock_,
                                 gym::testing::test_policy(anvil_.chain_id()),
                                 contracts::describe_revert);
        const auto outcome = manager.execute(call.intent(id), 60'000);
        EXPECT_TRUE(outcome.ok()) << outcome.error().message;
        return outcome.value_or({});
    }

    void deploy() {
        const auto intents = store_->intents(anvil_.chain_id(), admin_.address());
        chain::TxManager manager(anvil_.client(), *intents, admin_.clone(), clock_,
                                 gym::testing::test_policy(anvil_.chain_id()),
                                 contracts::describe_revert);
        contracts::DeployParams params;
        params.token_holder = owner_.address();
        params.token_supply = tokens("1000");
        params.growth_limit = params.release_cap = tokens("1000");
        params.withdrawal_delay_s = kWithdrawalDelayS;
        params.admin_delay_s = 2 * kWithdrawalDelayS;
        params.settler = params.guardian = params.coordinator = admin_.address();
        const auto deployed = contracts::deploy(
            manager, anvil_.client(), contracts::find_artifacts().value(), params, 60'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment_ = *deployed;
    }

    /// Puts 100 tokens into the distributor and a root that pays `earner` 30 of them.
    void post_root(const Address& earner, std::uint64_t epoch = 1) {
        const std::string number = std::to_string(epoch);
        execute(owner_, token().transfer(deployment_.distributor, tokens("100")), "fund" + number);
        const payouts::PayoutDomain domain{deployment_.chain_id, deployment_.distributor,
                                           deployment_.token};
        Address other;
        other.data.fill(0x77);
        const auto tree =
            payouts::PayoutTree::build(domain, {{earner, tokens("30")}, {other, tokens("5")}})
                .value();
        contracts::RootSubmitted root;
        root.epoch = epoch;
        root.root = tree.root();
        root.total_cumulative = tokens("35");
        root.epoch_file_root.data.fill(1);
        execute(admin_, contracts::RewardsDistributor(deployment_.distributor).submit_root(root),
                "root" + number);
        rewards::ClaimProof proof;
        proof.epoch = epoch;
        proof.root = tree.root();
        proof.cumulative = tokens("30");
        proof.path = tree.prove(earner).value();
        backend_.payout = proof;
    }

    gym::testing::Outcome gym(std::vector<std::string> arguments, bool signs) {
        arguments.insert(arguments.end(), {"--data-dir", (place_ / ".").string()});
        if (signs)
            arguments.insert(arguments.end(), {"--passphrase-file", (place_ / "pass").string()});
        return gym::testing::run(place_, std::move(arguments));
    }
    /// The user's file, from now on.
    void use(const contracts::Deployment& deployment) {
        ASSERT_TRUE(contracts::save_deployment(place_ / "deployment.json", deployment).ok());
    }
    contracts::GymToken token() const { return {deployment_.chain_id, deployment_.token}; }
    Amount balance_of(const Address& who) {
        return token().balance_of(anvil_.client(), who).value();
    }

    gym::testing::TestAnvil anvil_{quick_blocks()};
    gym::testing::TemporaryFolder place_;
    SystemClock clock_;
    crypto::PrivateKey owner_ = anvil_.funded_key(1);
    crypto::PrivateKey admin_ = anvil_.funded_key(0);
    std::unique_ptr<chain_store::SqliteChainStore> store_;
    contracts::Deployment deployment_;
    FakeBackend backend_;
    std::optional<Api> api_;
    std::unique_ptr<http_server::Server> server_;
};

}  // namespace gym::api::testing
