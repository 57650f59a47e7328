// `gym program run` over interrupts, kills and other runs into the same file.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "engine_commands.hpp"

namespace gym::testing {
namespace {

using TrainCommand = EngineCommands;

/// Waits until a training run has printed a record.
void wait_for_first_step(const Command& command) {
    while (command.output_so_far().find('\n') == std::string::npos)
        ::usleep(1000);
}

/// The text and JSON of a finished run's last line.
json::object summary(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, kOk) << outcome.err;
    return objects(outcome.out).back();
}

TEST_F(TrainCommand, AnInterruptedRunGoesOnToTheSameRoot) {
    const auto arguments = [&](const char* state) {
        return std::vector<std::string>{"program",    "run",       path("p.gym"),   "--data",
                                        path("text"), "--steps",   "6000",          "--state",
                                        path(state),  "--records", path("records"), "--json"};
    };
    const json::object whole = summary(gym(arguments("whole")));
    const std::string records = slurp(place_ / "records");
    const Command command(place_, arguments("parts"));
    wait_for_first_step(command);
    command.send(SIGINT);
    const auto outcome = command.wait();
    ASSERT_EQ(outcome.exit_code, kInterrupted) << outcome.err;
    EXPECT_NE(outcome.out.find("the same command resumes from"), std::string::npos) << outcome.out;

    const auto rest = gym(arguments("parts"));
    EXPECT_NE(rest.err.find("resuming after step"), std::string::npos) << rest.err;
    EXPECT_EQ(text_of(summary(rest), "final_state_root"), text_of(whole, "final_state_root"));
    EXPECT_EQ(text_of(summary(rest), "records_root"), text_of(whole, "records_root"));
    EXPECT_EQ(slurp(place_ / "records"), records);
    EXPECT_EQ(slurp(place_ / "parts"), slurp(place_ / "whole"));
    EXPECT_FALSE(std::filesystem::exists(place_ / "parts.checkpoint"));
}

TEST_F(TrainCommand, AnotherRunIntoTheSameFileLeavesAnInterruptedOnesProgressAlone) {
    const auto arguments = [&](const char* steps) {
        return std::vector<std::string>{"program",     "run",     path("p.gym"), "--data",
                                        path("text"),  "--steps", steps,         "--state",
                                        path("state"), "--json"};
    };
    const Command command(place_, arguments("100000"));
    wait_for_first_step(command);
    command.send(SIGINT);
    ASSERT_EQ(command.wait().exit_code, kInterrupted);
    EXPECT_EQ(gym(arguments("3")).exit_code, kOk);
    const Command again(place_, arguments("100000"));
    wait_for_first_step(again);
    again.send(SIGINT);
    EXPECT_NE(again.wait().err.find("resuming after step"), std::string::npos);
}

TEST_F(TrainCommand, ARunFromAStateGoesOnWithItsStepNumbers) {
    const auto root = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"program", "run",        path("p.gym"),
                                           "--data",  path("text"), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return text_of(summary(gym(arguments)), "final_state_root");
    };
    const std::string whole = root({"--steps", "8"});
    (void)root({"--steps", "5", "--state", path("five")});
    EXPECT_EQ(root({"--from", path("five"), "--first-step", "5", "--steps", "8"}), whole);
    EXPECT_NE(root({"--from", path("five"), "--steps", "3"}), whole);
    const auto outcome = gym({"program", "run", path("p.gym"), "--data", path("text"), "--from",
                              path("five"), "--first-step", "5", "--steps", "5"});
    EXPECT_EQ(outcome.exit_code, kUsage);
    EXPECT_NE(outcome.err.find("--steps counts from the first step"), std::string::npos);
}

TEST_F(TrainCommand, ALossThatIsNotFiniteIsSaid) {
    spill(place_ / "wild.yaml",
          "batch: 2\n"
          "model: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\n"
          "optimizer: {learning_rate: 100, warmup_steps: 0, inner_warmup_steps: 0}\n");
    ASSERT_EQ(gym({"program", "build", path("wild.yaml"), "-o", path("w.gym")}).exit_code, kOk);
    const auto outcome = gym({"program", "run", path("w.gym"), "--data", path("text"), "--steps",
                              "80", "--state", path("wild"), "--json"});
    const json::object last = summary(outcome);
    EXPECT_FALSE(last.at("first_step_not_finite").is_null()) << outcome.out;
    EXPECT_NE(outcome.err.find("is not finite"), std::string::npos) << outcome.err;
    const auto evaluated = gym({"program", "evaluate", path("w.gym"), "--data", path("text"),
                                "--state", path("wild"), "--json"});
    EXPECT_TRUE(summary(evaluated).at("validation_loss").is_null()) << evaluated.out;
    const auto generated = gym(
        {"generate", path("w.gym"), "--state", path("wild"), "--prompt", "line", "--tokens", "3"});
    EXPECT_EQ(generated.exit_code, kFailed);
    EXPECT_NE(generated.err.find("no logit is finite"), std::string::npos) << generated.err;
}

TEST_F(TrainCommand, AnInterruptEndsTheStepAndKeepsWholeFiles) {
    const Command command(place_, {"program", "run", path("p.gym"), "--data", path("text"),
                                   "--steps", "1000000", "--state", path("state"), "--json"});
    wait_for_first_step(command);
    command.send(SIGINT);
    const auto outcome = command.wait();
    EXPECT_EQ(outcome.exit_code, kInterrupted) << outcome.err;
    EXPECT_EQ(gym({"program", "evaluate", path("p.gym"), "--data", path("text"), "--state",
                   path("state")})
                  .exit_code,
              kOk);
}

TEST_F(TrainCommand, AKillLeavesTheOldFile) {
    spill(place_ / "state", "what was there before");
    const Command command(place_, {"program", "run", path("p.gym"), "--data", path("text"),
                                   "--steps", "1000000", "--state", path("state"), "--json"});
    wait_for_first_step(command);
    command.send(SIGKILL);
    EXPECT_EQ(command.wait().exit_code, kSignal + SIGKILL);
    EXPECT_EQ(slurp(place_ / "state"), "what was there before");
}

}  // namespace
}  // namespace gym::testing
