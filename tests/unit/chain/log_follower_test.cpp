#include "gym/chain/log_follower.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "gym/chain/private_chain.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "random_seed.hpp"
#include "sim_chain.hpp"

namespace gym::chain {
namespace {

using testing::SimChain;

/// Like a ledger: credits a log once, however often the log comes.
class Ledger {
  public:
    Status credit(const LogKey& key, const Log& log) {
        ++calls_;
        credits_.emplace(key, log);
        order_.push_back(key);
        return {};
    }
    [[nodiscard]] std::uint64_t calls() const { return calls_; }
    [[nodiscard]] std::vector<Bytes> contents() const {
        std::vector<Bytes> out;
        for (const auto& [key, log] : credits_)
            out.push_back(log.data);
        return out;
    }
    [[nodiscard]] const std::map<LogKey, Log>& credits() const { return credits_; }

  private:
    std::uint64_t calls_ = 0;
    std::map<LogKey, Log> credits_;
    std::vector<LogKey> order_;
};

class FollowerTest : public ::testing::Test {
  protected:
    std::unique_ptr<LogFollower> follower() {
        FollowerOptions options;
        options.chain_id = SimChain::kChainId;
        options.filter = {{chain_.emitter}, {chain_.topic}};
        options.blocks_per_tick_max = 20;
        return std::make_unique<LogFollower>(
            chain_, *store_, options,
            [this](const LogKey& key, const Log& log) { return ledger_.credit(key, log); });
    }
    /// Puts a deposit into the pool.
    void deposit() {
        Transaction tx;
        tx.chain_id = SimChain::kChainId;
        tx.nonce = deposits_++;
        tx.fee_max_wei = Amount(9'000'000'000);
        tx.priority_fee_wei = Amount(1'000'000'000);
        tx.gas_limit = 100'000;
        tx.to = chain_.emitter;
        tx.data = Bytes{1, static_cast<std::uint8_t>(deposits_ >> 8),
                        static_cast<std::uint8_t>(deposits_)};
        ASSERT_TRUE(chain_.send(sign_transaction(tx, key_).raw).ok());
    }
    FollowReport tick() {
        const auto report = follower_->tick();
        EXPECT_TRUE(report.ok()) << report.error().message;
        return report.ok() ? *report : FollowReport{};
    }
    /// The ledger holds exactly the finalized logs of the chain, each once.
    void expect_exact(std::uint64_t seed = 0) {
        std::map<LogKey, Log> expected;
        for (const Log& log : chain_.finalized_logs())
            expected.emplace(LogKey{SimChain::kChainId, log.block_hash, log.log_index}, log);
        EXPECT_EQ(ledger_.credits(), expected) << "seed " << seed;
    }

    SimChain chain_;
    Ledger ledger_;
    crypto::PrivateKey key_ = private_chain_key(2);
    std::uint64_t deposits_ = 0;
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<FollowerStore> store_ = file_->follower("deposits", SimChain::kChainId).value();
    std::unique_ptr<LogFollower> follower_ = follower();
};

TEST_F(FollowerTest, DeliversOnlyWhatIsFinal) {
    deposit();
    chain_.mine();
    for (std::uint64_t i = 0; i < SimChain::kFinalityDepth; ++i) {
        EXPECT_EQ(tick().logs_delivered, 0U) << i;
        EXPECT_EQ(store_->unfinalized(10).value().size(), 1U) << "seen as pending meanwhile";
        chain_.mine();
    }
    EXPECT_EQ(tick().logs_delivered, 1U);
    EXPECT_EQ(store_->unfinalized(10).value().size(), 0U);
    expect_exact();
    tick();
    EXPECT_EQ(ledger_.calls(), 1U);
}

TEST_F(FollowerTest, CatchesUpInBoundedSteps) {
    for (int i = 0; i < 30; ++i) {
        deposit();
        chain_.mine(2);
    }
    EXPECT_EQ(tick().blocks_added, 20U);
    EXPECT_FALSE(tick().caught_up);
    while (!tick().caught_up) {
    }
    chain_.mine(SimChain::kFinalityDepth);
    tick();
    expect_exact();
    EXPECT_EQ(ledger_.calls(), 30U);
}

TEST_F(FollowerTest, AReorgedDepositIsCreditedOnceFromTheChainThatWon) {
    deposit();
    chain_.mine(2);
    tick();
    chain_.reorg(2, false);  // the deposit goes back to the pool
    chain_.mine();           // and is mined in another block
    const FollowReport report = tick();
    EXPECT_EQ(report.blocks_orphaned, 2U);
    chain_.mine(SimChain::kFinalityDepth);
    tick();
    EXPECT_EQ(ledger_.calls(), 1U);
    expect_exact();
}

TEST_F(FollowerTest, ADepositThatAReorgDroppedIsNeverCredited) {
    deposit();
    chain_.mine();
    tick();
    chain_.reorg(1, true);
    chain_.mine(2 * SimChain::kFinalityDepth);
    tick();
    EXPECT_EQ(ledger_.calls(), 0U);
    expect_exact();
}

TEST_F(FollowerTest, AChangeBelowFinalityHaltsWithTheBlocksNamed) {
    deposit();
    chain_.mine(SimChain::kFinalityDepth + 3);
    tick();
    const auto before = ledger_.credits();
    chain_.reorg(static_cast<std::uint32_t>(SimChain::kFinalityDepth + 2), true);
    deposit();
    chain_.mine(10);
    for (int i = 0; i < 3; ++i) {
        const auto report = follower()->tick();  // a restart does not forget
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.error().code, ErrorCode::kMismatch);
        EXPECT_NE(report.error().message.find("was finalized"), std::string::npos);
    }
    EXPECT_EQ(ledger_.credits(), before);
}

TEST_F(FollowerTest, ANodeThatLeavesALogOutIsFoundOut) {
    deposit();
    chain_.mine();
    chain_.hides_a_log = true;
    const auto report = follower_->tick();
    EXPECT_EQ(report.error().code, ErrorCode::kMismatch);
    EXPECT_NE(report.error().message.find("receipts root"), std::string::npos);
    chain_.hides_a_log = false;
    chain_.mine(SimChain::kFinalityDepth);
    tick();
    EXPECT_EQ(ledger_.calls(), 1U);
}

TEST_F(FollowerTest, AHandlersErrorBringsTheSameLogAgain) {
    bool failing = true;
    FollowerOptions options;
    options.chain_id = SimChain::kChainId;
    options.filter = {{chain_.emitter}, {chain_.topic}};
    LogFollower follower(chain_, *store_, options,
                         [&](const LogKey& key, const Log& log) -> Status {
                             if (failing) return fail(ErrorCode::kUnavailable, "ledger down");
                             return ledger_.credit(key, log);
                         });
    deposit();
    chain_.mine(1 + SimChain::kFinalityDepth);
    EXPECT_EQ(follower.tick().error().code, ErrorCode::kUnavailable);
    failing = false;
    EXPECT_TRUE(follower.tick().ok());
    expect_exact();
}

TEST_F(FollowerTest, HaltsOnAnotherChainAndWaitsForALaggingOne) {
    FollowerOptions options;
    options.chain_id = 1;
    options.filter = {{chain_.emitter}, {}};
    LogFollower other(chain_, *store_, options, [](const LogKey&, const Log&) { return Status(); });
    EXPECT_EQ(other.tick().error().code, ErrorCode::kMismatch);
    chain_.mine(SimChain::kFinalityDepth + 5);
    tick();
    SimChain lagging;
    options.chain_id = SimChain::kChainId;
    LogFollower behind(lagging, *store_, options,
                       [](const LogKey&, const Log&) { return Status(); });
    EXPECT_EQ(behind.tick().error().code, ErrorCode::kUnavailable);
}

struct Killed {};

TEST_F(FollowerTest, RandomHistoriesCreditEveryFinalDepositExactlyOnce) {
    const std::uint64_t first_seed = testing::random_seed();
    for (std::uint64_t i = 0; i < testing::test_count(60) && !HasFailure(); ++i) {
        const std::uint64_t seed = first_seed + i;
        std::mt19937_64 random(seed);
        chain_ = SimChain();
        ledger_ = Ledger();
        deposits_ = 0;
        store_ = file_->follower("deposits" + std::to_string(i), SimChain::kChainId).value();
        follower_ = follower();
        std::optional<std::uint64_t> dies_in;
        chain_.fault = [&](const char*) -> std::optional<Error> {
            if (dies_in && (*dies_in)-- == 0) {
                dies_in.reset();
                throw Killed{};
            }
            return std::nullopt;
        };
        for (int step = 0; step < 150; ++step) {
            if (random() % 3 == 0) deposit();
            if (random() % 2 == 0) chain_.mine(1 + static_cast<std::uint32_t>(random() % 2));
            if (random() % 6 == 0 && chain_.head() > SimChain::kFinalityDepth)
                chain_.reorg(1 + static_cast<std::uint32_t>(random() % 5), false);
            if (random() % 5 == 0) dies_in = random() % 12;
            try {
                if (random() % 2 == 0) tick();
            } catch (const Killed&) {
                follower_ = follower();
            }
            dies_in.reset();
        }
        chain_.mine(SimChain::kFinalityDepth + 1);
        while (!tick().caught_up) {
        }
        tick();
        EXPECT_GT(ledger_.credits().size(), 5U);
        expect_exact(seed);
    }
}

}  // namespace
}  // namespace gym::chain
