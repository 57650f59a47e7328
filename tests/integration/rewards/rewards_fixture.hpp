#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "gym/rewards/claim_proof.hpp"
#include "gym/rewards/daemon.hpp"
#include "gym/rewards/queries.hpp"
#include "history.hpp"
#include "ledger_client.hpp"
#include "manual_clock.hpp"
#include "owner_orders.hpp"
#include "postgres.hpp"

namespace gym::rewards {

/// A chain that does what it is told, at once or when a test lets it; its events come back one tick
/// later.
class FakeChain final : public SettlementChain {
  public:
    Result<OrderStatus> release(const std::string& id, const ReleaseOrder& order) override {
        Amount total;
        for (const auto& [owner, amount] : order.spent) {
            if (amount > caps.owner_release)
                return OrderStatus{OrderState::kWaiting, "OwnerReleaseCapExceeded"};
            if (amount > locked[owner])
                return OrderStatus{OrderState::kWaiting, "InsufficientLock"};
            total = *total.plus(amount);
        }
        if (total > caps.release) return OrderStatus{OrderState::kWaiting, "ReleaseCapExceeded"};
        return take(id, [&] {
            for (const auto& [owner, amount] : order.spent) {
                emit(Released{order.epoch, owner, amount});
                locked[owner] = *locked[owner].minus(amount);
                escrow = *escrow.minus(amount);
                distributor = *distributor.plus(amount);
            }
        });
    }
    Result<OrderStatus> submit_root(const std::string& id, const RootOrder& order) override {
        if (order.total_cumulative.minus(active_total).value_or({}) > caps.growth)
            return OrderStatus{OrderState::kWaiting, "GrowthLimitExceeded"};
        return take(id, [&] {
            emit(RootSubmitted{order.epoch, order.root, active_at_s});
            active_total = order.total_cumulative;
        });
    }
    Result<PayoutLimits> limits() override { return caps; }
    Result<OrderStatus> lock(const std::string& id, const registry::StoredOrder& order) override {
        if (!refuses_locks.empty()) return OrderStatus{OrderState::kRefused, refuses_locks};
        return take(id, [&] {
            locked[order.owner()] = *locked[order.owner()].plus(order.amount());
            emit(Locked{order.owner(), order.amount()});
        });
    }
    Result<OrderStatus> unlock(const std::string& id, const UnlockOrder& order) override {
        return take(id, [&] {
            for (const auto& [owner, total] : order.totals)
                if (total > unlocked[owner]) unlock_of(owner, *total.minus(unlocked[owner]));
        });
    }
    Result<OrderStatus> show_leaf(const std::string& id, const LeafOrder& order) override {
        return take(id, [&] {
            shown.push_back(order);
            emit(LeafShown{order.epoch, order.payout.earner});
        });
    }
    Result<Holdings> holdings(std::uint64_t at) override {
        Amount all;
        for (const auto& [owner, amount] : locked)
            all = *all.plus(amount);
        return Holdings{at, escrow, distributor, claimed, all};
    }

    void deposit(const Address& owner, const Amount& amount) {
        escrow = *escrow.plus(amount);
        emit(Deposited{owner, amount});
    }
    void lock_own(const Address& owner, const Amount& amount) {
        locked[owner] = *locked[owner].plus(amount);
        emit(LockedOwn{owner, amount});
    }
    void request_withdrawal(const Address& owner, const Amount& amount) {
        emit(WithdrawalRequested{owner, amount});
    }
    void withdraw(const Address& owner, const Amount& amount) {
        escrow = *escrow.minus(amount);
        emit(Withdrawn{owner, amount});
    }
    void leave(const Address& owner, std::uint64_t available_at_s) {
        emit(ExitRequested{owner, available_at_s});
    }
    /// All that the contract has of the owner.
    void take_everything(const Address& owner, const Amount& amount) {
        leave(owner, 0);
        if (!locked[owner].is_zero()) unlock_of(owner, locked[owner]);
        withdraw(owner, amount);
    }
    void claim(const Address& earner, const Amount& amount) {
        distributor = *distributor.minus(amount);
        claimed = *claimed.plus(amount);
        emit(Claimed{earner, amount});
    }
    void emit(decltype(ChainEvent::what) what) {
        ++block;
        events.push_back(
            {testing::test_digest("event " + std::to_string(block)), block, std::move(what)});
    }
    Result<ChainProgress> follow(const std::function<Status(const ChainEvent&)>& handler) {
        while (delivered < events.size()) {
            GYM_CHECK(handler(events[delivered]));
            ++delivered;
        }
        return ChainProgress{block, true};
    }

    bool holds_back = false;    ///< orders wait
    std::string refuses_locks;  ///< why
    int failures = 0;           ///< so many orders fail in a block first
    std::uint64_t active_at_s = 0;
    std::map<std::string, OrderStatus> orders;
    std::vector<ChainEvent> events;
    std::vector<LeafOrder> shown;
    std::size_t delivered = 0;
    std::uint64_t block = 100;
    std::map<Address, Amount> locked, unlocked;  ///< the latter over all time
    Amount escrow, distributor, claimed;
    Amount active_total;
    PayoutLimits caps{Amount(kUnlimited), Amount(kUnlimited), Amount(kUnlimited)};
    static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;

  private:
    void unlock_of(const Address& owner, const Amount& amount) {
        unlocked[owner] = *unlocked[owner].plus(amount);
        const Amount freed = std::min(amount, locked[owner]);
        locked[owner] = *locked[owner].minus(freed);
        emit(Unlocked{owner, freed, unlocked[owner]});
    }
    template <class F>
    Result<OrderStatus> take(const std::string& id, F&& effect) {
        if (holds_back) return OrderStatus{OrderState::kWaiting, "held back"};
        if (const auto found = orders.find(id); found != orders.end()) return found->second;
        if (failures > 0) {
            --failures;
            return orders[id] = {OrderState::kFailed, "reverted"};
        }
        effect();
        return orders[id] = {OrderState::kDone, ""};
    }
};

class RewardsTest : public ::testing::Test {
  protected:
    RewardsTest() : database_(test_.as("gym_rewards")), history_(test_.owner(), clock_, 3) {
        config_.domain = {31337, testing::test_address(0x61, 1), testing::test_address(0x62, 1)};
        history_.lock_on_chain = [this] { lock_on_chain(); };
        restart();
    }

    void TearDown() override {
        ledger::Ledger ledger(*database_, clock_);
        const auto problems = ledger.audit();
        ASSERT_TRUE(problems.ok()) << problems.error().message;
        EXPECT_EQ(*problems, std::vector<std::string>{});
        check_files();
    }

    /// A new daemon over the same database.
    void restart() {
        accounting_ = std::make_unique<Accounting>(*database_, clock_, config_);
        settlement_ = std::make_unique<Settlement>(
            *database_, clock_, config_, chain_,
            [this](std::uint64_t epoch, const Digest& root, std::string_view json) -> Status {
                EXPECT_EQ(epoch_file_root(json), root);
                published_[epoch] = std::string(json);
                return {};
            });
        daemon_ = std::make_unique<Daemon>(*accounting_, *settlement_, [this](const auto& handler) {
            return chain_.follow(handler);
        });
    }
    /// This part of a tick alone.
    void lock_on_chain() {
        const auto locked = settlement_->lock_orders();
        ASSERT_TRUE(locked.ok()) << locked.error().message;
        const auto followed = chain_.follow(
            [this](const ChainEvent& event) { return accounting_->on_chain_event(event); });
        ASSERT_TRUE(followed.ok()) << followed.error().message;
    }
    TickReport tick() {
        const auto report = daemon_->tick();
        EXPECT_TRUE(report.ok()) << report.error().message;
        return report.value_or({});
    }
    /// Ticks until an epoch closed and is settled; each tick by a daemon of its own.
    void settle() {
        bool closed = false;
        for (int i = 0; i < 20; ++i) {
            restart();
            const TickReport report = tick();
            closed = closed || report.epoch_closed;
            if (closed && report.settled) {
                tick();  // takes in what the last order did
                return;
            }
        }
        FAIL() << "no epoch was settled";
    }
    /// Every published file follows from the one before by the rules alone.
    void check_files() {
        std::optional<EpochFile> previous;
        for (const auto& [epoch, json] : published_) {
            const auto file = parse_epoch_file(json);
            ASSERT_TRUE(file.ok()) << file.error().message;
            EXPECT_EQ(check_epoch_file(*file, previous), std::vector<std::string>{});
            previous = *file;
        }
    }

    std::string asset() const { return config_.asset(); }
    ledger::Balance balance(const ledger::AccountKey& key) {
        return ledger::Ledger(*database_, clock_).balance(key).value_or({});
    }
    EarnerSummary summary_of(const Address& earner) {
        return database_
            ->transact([&](db::Transaction& tx) { return summary(tx, asset(), earner); })
            .value_or({});
    }
    Receipt receipt_of(const Digest& unit) {
        const auto receipt =
            database_->transact([&](db::Transaction& tx) { return explain(tx, unit.hex()); });
        EXPECT_TRUE(receipt.ok()) << receipt.error().message;
        return receipt.value_or({});
    }
    /// A deposit that is in the ledger, and a job paid from it: 1,000 wei for 10^15 FLOPs.
    Digest funded_job(std::uint64_t budget, const std::string& key = "job") {
        return funded_job_of(owner_, budget, key);
    }
    Digest funded_job_of(const Address& owner, std::uint64_t budget, const std::string& key) {
        chain_.deposit(owner, Amount(budget));
        tick();
        return history_.submit_job(asset(), owner, Amount(budget), Amount(1'000), key);
    }

    /// A deposit of owner_, added to the budget of its job.
    void add_budget(const Digest& job, std::uint64_t amount) {
        chain_.deposit(owner_, Amount(amount));
        tick();
        const auto topped_up = test_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(gym::testing::store_funding(tx, job, Amount(amount)));
            return testing::accept_orders(tx, asset(), job, clock_.now_ms());
        });
        ASSERT_TRUE(topped_up.ok()) << topped_up.error().message;
        lock_on_chain();
    }

    static constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
    const Address owner_ = testing::test_address(0x70, 1);
    testing::TestDatabase test_;
    testing::ManualClock clock_{1'700'000'000'000};
    std::unique_ptr<db::Database> database_;
    RewardsConfig config_;
    FakeChain chain_;
    testing::History history_;
    std::map<std::uint64_t, std::string> published_;
    std::unique_ptr<Accounting> accounting_;
    std::unique_ptr<Settlement> settlement_;
    std::unique_ptr<Daemon> daemon_;
};

using testing::Fate;

}  // namespace gym::rewards
