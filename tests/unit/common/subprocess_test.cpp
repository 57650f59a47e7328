#include "gym/common/subprocess.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "gym/common/process_view.hpp"

namespace gym {
namespace {

TEST(Subprocess, RunsACommandAndCollectsItsOutput) {
    const auto output = run_command({.argv = {"sh", "-c", "echo \"$GYM_WORD\"; pwd"},
                                     .env = {{"GYM_WORD", "hello"}},
                                     .folder = "/"},
                                    5'000);
    EXPECT_EQ(output.value(), "hello\n/\n");
}

TEST(Subprocess, AReaderOfStrangersFilesIsGivenNoSecrets) {
    ASSERT_EQ(::setenv("GYM_PASSPHRASE", "secret", 1), 0);
    ASSERT_EQ(::setenv("GYM_API_KEY_FILE", "a path", 1), 0);
    const std::vector<std::string> show{"sh", "-c", "echo \"$GYM_PASSPHRASE,$GYM_API_KEY_FILE\""};
    EXPECT_EQ(run_command({.argv = show}, 5'000).value(), "secret,a path\n");
    EXPECT_EQ(run_command({.argv = show, .with_secrets = false}, 5'000).value(), ",a path\n");
    EXPECT_EQ(
        run_command({.argv = show, .env = {{"GYM_PASSPHRASE", "meant"}}, .with_secrets = false},
                    5'000)
            .value(),
        "meant,a path\n");
    ::unsetenv("GYM_PASSPHRASE");
    ::unsetenv("GYM_API_KEY_FILE");
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

/// A process that never asks how its child has ended.
class ForgetfulParent {
  public:
    ForgetfulParent() {
        std::array<int, 2> told{};
        EXPECT_EQ(::pipe(told.data()), 0);
        parent_ = ::fork();
        if (parent_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const pid_t child = ::fork();
            if (child == 0) ::_exit(0);
            if (::write(told[1], &child, sizeof child) == sizeof child) ::pause();
            ::_exit(0);
        }
        EXPECT_EQ(::read(told[0], &child_, sizeof child_), ssize_t{sizeof child_});
        for (const int end : told)
            ::close(end);
    }
    ~ForgetfulParent() {
        ::kill(parent_, SIGKILL);
        ::waitpid(parent_, nullptr, 0);
    }
    ForgetfulParent(const ForgetfulParent&) = delete;
    ForgetfulParent& operator=(const ForgetfulParent&) = delete;
    [[nodiscard]] pid_t child() const { return child_; }

  private:
    pid_t parent_ = -1;
    pid_t child_ = -1;
};

TEST(Subprocess, AZombieOfAnotherProcessIsStopped) {
    const ForgetfulParent parent;
    ASSERT_GT(parent.child(), 1);
    const Status stopped = stop_process(parent.child(), 5'000);
    EXPECT_TRUE(stopped.ok()) << stopped.error().message;
    EXPECT_EQ(::kill(parent.child(), 0), 0) << "a zombie keeps its id";
    EXPECT_TRUE(view_process(parent.child()).value().ended);
}

}  // namespace
}  // namespace gym
