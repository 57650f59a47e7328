#include "gym/common/subprocess.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/process_view.hpp"
#include "gym/common/temporary_folder.hpp"

namespace gym {
namespace {

TEST(Subprocess, RunsACommandAndCollectsItsOutput) {
    const auto output = run_command({.argv = {"sh", "-c", "echo \"$GYM_WORD\"; pwd"},
                                     .env = {{"GYM_WORD", "hello"}},
                                     .folder = "/"},
                                    5'000);
    EXPECT_EQ(output.value(), "hello\n/\n");
}

TEST(Subprocess, ReportsTheExitCodeAndTheOutput) {
    const auto failed = run_command({.argv = {"sh", "-c", "echo reason; exit 3"}}, 5'000);
    EXPECT_EQ(failed.error().message, "sh ended with code 3: reason\n");
}

TEST(Subprocess, NamesAProgramThatDoesNotExist) {
    const auto failed = Subprocess::start({.argv = {"gym-no-such-program"}});
    EXPECT_EQ(failed.error().code, ErrorCode::kNotFound);
}

TEST(Subprocess, StopsAChildThatIgnoresSigterm) {
    auto child =
        Subprocess::start({.argv = {"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}})
            .value();
    EXPECT_EQ(child.wait(200).error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(child.stop(200).ok());
    EXPECT_FALSE(child.running());
}

TEST(Subprocess, TheDestructorStopsTheChild) {
    pid_t pid = 0;
    {
        auto child = Subprocess::start({.argv = {"sleep", "100"}}).value();
        pid = child.pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Subprocess, AReleasedChildIsStoppedById) {
    const pid_t pid =
        Subprocess::start({.argv = {"sleep", "100"}, .die_with_parent = false}).value().release();
    EXPECT_TRUE(stop_process(pid, 2'000).ok());
    EXPECT_NE(::kill(pid, 0), 0);
    EXPECT_TRUE(stop_process(pid, 10).ok());
}

/// The id of a process that has ended and whose parent, `sleep`, never asks how.
pid_t zombie_of(const std::filesystem::path& file) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
        const auto bytes = read_file(file);
        if (!bytes.ok() || bytes->empty() || bytes->back() != '\n') continue;
        const pid_t pid = std::stoi(std::string(bytes->begin(), bytes->end()));
        if (const auto view = view_process(pid); view.ok() && view->ended) return pid;
    }
    return -1;
}

TEST(Subprocess, AZombieOfAnotherProcessIsStopped) {
    const auto folder = TemporaryFolder::create("gym-zombie").value();
    const auto file = folder / "pid";
    const auto parent =
        Subprocess::start(
            {.argv = {"sh", "-c", "true & echo $! > " + file.string() + "; exec sleep 100"}})
            .value();
    const pid_t zombie = zombie_of(file);
    ASSERT_GT(zombie, 1);
    EXPECT_EQ(::kill(zombie, 0), 0) << "it still has its id";
    const Status stopped = stop_process(zombie, 50);
    EXPECT_TRUE(stopped.ok()) << stopped.error().message;
}

}  // namespace
}  // namespace gym
