#include "gym/common/subprocess.hpp"

#include <gtest/gtest.h>
#include <signal.h>

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

}  // namespace
}  // namespace gym
