// How a service starts, stops and exits: each test runs one in a process of its own.
#include "service_main.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <thread>

#include "cli/cli_context.hpp"
#include "gym/common/file.hpp"
#include "gym/common/stop.hpp"
#include "gym/common/temporary_folder.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::minutes kLong{10};  // longer than any test runs

using Serve = std::function<Status(const std::stop_token&)>;

void send(int number) {
    ::kill(::getpid(), number);
}

/// Exits as a program does whose main() calls run_service().
[[noreturn]] void run_and_exit(const Serve& serve,
                               std::chrono::milliseconds stop_timeout = kStopTimeout) {
    CliContext context{.program = "gym-test"};
    context.finish(run_service({.name = "gym-test", .stop_timeout = stop_timeout}, serve));
    std::_Exit(static_cast<int>(context.exit_code));
}

/// Stops as soon as it is told to.
Status obedient(const std::stop_token& stop) {
    log_ready("doing nothing");
    return wait_for_stop(stop, kLong) ? Status{} : fail(ErrorCode::kTimeout, "never stopped");
}

/// A stop request that no work in progress heeds.
Status stubborn(const std::stop_token& /*stop*/) {
    std::this_thread::sleep_for(kLong);
    return {};
}

Serve after_signal(int number, const Serve& serve) {
    return [number, serve](const std::stop_token& stop) {
        send(number);
        return serve(stop);
    };
}

class RunService : public ::testing::Test {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RunService, StopsInOrderOnSigterm) {
    EXPECT_EXIT(
        run_and_exit(after_signal(SIGTERM, obedient)), ::testing::ExitedWithCode(0),
        "\\[gym-test\\] ready: doing nothing .version .*, process [0-9]+.*stopped; ran for");
}

TEST_F(RunService, StopsInOrderOnSigint) {
    EXPECT_EXIT(run_and_exit(after_signal(SIGINT, obedient)), ::testing::ExitedWithCode(0),
                "stopping: received SIGINT, waiting at most 50 s for work in progress");
}

TEST_F(RunService, ExitsWhenStoppingTakesTooLong) {
    EXPECT_EXIT(run_and_exit(after_signal(SIGTERM, stubborn), std::chrono::milliseconds(50)),
                ::testing::ExitedWithCode(130), "not stopped within 50 ms: exiting");
}

TEST_F(RunService, ExitsOnASecondSignal) {
    const Serve twice = [](const std::stop_token& stop) {
        send(SIGTERM);
        wait_for_stop(stop);  // the first has arrived: two at once would be one
        send(SIGINT);
        return stubborn(stop);
    };
    EXPECT_EXIT(run_and_exit(twice), ::testing::ExitedWithCode(130),
                "received SIGINT again: exiting");
}

TEST_F(RunService, ASignalBeforeItIsReadyStopsIt) {
    const Serve waiting = [](const std::stop_token& stop) -> Status {
        wait_for_stop(stop);
        return fail(ErrorCode::kCancelled, "stopped while waiting: no server");
    };
    EXPECT_EXIT(run_and_exit(after_signal(SIGTERM, waiting)), ::testing::ExitedWithCode(130),
                "gym-test: stopped while waiting: no server");
}

TEST_F(RunService, AnErrorEndsItWithTheCodeOfTheTable) {
    const Serve failing = [](const std::stop_token&) -> Status {
        return fail(ErrorCode::kUnavailable, "the chain does not answer");
    };
    EXPECT_EXIT(run_and_exit(failing), ::testing::ExitedWithCode(4),
                "gym-test: the chain does not answer");
}

TEST_F(RunService, SignalsAreBlockedInThreadsThatItStarts) {
    const Serve threads = [](const std::stop_token& stop) {
        std::thread([] {
            sigset_t mask;
            pthread_sigmask(SIG_BLOCK, nullptr, &mask);
            if (sigismember(&mask, SIGTERM) != 1 || sigismember(&mask, SIGINT) != 1) std::_Exit(99);
        }).join();
        send(SIGTERM);
        return obedient(stop);
    };
    EXPECT_EXIT(run_and_exit(threads), ::testing::ExitedWithCode(0), "stopped");
}

class RunServiceMain : public RunService {
  protected:
    /// Parses `words` after the program's name, and exits.
    [[noreturn]] static void run(std::vector<std::string> words) {
        words.insert(words.begin(), "gym-test");
        std::vector<char*> argv;
        for (std::string& word : words)
            argv.push_back(word.data());
        std::string path;
        const ServiceProgram program{
            .name = "gym-test",
            .description = "Test",
            .add_options =
                [&](CLI::App& command_line, CliContext&) {
                    add_config_option(command_line, path, "test.yaml");
                    command_line.add_subcommand("keys", "Do something else");
                },
            .start = [](const CliContext&) -> Status { return fail(ErrorCode::kConflict, "ran"); }};
        std::_Exit(service_main(program, static_cast<int>(argv.size()), argv.data()));
    }
};

TEST_F(RunServiceMain, StartsUnlessASubcommandRan) {
    const auto folder = TemporaryFolder::create("gym-service-").value();
    const std::string config = (folder / "test.yaml").string();
    ASSERT_TRUE(write_file_atomic(config, {}).ok());
    EXPECT_EXIT(run({"--config", config}), ::testing::ExitedWithCode(5), "gym-test: ran");
    EXPECT_EXIT(run({"--config", config, "keys"}), ::testing::ExitedWithCode(0), "");
}

TEST_F(RunServiceMain, AMissingConfigurationIsWrongUsage) {
    EXPECT_EXIT(run({}), ::testing::ExitedWithCode(2), "--config is required");
    EXPECT_EXIT(run({"--config", "/nonexistent"}), ::testing::ExitedWithCode(2),
                "gym-test: .*/nonexistent");
}

TEST(WritePortFile, WritesTheNumberAndALineEnd) {
    const auto folder = TemporaryFolder::create("gym-service-").value();
    const auto path = folder / "port";
    ASSERT_TRUE(write_port_file(path.string(), 4711).ok());
    const auto bytes = read_file(path);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "4711\n");
    EXPECT_TRUE(write_port_file("", 4711).ok());
}

}  // namespace
}  // namespace gym::app
