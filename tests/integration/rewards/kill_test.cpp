#include <cstdlib>
#include <random>
#include <thread>

#include "daemon_fixture.hpp"

namespace gym::rewards {
namespace {

/// The real program, killed by SIGKILL at random moments: within transactions, between a broadcast
/// and its note, during start-up.
class KillTest : public DaemonFixture {};

TEST_F(KillTest, KilledAtAnyMomentItCreditsNothingTwiceAndLosesNothing) {
    const char* seed_text = std::getenv("GYM_TEST_SEED");
    const std::uint64_t seed =
        seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : std::random_device{}();
    SCOPED_TRACE("GYM_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    write_config();
    const Amount budget = *Amount::parse_tokens("10");
    deposit(budget, "1");
    ASSERT_TRUE(fresh_tick().ok());
    const Digest job =
        history_.submit_job(asset(), owner_key_.address(), budget, *Amount::parse_tokens("0.1"));
    constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
    for (int round = 0; round < 3; ++round)
        history_.run_round(job, {{0, kPflop, Fate::kVerified}, {1, 2 * kPflop, Fate::kUnsampled}});

    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(200);
    std::uint64_t kills = 0;
    const auto settled = [&] {
        const auto last = last_epoch();
        return last && last->state == EpochState::kSubmitted;
    };
    while (kills < 12 || !settled()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << log_text();
        auto process = start();
        ASSERT_TRUE(process.ok()) << process.error().message;
        // Longer and longer lives: on a slow machine a short one ends before the first step.
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % (250 + 50 * kills)));
        process->signal(SIGKILL);
        ASSERT_EQ(process->wait(10'000).value_or(-1), 128 + SIGKILL) << log_text();
        ++kills;
        anvil_.mine(1);
        if (kills == 8) history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    }
    for (const Address& earner :
         {history_.earner(0), history_.earner(1), history_.verifier_earner()})
        claim(earner);
    auto process = start();
    ASSERT_TRUE(process.ok());
    const auto all_claimed = [&] {
        const EarnerSummary one = summary_of(history_.verifier_earner());
        return one.claimed == one.payable && summary_of(history_.earner(0)).payable > Amount(0) &&
               last_epoch()->state == EpochState::kSubmitted;
    };
    while (!all_claimed()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << log_text();
        anvil_.mine(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(10'000).value_or(-1), 0) << log_text();

    // Exactly once: two or four rounds of compute, two of verification, and the bonus of 5 %.
    const Amount tenth = *Amount::parse_tokens("0.1");
    const auto tenths = [&](std::uint64_t hundredths) {
        return *tenth.mul_div(Amount(hundredths), Amount(100));
    };
    const Amount paid_and_earned =
        *summary_of(history_.earner(0)).payable.plus(summary_of(history_.earner(0)).earned);
    EXPECT_EQ(paid_and_earned, tenths(420));
    EXPECT_EQ(*summary_of(history_.earner(1)).payable.plus(summary_of(history_.earner(1)).earned),
              tenths(630));
    EXPECT_EQ(*summary_of(history_.verifier_earner())
                   .payable.plus(summary_of(history_.verifier_earner()).earned),
              tenths(330));
    expect_sound();
    EXPECT_EQ(log_text().find("only-for-tests"), std::string::npos) << "no password in the log";
    EXPECT_EQ(log_text().find("settler passphrase"), std::string::npos);
}

TEST_F(KillTest, BadConfigurationsAreRefusedWithTheReason) {
    write_config();
    const auto refusal = [&](const std::string& from, const std::string& to) {
        const auto bytes = read_file(folder_ / "rewards.yaml");
        std::string text(bytes->begin(), bytes->end());
        text.replace(text.find(from), from.size(), to);
        EXPECT_TRUE(write_file_atomic(folder_ / "bad.yaml", as_bytes(text)).ok());
        SubprocessOptions command;
        command.argv = {program(), "--config", (folder_ / "bad.yaml").string()};
        const auto run = run_command(command, 30'000);
        return run.ok() ? "" : run.error().message;
    };
    EXPECT_NE(refusal("poll_interval_ms", "pol_interval_ms").find("pol_interval_ms"),
              std::string::npos);
    EXPECT_NE(refusal("publish_folder", "publish_fodler").find("publish_folder"),
              std::string::npos);
    EXPECT_NE(refusal("/settler.json", "/nobody.json").find("nobody.json"), std::string::npos);
    EXPECT_NE(refusal("poll_interval_ms: 10", "poll_interval_ms: 0").find("poll_interval_ms"),
              std::string::npos);
    EXPECT_NE(refusal("user: gym_rewards_login", "user: stranger").find("stranger"),
              std::string::npos);
}

}  // namespace
}  // namespace gym::rewards
