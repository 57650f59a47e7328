// A process that sends is killed by SIGKILL between any two steps, on a real node and real
// databases, and another one continues with the same store: nothing is paid twice, nothing is lost,
// no nonce is left out.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "anvil.hpp"
#include "gym/chain_store/postgres.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "payments.hpp"
#include "postgres.hpp"
#include "random_seed.hpp"

namespace gym::testing {
namespace {

constexpr int kKilled = 128 + SIGKILL;
constexpr auto kLifeMax = std::chrono::seconds(60);
constexpr auto kBlockTime = std::chrono::milliseconds(10);

/// Events on the chain while a sender lives. Without blocks its transactions are stuck in the
/// node's pool; a dear one has a base fee of 20 gwei, and the pool drops what offers less.
enum class Blocks { kNone, kCheap, kDear };

/// Where a process dies: at a named place, or after a while by somebody else's hand.
struct Death {
    std::string place;
    std::uint64_t passes = 0;
    std::optional<std::chrono::milliseconds> after;
};

class KilledSender : public ::testing::TestWithParam<const char*> {
  protected:
    KilledSender() {
        (void)anvil_.funded_key(3);
        anvil_.rpc("evm_setAutomine", "[false]");
        if (GetParam() == std::string("sqlite")) {
            store_text_ = "sqlite:" + (anvil_.folder() / "wallet.sqlite").string();
            file_ = chain_store::SqliteChainStore::open(store_text_.substr(7)).value();
            store_ = file_->intents(anvil_.chain_id(), payer().address());
        } else {
            database_ = std::make_unique<TestDatabase>();
            config_ = database_->config_as("gym_rewards");
            store_text_ = database_text(config_);
            user_ = database_->as("gym_rewards");
            store_ = chain_store::postgres_intents(*user_, {"gym_rewards"}, anvil_.chain_id(),
                                                   payer().address());
        }
    }

    Result<Subprocess> start(const Death& death) {
        SubprocessOptions run;
        run.argv = {
            (std::filesystem::canonical("/proc/self/exe").parent_path() / "chain_kill_sender")
                .string(),
            anvil_.url(),
            std::to_string(anvil_.chain_id()),
            store_text_,
            std::to_string(first_),
            std::to_string(end_ - first_)};
        if (!death.place.empty()) {
            run.argv.push_back(death.place);
            run.argv.push_back(std::to_string(death.passes));
        }
        run.env = {{"GYM_DB_PASSWORD", config_.password}};
        run.log_file = anvil_.folder() / "sender.log";
        return Subprocess::start(run);
    }
    std::uint64_t nonce(chain::BlockTag at) {
        return anvil_.client().nonce(payer().address(), at).value();
    }
    void mine(Blocks blocks) {
        if (blocks == Blocks::kNone) return;
        anvil_.rpc("anvil_setNextBlockBaseFeePerGas",
                   blocks == Blocks::kDear ? R"(["0x4a817c800"])" : R"(["0x3b9aca00"])");
        anvil_.mine(1);
    }
    /// One life of a sender, after a block with whatever the one before left in the node's pool.
    /// @return its exit code.
    int live(Blocks blocks, const Death& death = {}) {
        mine(Blocks::kCheap);
        auto process = start(death);
        EXPECT_TRUE(process.ok()) << process.error().message;
        if (!process.ok()) return -1;
        const auto begin = std::chrono::steady_clock::now();
        while (process->running()) {
            const auto now = std::chrono::steady_clock::now();
            if (death.after && now - begin >= *death.after) process->signal(SIGKILL);
            if (now - begin > kLifeMax) {
                ADD_FAILURE() << "a sender does not come to its end: " << log_text();
                break;
            }
            mine(blocks);
            std::this_thread::sleep_for(kBlockTime);
        }
        return process->wait(10'000).value_or(-1);
    }
    std::string log_text() {
        const auto bytes = read_file(anvil_.folder() / "sender.log");
        return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
    }
    /// Lets a sender live until all is settled, then looks at the chain.
    void finish() {
        ASSERT_EQ(live(Blocks::kCheap), 0) << log_text();
        for (std::uint64_t i = 0; i < end_; ++i) {
            const chain::IntentRequest wanted = payment(i);
            EXPECT_EQ(anvil_.client().balance(*wanted.to, chain::BlockTag::kLatest).value(),
                      wanted.value_wei)
                << "payment " << i;
            EXPECT_EQ(store_->find(wanted.id).value().state, chain::IntentState::kDone);
        }
        EXPECT_EQ(nonce(chain::BlockTag::kLatest), end_) << "a nonce each";
        EXPECT_EQ(nonce(chain::BlockTag::kPending), end_) << "none waits behind a gap";
        EXPECT_EQ(store_->highest_nonce().value(), end_ - 1);
        first_ = end_;
    }

    TestAnvil anvil_;
    std::unique_ptr<TestDatabase> database_;
    db::ConnectionConfig config_;
    std::unique_ptr<db::Database> user_;
    std::unique_ptr<chain_store::SqliteChainStore> file_;
    std::unique_ptr<chain::IntentStore> store_;
    std::string store_text_;
    std::uint64_t first_ = 0;  ///< payments of the next life: [first_, end_)
    std::uint64_t end_ = 0;
};

TEST_P(KilledSender, BetweenAnyTwoStepsPaysOnceAndLeavesNoGap) {
    struct Place {
        const char* name;
        Blocks blocks;
    };
    constexpr Place kPlaces[] = {
        {"submit.before", Blocks::kNone},   // nothing is known of the second payment
        {"submit.after", Blocks::kNone},    // stored, without a nonce
        {"assign.before", Blocks::kNone},   // signed, and nobody knows
        {"assign.after", Blocks::kNone},    // nonce and bytes stored, not sent
        {"send.after", Blocks::kNone},      // the node has it, nobody noted that
        {"replace.before", Blocks::kNone},  // stuck; higher fees are signed, and nobody knows
        {"replace.after", Blocks::kNone},   // the replacement is stored, not sent
        {"resend.after", Blocks::kNone},    // the node has the replacement
        {"settle.before", Blocks::kCheap},  // final on chain, not noted
        {"settle.after", Blocks::kCheap},   // noted
    };
    static_assert(std::size(kPlaces) == 10);
    for (const Place& place : kPlaces) {
        end_ += 2;
        ASSERT_EQ(live(place.blocks, {place.name, 1, {}}), kKilled)
            << place.name << " is a place that it comes to";
        finish();
        ASSERT_FALSE(HasFailure()) << "killed at " << place.name;
    }
}

// Two kills for each unit of GYM_TEST_SCALE: `make soak` does 200.
TEST_P(KilledSender, AtRandomMomentsPaysOnceAndLeavesNoGap) {
    std::mt19937_64 random(random_seed());
    const std::uint64_t wanted = 2 * test_scale();
    std::uint64_t kills = 0;
    for (std::uint64_t lives = 0; kills < wanted; ++lives) {
        ASSERT_LT(lives, 20 * wanted) << "senders end before they are killed";
        if (first_ == end_ || random() % 3 == 0) end_ += 1 + random() % 3;
        Death death{"any", random() % 120, {}};
        if (random() % 2 == 0) death = {"", 0, std::chrono::milliseconds(random() % 300)};
        const int code = live(random() % 2 == 0 ? Blocks::kDear : Blocks::kCheap, death);
        ASSERT_TRUE(code == kKilled || code == 0) << code << ": " << log_text();
        kills += code == kKilled;
        if (random() % 4 == 0) finish();
        ASSERT_FALSE(HasFailure()) << "after " << kills << " kills";
    }
    finish();
}

INSTANTIATE_TEST_SUITE_P(Stores, KilledSender, ::testing::Values("sqlite", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace gym::testing
