// The daemon, its database and its chain, each killed at random moments while epochs run.
#include <random>
#include <thread>

#include "daemon_fixture.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/ledger/verify.hpp"
#include "gym/rewards/formulas.hpp"
#include "random_seed.hpp"

namespace gym::rewards {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::PlannedUnit;

constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
constexpr auto kSettleTimeout = std::chrono::seconds(180);

/// GYM_CRASHES, three unless it is set: `make soak` sets fifty.
int crashes_wanted() {
    const char* given = std::getenv("GYM_CRASHES");
    return given != nullptr ? std::atoi(given) : 3;
}

void add(Amount& to, const Amount& amount) {
    to = *to.plus(amount);
}

class CrashTest : public DaemonFixture {
  protected:
    enum class Victim { kDaemon, kDatabase, kChain };

    static chain::AnvilOptions persistent() {
        chain::AnvilOptions options;
        options.persist = true;
        options.states_kept = 16;  // what is saved at each crash does not grow
        return options;
    }
    CrashTest() : DaemonFixture(persistent()) {
        rewards_.fees.fee_ppm = 20'000;
        rewards_.fees.burned_ppm = 500'000;
        rewards_.fees.account = testing::test_address(0x81, 1);
        rewards_.fees.emission_ppm = 1'000'000;
        rewards_.fees.emission_account = anvil_.funded_key(3).address();
    }
    void TearDown() override {
        if (daemon_) daemon_->signal(SIGKILL);
    }

    void begin() {
        write_config("fees:\n  ppm: 20000\n  burned_ppm: 500000\n  account: \"" +
                     rewards_.fees.account.hex() +
                     "\"\n  emission:\n    ppm: 1000000\n    account: \"" +
                     rewards_.fees.emission_account.hex() + "\"\n");
        deposit(*Amount::parse_tokens("1000"), "budget");
        const contracts::GymToken token(anvil_.chain_id(), deployment_.token);
        const contracts::JobEscrow escrow(deployment_.escrow);
        const Amount given = *Amount::parse_tokens("50");
        execute(owner_key_, "approve:emission", token.approve(deployment_.escrow, given));
        execute(owner_key_, "deposit:emission",
                escrow.deposit(rewards_.fees.emission_account, given));
        execute(anvil_.funded_key(3), "lock:emission", escrow.lock_own(given));
        ASSERT_TRUE(fresh_tick().ok());
        job_ = history_.submit_job(asset(), owner_key_.address(), *Amount::parse_tokens("1000"),
                                   price_);
        run_daemon();
    }
    void run_daemon() {
        auto process = start();
        ASSERT_TRUE(process.ok()) << process.error().message;
        daemon_.emplace(std::move(*process));
    }
    void sleep_some(unsigned most_ms) {
        std::this_thread::sleep_for(milliseconds(random_() % most_ms));
    }

    void crash(Victim victim) {
        switch (victim) {
            case Victim::kDaemon:
                daemon_->signal(SIGKILL);
                ASSERT_EQ(daemon_->wait(10'000).value_or(-1), 128 + SIGKILL) << log_text();
                run_daemon();
                return;
            case Victim::kDatabase:
                ASSERT_TRUE(testing::postgres().restart(db::StopMode::kImmediate).ok());
                return;
            case Victim::kChain:
                crash_chain();
                return;
        }
    }
    /// anvil has no database of its own, so its blocks are saved while the daemon stands still,
    /// wherever it is: none that it has seen may be gone after the start. Transactions that were on
    /// their way are.
    void crash_chain() {
        daemon_->signal(SIGSTOP);
        anvil_.save();
        anvil_.stop(true);
        daemon_->signal(SIGCONT);
        sleep_some(300);
        anvil_.start();
    }

    void run_some_round() {
        constexpr Fate kFates[] = {Fate::kVerified, Fate::kUnsampled, Fate::kRejected,
                                   Fate::kExpired};
        std::vector<PlannedUnit> units;
        for (std::size_t worker = 0; worker < 3; ++worker)
            units.push_back({worker, 1 + random_() % (3 * kPflop), kFates[random_() % 4]});
        history_.run_round(job_, units);
        expect_round(units);
    }
    /// The credits of a plan by the rules, with every challenge answered.
    void expect_round(const std::vector<PlannedUnit>& units) {
        Amount charged, compute_total;
        std::map<std::size_t, Amount> compute;
        const auto give = [&](const Address& earner, const Amount& amount) {
            add(expected_[earner], amount);
            add(charged, amount);
        };
        for (const PlannedUnit& unit : units) {
            const Amount work = *compute_credit(unit.flops, price_);
            if (unit.fate == Fate::kVerified || unit.fate == Fate::kUnsampled) {
                give(history_.earner(unit.worker), work);
                give(history_.earner(unit.worker), *uptime_bonus(work, kPpm, 50'000));
                compute[unit.worker] = work;
                add(compute_total, work);
            }
            if (unit.fate == Fate::kVerified || unit.fate == Fate::kRejected)
                give(history_.verifier_earner(),
                     *verification_credit(unit.flops, price_, 1'100'000));
        }
        const Fee fee = *fee_of(charged, rewards_.fees.fee_ppm, rewards_.fees.burned_ppm);
        add(expected_[rewards_.fees.account], fee.kept);
        add(expected_[kBurnAddress], fee.burned);
        for (const auto& [worker, work] : compute)
            add(expected_[history_.earner(worker)],
                *emission_share(fee.burned, kPpm, work, compute_total));
    }

    bool all_paid() {
        for (const auto& [earner, amount] : expected_)
            if (summary_of(earner).payable != amount) return false;
        const auto last = last_epoch();
        return last && last->state == EpochState::kSubmitted;
    }
    /// Lets the daemon come to rest.
    void settle() {
        const auto deadline = steady_clock::now() + kSettleTimeout;
        while (!all_paid()) {
            ASSERT_LT(steady_clock::now(), deadline) << why_not() << log_text();
            ASSERT_TRUE(daemon_->running()) << log_text();
            anvil_.mine(1);
            std::this_thread::sleep_for(milliseconds(50));
        }
    }
    std::string why_not() {
        std::string out;
        for (const auto& [earner, amount] : expected_)
            out += earner.hex() + " has " + summary_of(earner).payable.to_string() +
                   ", is expected to have " + amount.to_string() + "\n";
        return out;
    }

    const std::uint64_t seed_ = testing::random_seed();
    std::mt19937_64 random_{seed_};
    ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GYM_TEST_SEED=" + std::to_string(seed_)};
    const Amount price_ = *Amount::parse_tokens("0.1");
    Digest job_;
    std::optional<Subprocess> daemon_;
    std::map<Address, Amount> expected_;
};

TEST_F(CrashTest, WhateverIsKilledNoCreditIsLostOrDoubledAndTheChainHasWhatTheLedgerSays) {
    ASSERT_NO_FATAL_FAILURE(begin());
    const int wanted = crashes_wanted();
    for (int crashes = 0; crashes < wanted; ++crashes) {
        if (random_() % 2 == 0 || crashes == 0) run_some_round();
        anvil_.mine(1 + static_cast<std::uint32_t>(random_() % 3));
        sleep_some(400);
        // Each of the three in the short run, any of them after.
        const auto victim = static_cast<Victim>(crashes < 3 ? crashes : random_() % 3);
        ASSERT_NO_FATAL_FAILURE(crash(victim));
        ASSERT_TRUE(daemon_->running()) << log_text();
        ASSERT_NO_FATAL_FAILURE(expect_sound()) << "after crash " << crashes + 1;
        ASSERT_FALSE(HasNonfatalFailure()) << "after crash " << crashes + 1 << log_text();
        if (crashes % 10 == 9) {
            ASSERT_NO_FATAL_FAILURE(settle());
            std::cout << crashes + 1 << " crashes of " << wanted << ", epoch "
                      << last_epoch()->epoch << std::endl;
        }
    }
    run_some_round();  // it works as before
    ASSERT_NO_FATAL_FAILURE(settle());
    for (const auto& [earner, amount] : expected_)
        EXPECT_EQ(summary_of(earner).payable, amount) << earner.hex();
    expect_reconciled();
    expect_sound();
    ledger::VerifyOptions known;
    known.signers = {settler_key_.address()};
    const auto report = ledger::verify(*test_.as("gym_auditor"), known);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->problems, std::vector<ledger::Problem>{});

    daemon_->signal(SIGTERM);
    EXPECT_EQ(daemon_->wait(10'000).value_or(-1), 0) << log_text();
    std::optional<EpochFile> previous;
    for (std::uint64_t epoch = 1; epoch <= last_epoch()->epoch; ++epoch) {
        const auto bytes =
            read_file(folder_ / "epochs" / ("epoch-" + std::to_string(epoch) + ".json"));
        ASSERT_TRUE(bytes.ok()) << bytes.error().message;
        const auto file = parse_epoch_file(std::string(bytes->begin(), bytes->end()));
        ASSERT_TRUE(file.ok()) << file.error().message;
        EXPECT_EQ(check_epoch_file(*file, previous), std::vector<std::string>{});
        previous = *file;
    }
}

}  // namespace
}  // namespace gym::rewards
