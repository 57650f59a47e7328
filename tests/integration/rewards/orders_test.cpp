// Orders to the contracts that something else came between: a node that keeps receipts back, the
// settler's key used elsewhere, a cap below what owners spent.
#include <chrono>
#include <thread>

#include "gym/chain/transaction.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/crypto/keccak.hpp"
#include "rpc_proxy.hpp"
#include "settlement_fixture.hpp"

namespace gym::rewards {
namespace {

using testing::must;

constexpr std::uint64_t kPflop = 1'000'000'000'000'000;

/// One daemon from beginning to end: what it remembers of a nonce is not on disk.
class OrdersTest : public SettlementFixture {
  protected:
    void SetUp() override {
        app::RewardsServiceOptions with = options();
        with.policy.supersede_after_ms = 100;
        service_ = must(
            app::RewardsService::create(*database_, *behind_, settler_key_, system_clock_, with));
        const Amount budget = *Amount::parse_tokens("10");
        deposit(budget, "1");
        ASSERT_NO_FATAL_FAILURE(tick());
        job_ = history_.submit_job(asset(), owner_key_.address(), budget,
                                   *Amount::parse_tokens("0.1"));
        history_.run_round(job_, {{0, kPflop, Fate::kUnsampled}});
    }
    void tick() {
        const auto report = service_->tick();
        ASSERT_TRUE(report.ok()) << report.error().message;
    }
    /// By announcement and execution; the delay of this chain is zero.
    void raise(contracts::AdminLimit limit, const Amount& to) {
        const auto timelock = must(contracts::AdminTimelock::of(anvil_.client(), deployment_));
        contracts::AdminChange change;
        change.calls = {contracts::limit_call(deployment_, limit, to)};
        execute(anvil_.funded_key(0), "announce", timelock.announce(change, 0));
        execute(anvil_.funded_key(0), "execute", timelock.execute(change));
    }
    template <class Done>
    void tick_until(const char* what, Done&& done) {
        for (int i = 0; i < 100; ++i) {
            ASSERT_NO_FATAL_FAILURE(tick());
            if (done()) return;
            anvil_.mine(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        const auto last = last_epoch();
        FAIL() << what << " did not happen: "
               << (last ? std::string(to_string(last->state)) + ", " + last->problem : "");
    }
    void settle(std::uint64_t epoch) {
        tick_until("settlement", [&] {
            const auto last = last_epoch();
            return last && last->epoch == epoch && last->state == EpochState::kSubmitted;
        });
    }
    Result<chain::Intent> intent(const std::string& id) {
        return chain_store::postgres_intents(*database_, {"gym_rewards"}, anvil_.chain_id(),
                                             settler_key_.address())
            ->find(id);
    }
    std::string held() {
        return must(database_->transact([](db::Transaction& tx) -> Result<std::string> {
            GYM_TRY(const db::Row row, tx.exec_one("SELECT coalesce(string_agg(held, ''), '') "
                                                   "FROM rewards.finished_round"));
            return row.get<std::string>(0);
        }));
    }
    void tell_once_that_the_release_cap_is(const Amount& cap) {
        const Digest hash = crypto::keccak256_text("releaseCap()");
        const std::string asked = hash.hex().substr(0, 10);
        proxy_.tell([asked, cap, told = false](const std::string& method, const auto& params,
                                               boost::json::object& reply) mutable {
            if (told || method != "eth_call" ||
                boost::json::serialize(params).find(asked) == std::string::npos)
                return;
            told = true;
            reply["result"] = Digest{cap.to_be32()}.hex();
        });
    }
    Amount released(std::uint64_t epoch) {
        return must(contracts::JobEscrow(deployment_.escrow)
                        .released_of(anvil_.client(), epoch, owner_key_.address()));
    }

    testing::RpcProxy proxy_{anvil_.url()};
    std::unique_ptr<chain::ChainClient> behind_ = must(chain::make_http_client(proxy_.url()));
    std::unique_ptr<app::RewardsService> service_;
    Digest job_;
};

TEST_F(OrdersTest, WhatTheContractsSayHappenedIsDoneThoughNoReceiptIsEverShown) {
    proxy_.tell([](const std::string& method, const auto&, boost::json::object& reply) {
        if (method == "eth_getTransactionReceipt") reply["result"] = nullptr;
    });
    settle(1);
    for (const char* id : {"release:1:0:0", "root:1:0"})
        EXPECT_EQ(must(intent(id)).state, chain::IntentState::kSuperseded) << id;
    EXPECT_EQ(intent("release:1:0:1").error().code, ErrorCode::kNotFound) << "not sent again";
    EXPECT_EQ(intent("root:1:1").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(released(1), *Amount::parse_tokens("0.105"));

    proxy_.tell({});
    history_.run_round(job_, {{1, kPflop, Fate::kUnsampled}});
    settle(2);
    EXPECT_EQ(must(intent("root:2:0")).state, chain::IntentState::kDone);
    anvil_.mine(3);
    tick();
    expect_reconciled();
    expect_sound();
}

TEST_F(OrdersTest, AnOrderWhoseNonceAStrangerTookIsSentAgain) {
    anvil_.rpc("evm_setAutomine", "[false]");
    tick();  // closes the epoch and queues its release
    tick();
    const chain::Intent ours = must(intent("release:1:0:0"));
    ASSERT_EQ(ours.state, chain::IntentState::kSigned);
    chain::Transaction elsewhere;
    elsewhere.chain_id = anvil_.chain_id();
    elsewhere.nonce = *ours.nonce;
    elsewhere.fee_max_wei = elsewhere.priority_fee_wei = Amount(100'000'000'000);
    elsewhere.gas_limit = 21'000;
    elsewhere.to = settler_key_.address();
    const auto sent = anvil_.client().send(chain::sign_transaction(elsewhere, settler_key_).raw);
    ASSERT_EQ(must(sent), chain::SendOutcome::kAccepted);
    anvil_.mine(1);
    anvil_.rpc("evm_setAutomine", "[true]");
    settle(1);
    EXPECT_EQ(must(intent("release:1:0:0")).state, chain::IntentState::kSuperseded);
    EXPECT_EQ(must(intent("release:1:0:1")).state, chain::IntentState::kDone);
    EXPECT_EQ(released(1), *Amount::parse_tokens("0.105"));
}

TEST_F(OrdersTest, ARoundAboveACapWaitsUnclosedAndSaysForWhat) {
    const contracts::JobEscrow escrow(deployment_.escrow);
    const crypto::PrivateKey admin = anvil_.funded_key(0);
    const Amount spent = *Amount::parse_tokens("0.105");
    EXPECT_EQ(must(escrow.owner_release_cap(anvil_.client())),
              Amount::parse("340282366920938463463374607431768211455").value())
        << "none, until an admin sets one";
    execute(admin, "own", escrow.set_owner_release_cap(*spent.minus(Amount(1))));
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_FALSE(last_epoch());
    EXPECT_NE(held().find("JobEscrow.ownerReleaseCap"), std::string::npos) << held();
    EXPECT_NE(held().find(owner_key_.address().hex()), std::string::npos) << held();
    raise(contracts::AdminLimit::kOwnerReleaseCap, spent);
    settle(1);
    EXPECT_EQ(released(1), spent);
    EXPECT_EQ(held(), "");
}

// An admin lowers the cap between an epoch's closing and its release: a node that tells the old cap
// at first is the same to the daemon.
TEST_F(OrdersTest, AReleaseAboveACapIsNotSentAndSaysWhatItWaitsFor) {
    const contracts::JobEscrow escrow(deployment_.escrow);
    const crypto::PrivateKey admin = anvil_.funded_key(0);
    const Amount spent = *Amount::parse_tokens("0.105");
    execute(admin, "all", escrow.set_release_cap(*spent.minus(Amount(1))));
    tell_once_that_the_release_cap_is(spent);
    for (int i = 0; i < 3; ++i)
        tick();
    const auto last = last_epoch();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->state, EpochState::kClosed);
    EXPECT_NE(last->problem.find("owners spent " + spent.to_string() +
                                 " wei, an epoch may release 104999999999999999: nothing is sent "
                                 "until an admin raises JobEscrow's releaseCap"),
              std::string::npos)
        << last->problem;
    EXPECT_EQ(intent("release:1:0:0").error().code, ErrorCode::kNotFound);
    raise(contracts::AdminLimit::kReleaseCap, spent);
    settle(1);
    EXPECT_EQ(released(1), spent);
    const auto state = must(escrow.release_state(anvil_.client()));
    EXPECT_EQ(state, std::pair(std::uint64_t{1}, spent));
}

// Whoever holds the settler's key, or a bug in gym-rewards that counts too much.
TEST_F(OrdersTest, ASettlersKeyTakesNothingThatOwnersDidNotSign) {
    const contracts::GymToken token(anvil_.chain_id(), deployment_.token);
    const contracts::JobEscrow escrow(deployment_.escrow);
    const Amount deposited = *Amount::parse_tokens("30"), all = *Amount::parse_tokens("40");
    const Address victim = testing::test_address(0x83, 1);
    deposit(deposited, "more");
    execute(owner_key_, "approve:victim", token.approve(deployment_.escrow, deposited));
    execute(owner_key_, "deposit:victim", escrow.deposit(victim, deposited));
    const auto steal = [&](const Address& owner, const Amount& amount) {
        chain::TxManager thief = manager_of(settler_key_, "gym_rewards");
        const auto taken = thief.execute(
            escrow.release(1, {{owner, amount}}).intent("theft:" + owner.hex()), 20'000);
        EXPECT_FALSE(taken.ok());
        return taken.ok() ? std::string() : taken.error().message;
    };
    EXPECT_NE(steal(victim, Amount(1)).find("InsufficientLock("), std::string::npos)
        << "it signed nothing";
    EXPECT_NE(steal(owner_key_.address(), *Amount::parse_tokens("10.5")).find("InsufficientLock("),
              std::string::npos)
        << "it signed for 10";
    EXPECT_EQ(must(escrow.balance_of(anvil_.client(), victim)), deposited);
    EXPECT_EQ(must(escrow.balance_of(anvil_.client(), owner_key_.address())), all);
    settle(1);
    EXPECT_EQ(released(1), *Amount::parse_tokens("0.105"));
    EXPECT_EQ(must(escrow.locked_of(anvil_.client(), owner_key_.address())),
              *Amount::parse_tokens("9.895"));
    expect_sound();
}

TEST_F(OrdersTest, WhatAJobLeavesIsTheOwnersToWithdraw) {
    const contracts::JobEscrow escrow(deployment_.escrow);
    const Address owner = owner_key_.address();
    settle(1);
    history_.end_job(job_);
    tick_until("unlocking",
               [&] { return must(escrow.locked_of(anvil_.client(), owner)).is_zero(); });
    const Amount left = must(escrow.balance_of(anvil_.client(), owner));
    EXPECT_EQ(left, *Amount::parse_tokens("9.895"));
    execute(owner_key_, "request", escrow.request_withdrawal(left));
    execute(owner_key_, "withdraw", escrow.withdraw());
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_TRUE(token_balance(deployment_.escrow).is_zero());
    expect_reconciled();
    expect_sound();
}

TEST_F(OrdersTest, AnOrderThatExpiresBeforeItsLockIsRefusedAndItsMoneyIsFree) {
    const Amount more = *Amount::parse_tokens("5");
    deposit(more, "more");
    tick();
    const auto stored = test_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(testing::store_funding(tx, job_, more, &*history_.order_key));
        return testing::accept_orders(tx, asset(), job_, clock_.now_ms());
    });
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    EXPECT_TRUE(balance(available_account(asset(), owner_key_.address())).spendable().is_zero());
    anvil_.rpc("evm_setNextBlockTimestamp", "[4000000001]");
    anvil_.mine(1);
    tick();
    EXPECT_EQ(balance(available_account(asset(), owner_key_.address())).spendable(), more);
    const auto orders = must(database_->transact(
        [&](db::Transaction& tx) { return registry::orders_of_job(tx, job_); }));
    ASSERT_EQ(orders.size(), 2U);
    EXPECT_EQ(orders[1].state, registry::OrderState::kRefused);
    EXPECT_EQ(orders[1].reason, "it expired before the chain locked its money");
}

}  // namespace
}  // namespace gym::rewards
