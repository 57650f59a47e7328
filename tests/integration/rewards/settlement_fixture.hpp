#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "anvil.hpp"
#include "gym/chain_store/postgres.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/rewards/claim_proof.hpp"
#include "gym/rewards/queries.hpp"
#include "history.hpp"
#include "ledger_client.hpp"
#include "manual_clock.hpp"
#include "must.hpp"
#include "postgres.hpp"
#include "service.hpp"

namespace gym::rewards {

/// The whole way of the money on real PostgreSQL and a real EVM: contracts deployed, a job owner
/// with tokens, a list of units from a History.
class SettlementFixture : public ::testing::Test {
  protected:
    explicit SettlementFixture(const chain::AnvilOptions& chain = {},
                               std::uint64_t activation_delay_s = 0)
        : activation_delay_s_(activation_delay_s),
          anvil_(chain),
          database_(test_.as("gym_rewards")),
          web_(test_.as("gym_api")),
          history_(test_.owner(), clock_, 3),
          owner_key_(anvil_.funded_key(1)),
          settler_key_(anvil_.funded_key(2)) {
        folder_ = std::filesystem::temp_directory_path() /
                  ("gym-settlement-" + std::to_string(::getpid()));
        history_.lock_on_chain = [this] { wait_for_locks(); };
        deploy();
    }
    ~SettlementFixture() override { std::filesystem::remove_all(folder_); }

    void deploy() {
        const crypto::PrivateKey deployer = anvil_.funded_key(0);
        chain::TxManager manager = manager_of(deployer);
        contracts::DeployParams params;
        params.token_holder = owner_key_.address();
        params.token_supply = *Amount::parse_tokens("1000000");
        params.growth_limit = *Amount::parse_tokens("1000000");
        params.release_cap = *Amount::parse_tokens("1000000");
        params.activation_delay_s = activation_delay_s_;
        params.admin_delay_s = 2 * activation_delay_s_;
        params.settler = settler_key_.address();
        params.guardian = params.coordinator = deployer.address();
        const auto artifacts = contracts::find_artifacts();
        ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
        const auto deployed =
            contracts::deploy(manager, anvil_.client(), *artifacts, params, 60'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment_ = *deployed;
        rewards_.domain = {deployment_.chain_id, deployment_.distributor, deployment_.token};
        history_.order_key.emplace(
            testing::OrderKey{{deployment_.chain_id, deployment_.escrow}, owner_key_});
    }

    /// Sends as a person would: through intents of their own (in this database, as its owner).
    chain::TxManager manager_of(const crypto::PrivateKey& key,
                                const char* service = "gym_coordinator") {
        stores_.push_back(chain_store::postgres_intents(test_.owner(), {service}, anvil_.chain_id(),
                                                        key.address()));
        return {anvil_.client(),
                *stores_.back(),
                key.clone(),
                system_clock_,
                testing::test_policy(anvil_.chain_id()),
                contracts::describe_revert};
    }
    void execute(const crypto::PrivateKey& key, const std::string& id,
                 const contracts::ContractCall& call) {
        chain::TxManager manager = manager_of(key);
        ASSERT_TRUE(manager.submit(call.intent(id)).ok());
        const auto mined = manager.wait_mined(id, 20'000);
        ASSERT_TRUE(mined.ok()) << mined.error().message;
        anvil_.mine(3);  // final
        const auto settled = manager.wait(id, 20'000);
        ASSERT_TRUE(settled.ok()) << settled.error().message;
    }
    void deposit(const Amount& amount, const std::string& id) {
        const contracts::GymToken token(anvil_.chain_id(), deployment_.token);
        const contracts::JobEscrow escrow(deployment_.escrow);
        execute(owner_key_, "approve:" + id, token.approve(deployment_.escrow, amount));
        execute(owner_key_, "deposit:" + id, escrow.deposit(owner_key_.address(), amount));
    }
    /// Ticks until gym-rewards has seen all locks of accepted orders in finalized blocks.
    void wait_for_locks() {
        for (int i = 0; i < 200; ++i) {
            const auto left = database_->transact(
                [](db::Transaction& tx) { return registry::locking_orders(tx, 1); });
            ASSERT_TRUE(left.ok()) << left.error().message;
            if (left->empty()) return;
            const auto ticked = fresh_tick();
            ASSERT_TRUE(ticked.ok()) << ticked.error().message;
            anvil_.mine(1);
        }
        FAIL() << "an order was not locked";
    }
    /// Anybody may claim for an earner.
    void claim(const Address& earner) {
        const auto proof = database_->transact(
            [&](db::Transaction& tx) { return claim_proof(tx, earner, clock().now_ms()); });
        ASSERT_TRUE(proof.ok()) << proof.error().message;
        const contracts::RewardsDistributor distributor(deployment_.distributor);
        execute(owner_key_, "claim:" + earner.hex() + ":" + proof->cumulative.to_string(),
                distributor.claim({earner, proof->cumulative, proof->path}));
    }

    app::RewardsServiceOptions options() {
        app::RewardsServiceOptions out;
        out.rewards = rewards_;
        out.deployment = deployment_;
        out.policy = testing::test_policy(anvil_.chain_id());
        out.publish_folder = folder_ / "epochs";
        out.blob_folder = folder_ / "blobs";
        return out;
    }
    virtual const Clock& clock() const { return system_clock_; }
    /// One tick of a daemon that is made for it and dropped after it.
    Result<app::RewardsService::Tick> fresh_tick() {
        GYM_TRY(const auto service, app::RewardsService::create(*database_, anvil_.client(),
                                                                settler_key_, clock(), options()));
        return service->tick();
    }
    std::string asset() const { return rewards_.asset(); }
    Amount token_balance(const Address& holder) {
        return contracts::GymToken(anvil_.chain_id(), deployment_.token)
            .balance_of(anvil_.client(), holder)
            .value_or(Amount(0));
    }
    EarnerSummary summary_of(const Address& earner) {
        return database_
            ->transact([&](db::Transaction& tx) { return summary(tx, asset(), earner); })
            .value_or({});
    }
    ledger::Balance balance(const ledger::AccountKey& key) {
        return ledger::Ledger(*database_, system_clock_).balance(key).value_or({});
    }
    std::optional<PayoutEpoch> last_epoch() {
        const auto epochs =
            database_->transact([&](db::Transaction& tx) { return list_epochs(tx, 1); });
        if (!epochs.ok() || epochs->empty()) return std::nullopt;
        return epochs->front();
    }
    void expect_sound() {
        const auto problems = ledger::Ledger(*database_, system_clock_).audit();
        ASSERT_TRUE(problems.ok()) << problems.error().message;
        EXPECT_EQ(*problems, std::vector<std::string>{});
    }
    /// The contracts hold what the ledger says, to the last unit.
    void expect_reconciled() {
        EXPECT_EQ(token_balance(deployment_.escrow),
                  *balance(chain_escrow_account(asset())).held());
        EXPECT_EQ(token_balance(deployment_.distributor),
                  *balance(chain_distributor_account(asset())).held());
    }

    const std::uint64_t activation_delay_s_;
    testing::TestDatabase test_;
    testing::TestAnvil anvil_;
    testing::ManualClock clock_{SystemClock().now_ms()};
    SystemClock system_clock_;
    std::unique_ptr<db::Database> database_;
    std::unique_ptr<db::Database> web_;
    testing::History history_;
    crypto::PrivateKey owner_key_;
    crypto::PrivateKey settler_key_;
    std::vector<std::unique_ptr<chain::IntentStore>> stores_;
    contracts::Deployment deployment_;
    RewardsConfig rewards_;
    std::filesystem::path folder_;
};

using testing::Fate;

}  // namespace gym::rewards
