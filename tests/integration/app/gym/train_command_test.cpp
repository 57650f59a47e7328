// `gym program run` over interrupts, kills and other runs into the same file.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "engine_commands.hpp"
#include "small_tokenizer.hpp"

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

TEST_F(TrainCommand, AnInterruptedRunContinuesToTheSameRoot) {
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
    EXPECT_NE(rest.err.find("continuing after step"), std::string::npos) << rest.err;
    EXPECT_EQ(text_of(summary(rest), "final_state_root"), text_of(whole, "final_state_root"));
    EXPECT_EQ(text_of(summary(rest), "records_root"), text_of(whole, "records_root"));
    EXPECT_EQ(slurp(place_ / "records"), records);
    EXPECT_EQ(slurp(place_ / "parts"), slurp(place_ / "whole"));
}

TEST_F(TrainCommand, MoreStepsContinueTheRunInTheFile) {
    const auto train = [&](const char* state, std::vector<std::string> more) {
        std::vector<std::string> arguments{"program",    "run",     path("p.gym"), "--data",
                                           path("text"), "--state", path(state),   "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return gym(arguments);
    };
    const json::object whole = summary(train("whole", {"--steps", "8"}));
    EXPECT_EQ(summary(train("parts", {"--steps", "5"})).at("steps_done").as_int64(), 5);
    const auto rest = train("parts", {"--steps", "8"});
    EXPECT_NE(rest.err.find("continuing after step 5"), std::string::npos) << rest.err;
    EXPECT_EQ(text_of(summary(rest), "final_state_root"), text_of(whole, "final_state_root"));
    EXPECT_EQ(objects(rest.out).size(), 3U + 1U);  // three steps and the summary

    const auto again = train("parts", {"--steps", "8"});
    EXPECT_EQ(text_of(summary(again), "final_state_root"), text_of(whole, "final_state_root"));
    EXPECT_NE(again.err.find("has all of its steps already (8)"), std::string::npos) << again.err;

    const auto fewer = train("parts", {"--steps", "5"});
    EXPECT_EQ(fewer.exit_code, kUsage);
    EXPECT_NE(fewer.out.find("has 8 steps"), std::string::npos) << fewer.out;
    EXPECT_EQ(text_of(summary(train("parts", {"--steps", "8", "--restart"})), "final_state_root"),
              text_of(whole, "final_state_root"));
}

TEST_F(TrainCommand, AFileOfAnotherRunIsNotOverwritten) {
    spill(place_ / "other", "another text, " + text());
    const auto train = [&](const char* data, std::vector<std::string> more) {
        std::vector<std::string> arguments{"program",     "run",     path("p.gym"), "--data",
                                           path(data),    "--steps", "2",           "--state",
                                           path("state"), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return gym(arguments);
    };
    ASSERT_EQ(train("text", {}).exit_code, kOk);
    const std::string before = slurp(place_ / "state");
    const auto other_seed = train("text", {"--seed", "another"});
    EXPECT_EQ(other_seed.exit_code, kRejected);
    EXPECT_NE(other_seed.out.find("another seed"), std::string::npos) << other_seed.out;
    const auto other_text = train("other", {});
    EXPECT_EQ(other_text.exit_code, kRejected);
    EXPECT_NE(other_text.out.find("another dataset"), std::string::npos) << other_text.out;
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "1",
                   "--seed", "another", "--state", path("from")})
                  .exit_code,
              kOk);
    const auto other_start = train("text", {"--from", path("from"), "--first-step", "0"});
    EXPECT_EQ(other_start.exit_code, kRejected);
    EXPECT_NE(other_start.out.find("another state of --from"), std::string::npos)
        << other_start.out;
    EXPECT_EQ(slurp(place_ / "state"), before);
    EXPECT_EQ(train("text", {"--seed", "another", "--restart"}).exit_code, kOk);
    EXPECT_NE(slurp(place_ / "state"), before);

    spill(place_ / "state", "no run at all");
    EXPECT_EQ(train("text", {}).exit_code, kRejected);
    EXPECT_EQ(slurp(place_ / "state"), "no run at all");
}

TEST_F(TrainCommand, OtherCommandsDoNotOverwriteARunOrTheirInputs) {
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "2",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    ASSERT_EQ(gym({"program", "export-weights", path("p.gym"), "--state", path("state"), "-o",
                   path("w.safetensors")})
                  .exit_code,
              kOk);
    const std::string run = slurp(place_ / "state"), program = slurp(place_ / "p.gym");
    const auto over_run = gym(
        {"program", "import-weights", path("p.gym"), path("w.safetensors"), "-o", path("state")});
    EXPECT_EQ(over_run.exit_code, kRejected);
    EXPECT_NE(over_run.err.find("holds a training run"), std::string::npos) << over_run.err;
    EXPECT_EQ(slurp(place_ / "state"), run);
    const std::vector<std::vector<std::string>> over_inputs{
        {"program", "import-weights", path("p.gym"), path("w.safetensors"), "-o", path("p.gym")},
        {"program", "export-weights", path("p.gym"), "--state", path("state"), "-o", path("state")},
        {"unit", "run", path("p.gym"), "--data", path("text"), "--steps", "2", "-o",
         path("p.gym")}};
    for (const auto& arguments : over_inputs) {
        const auto outcome = gym(arguments);
        EXPECT_EQ(outcome.exit_code, kUsage) << outcome.err;
        EXPECT_NE(outcome.err.find("is also an input"), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(slurp(place_ / "p.gym"), program);
    EXPECT_EQ(slurp(place_ / "state"), run);
}

TEST_F(TrainCommand, ADamagedFileIsSaidToBe) {
    const std::vector<std::string> arguments{"program", "run",        path("p.gym"),
                                             "--data",  path("text"), "--steps",
                                             "2",       "--state",    path("state")};
    ASSERT_EQ(gym(arguments).exit_code, kOk);
    std::string file = slurp(place_ / "state");
    file[file.size() - 10] = static_cast<char>(file[file.size() - 10] ^ 1);
    spill(place_ / "state", file);
    const auto outcome = gym(arguments);
    EXPECT_EQ(outcome.exit_code, kMismatch);
    EXPECT_NE(outcome.err.find("its state hashes to"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("--restart"), std::string::npos) << outcome.err;
}

TEST_F(TrainCommand, ARunFromAStateContinuesItsStepNumbers) {
    const auto root = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"program", "run",        path("p.gym"),
                                           "--data",  path("text"), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return text_of(summary(gym(arguments)), "final_state_root");
    };
    const std::string whole = root({"--steps", "8"});
    (void)root({"--steps", "5", "--state", path("five")});
    EXPECT_EQ(root({"--from", path("five"), "--steps", "8"}), whole);
    EXPECT_EQ(root({"--from", path("five"), "--first-step", "5", "--steps", "8"}), whole);
    EXPECT_NE(root({"--from", path("five"), "--first-step", "0", "--steps", "3"}), whole);
    const auto outcome = gym({"program", "run", path("p.gym"), "--data", path("text"), "--from",
                              path("five"), "--steps", "5"});
    EXPECT_EQ(outcome.exit_code, kUsage);
    EXPECT_NE(outcome.err.find("--steps counts all steps of the run"), std::string::npos);
}

TEST_F(TrainCommand, ValidationLossesComeEverySoManySteps) {
    const auto outcome = gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps",
                              "5", "--evaluate-every", "2", "--evaluate-windows", "4", "--state",
                              path("state"), "--log-every", "5", "--json"});
    std::vector<std::int64_t> validated;
    std::vector<std::int64_t> logged;
    double last = 0;
    for (const json::object& line : objects(outcome.out)) {
        if (line.contains("validation_loss")) {
            validated.push_back(line.at("steps_done").as_int64());
            last = line.at("validation_loss").to_number<double>();
        } else if (line.contains("batch_root")) {
            logged.push_back(line.at("step").as_int64());
        }
    }
    EXPECT_EQ(validated, (std::vector<std::int64_t>{2, 4, 5}));
    EXPECT_EQ(logged, (std::vector<std::int64_t>{0, 4}));
    const auto evaluated = gym({"program", "evaluate", path("p.gym"), "--data", path("text"),
                                "--state", path("state"), "--windows", "4", "--json"});
    EXPECT_EQ(summary(evaluated).at("validation_loss").to_number<double>(), last);
}

TEST_F(TrainCommand, TheLossCurveIsAnSvg) {
    const auto outcome = gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps",
                              "6", "--evaluate-every", "3", "--curve", path("curve.svg")});
    ASSERT_EQ(outcome.exit_code, kOk) << outcome.err;
    const std::string svg = slurp(place_ / "curve.svg");
    EXPECT_NE(svg.find("<svg"), std::string::npos);
    EXPECT_NE(svg.find("p.gym"), std::string::npos);  // the title
    EXPECT_NE(svg.find("validation"), std::string::npos);
}

TEST_F(TrainCommand, ACurveWithoutGnuplotIsRefusedBeforeTheTraining) {
    const std::string search = std::getenv("PATH");
    ::setenv("PATH", path("no-programs").c_str(), 1);
    const auto outcome = gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps",
                              "6", "--state", path("state"), "--curve", path("curve.svg")});
    ::setenv("PATH", search.c_str(), 1);
    EXPECT_EQ(outcome.exit_code, kFailed);
    EXPECT_NE(outcome.err.find("apt-get install gnuplot-nox"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "") << "a step was taken";
    EXPECT_FALSE(std::filesystem::exists(place_ / "state"));
}

TEST_F(TrainCommand, WeightsAndDataOfTwoTokenizersAreRefused) {
    spill(place_ / "wide.yaml",
          "batch: 2\nmodel: {vocabulary: 300, context: 8, layers: 1, heads: 2, width: 16}\n");
    ASSERT_EQ(gym({"program", "build", path("wide.yaml"), "-o", path("wide.gym")}).exit_code, kOk);
    auto merges = small_merges();
    for (const char* name : {"own", "other"}) {
        std::filesystem::create_directory(place_ / name);
        spill(place_ / name / "tokenizer.json", json::serialize(small_tokenizer_json(merges)));
        merges.pop_back();
        const std::string tokens = path(name) + ".tokens";
        const auto built = gym({"data", "build", "--steps", "none", "--tokenizer", path(name),
                                path("text"), "-o", tokens});
        ASSERT_EQ(built.exit_code, kOk) << built.err;
    }
    const auto run = [&](const char* data, std::vector<std::string> more) {
        std::vector<std::string> arguments{"program", "run", path("wide.gym"), "--data", path(data),
                                           "--steps", "2"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return gym(arguments);
    };
    ASSERT_EQ(run("own.tokens", {"--state", path("first")}).exit_code, kOk);
    const auto exported = gym(
        {"program", "export", path("wide.gym"), "--state", path("first"), "-o", path("folder")});
    ASSERT_EQ(exported.exit_code, kOk) << exported.err;
    ASSERT_TRUE(std::filesystem::exists(place_ / "folder/tokenizer.json"));

    const auto refused = run("other.tokens", {"--init", path("folder"), "--state", path("second")});
    EXPECT_EQ(refused.exit_code, kMismatch);
    EXPECT_NE(refused.err.find("the weights have the tokenizer 0x"), std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("other.tokens was made with 0x"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(place_ / "second"));
    EXPECT_EQ(run("own.tokens", {"--init", path("folder")}).exit_code, kOk);
}

TEST_F(TrainCommand, ARunBeginsFromGivenWeights) {
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "3",
                   "--state", path("three")})
                  .exit_code,
              kOk);
    std::filesystem::create_directory(place_ / "folder");
    ASSERT_EQ(gym({"program", "export-weights", path("p.gym"), "--state", path("three"), "-o",
                   path("folder/model.safetensors")})
                  .exit_code,
              kOk);
    const auto run = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"program",    "run",     path("p.gym"), "--data",
                                           path("text"), "--steps", "2",           "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return gym(arguments);
    };
    const auto without = run({"--init", path("folder")});
    EXPECT_EQ(without.exit_code, kFailed);
    EXPECT_NE(without.out.find("no config.json"), std::string::npos) << without.out;
    spill(place_ / "folder/config.json", "{}");
    const std::string from_folder =
        text_of(summary(run({"--init", path("folder")})), "final_state_root");
    // Of a training state the parameters are taken; the optimizer begins anew.
    EXPECT_EQ(text_of(summary(run({"--init", path("three")})), "final_state_root"), from_folder);
    EXPECT_EQ(
        text_of(summary(run({"--init", path("folder/model.safetensors")})), "final_state_root"),
        from_folder);
    EXPECT_NE(
        text_of(summary(run({"--from", path("three"), "--first-step", "0"})), "final_state_root"),
        from_folder);
    EXPECT_NE(text_of(summary(run({})), "final_state_root"), from_folder);
    EXPECT_EQ(run({"--init", path("folder"), "--from", path("three")}).exit_code, kUsage);
}

TEST_F(TrainCommand, ALossThatIsNotFiniteEndsTheRunWithACodeOfItsOwn) {
    spill(place_ / "wild.yaml",
          "batch: 2\n"
          "model: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\n"
          "optimizer: {learning_rate: 100, warmup_steps: 0, inner_warmup_steps: 0}\n");
    ASSERT_EQ(gym({"program", "build", path("wild.yaml"), "-o", path("w.gym")}).exit_code, kOk);
    const auto train = [&](const std::string& steps) {
        return gym({"program", "run", path("w.gym"), "--data", path("text"), "--steps", steps,
                    "--state", path("wild"), "--json"});
    };
    const auto outcome = train("80");
    EXPECT_EQ(outcome.exit_code, kDiverged) << outcome.out;
    const auto lines = objects(outcome.out);
    const json::object& error = lines.back().at("error").as_object();
    EXPECT_EQ(text_of(error, "code"), "diverged");
    const std::size_t finite = lines.size() - 2;  // records before the last one, and the error
    ASSERT_LT(finite, 79U) << "the run ends at its first loss that is not finite";
    const std::string message = text_of(error, "message");
    for (const std::string& part : std::vector<std::string>{
             "the loss of step " + std::to_string(finite), "learning_rate", "clip_norm", "guard"})
        EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    EXPECT_FALSE(std::filesystem::exists(place_ / "wild")) << "nothing finite was saved";

    // What the steps before it leave is kept when the run goes no further.
    ASSERT_EQ(train(std::to_string(finite)).exit_code, kOk);
    const std::string kept = slurp(place_ / "wild");
    const auto again = train("80");
    EXPECT_EQ(again.exit_code, kDiverged);
    EXPECT_NE(again.out.find("keeps the run's last state"), std::string::npos) << again.out;
    EXPECT_EQ(slurp(place_ / "wild"), kept);
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
    const Command command(
        place_, {"program", "run", path("p.gym"), "--data", path("text"), "--steps", "1000000",
                 "--state", path("state"), "--restart", "--json"});
    wait_for_first_step(command);
    command.send(SIGKILL);
    EXPECT_EQ(command.wait().exit_code, kSignal + SIGKILL);
    EXPECT_EQ(slurp(place_ / "state"), "what was there before");
}

}  // namespace
}  // namespace gym::testing
