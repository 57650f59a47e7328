// `gym devnet` in a root that another command uses, and a demo that is told to leave its network.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/process_table.hpp"
#include "temporary_folder.hpp"

namespace gym::devnet {
namespace {

constexpr int kWaitMs = 60'000;
constexpr int kRejected = 5, kCancelled = 130;

struct Outcome {
    int code = -1;
    std::string output;
};

class BusyRoot : public ::testing::Test {
  protected:
    void SetUp() override {
        const char* build = std::getenv("GYM_BINARY_DIR");
        ASSERT_NE(build, nullptr) << "run through ctest";
        program_ = (std::filesystem::path(build) / "bin" / "gym").string();
        std::string text;
        while (text.size() < 120'000)
            text += "a text to train on, ";
        ASSERT_TRUE(write_file_atomic(text_, as_bytes(text)).ok());
    }
    [[nodiscard]] Result<Subprocess> start(std::vector<std::string> words) const {
        words.insert(words.begin(), {program_, "devnet"});
        words.insert(words.end(), {"--root", root_.string()});
        std::filesystem::remove(log_);
        return Subprocess::start({.argv = words, .log_file = log_});
    }
    [[nodiscard]] std::string output() const {
        const auto bytes = read_file(log_);
        return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
    }
    [[nodiscard]] Outcome run(std::vector<std::string> words) const {
        auto child = start(std::move(words));
        if (!child.ok()) return {-1, child.error().message};
        const auto code = child->wait(kWaitMs);
        return {code.ok() ? *code : -1, output()};
    }
    bool wait_for(const std::string& words) const {
        for (int waited_ms = 0; waited_ms < kWaitMs; waited_ms += 20) {
            if (output().find(words) != std::string::npos) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return false;
    }

    testing::TemporaryFolder temporary_;
    const std::filesystem::path root_ = temporary_.path() / "network";
    const std::filesystem::path text_ = temporary_.path() / "text";
    const std::filesystem::path log_ = temporary_.path() / "output";
    std::string program_;
};

TEST_F(BusyRoot, EveryCommandIsRefusedAndNothingIsStopped) {
    auto lock = RootLock::acquire(root_, "gym devnet demo", "wait");
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    const Layout layout = create_layout(root_, 1, 0).value();
    ProcessTable processes(layout.run());
    ASSERT_TRUE(processes.start("verifier", {.argv = {"sleep", "300"}}).ok());

    const std::string who = root_.string() + " is in use by process " + std::to_string(::getpid()) +
                            " (gym devnet demo): wait for it";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"up"}, {"down"}, {"demo", "--text", text_.string()}}) {
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.code, kRejected) << command[0];
        EXPECT_NE(outcome.output.find(who), std::string::npos) << outcome.output;
        EXPECT_TRUE(processes.find("verifier")->running) << command[0] << " stopped it";
    }
    { const RootLock ended = std::move(*lock); }
    const Outcome down = run({"down"});
    EXPECT_EQ(down.code, 0) << down.output;
    EXPECT_FALSE(std::filesystem::exists(root_)) << "with its lock";
    EXPECT_NE(run({"down"}).output.find("there is no network"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(root_)) << "only to look";
}

TEST_F(BusyRoot, ADemoThatKeepsItsNetworkSaysSoWhenItIsInterrupted) {
    auto demo = start({"demo", "--keep", "--text", text_.string()});
    ASSERT_TRUE(demo.ok()) << demo.error().message;
    ASSERT_TRUE(wait_for("starting PostgreSQL")) << output();
    EXPECT_EQ(
        run_command({.argv = {program_, "devnet", "down", "--root", root_.string()}}, kWaitMs).ok(),
        false)
        << "a running demo holds its root";
    demo->signal(SIGINT);
    const auto code = demo->wait(kWaitMs);
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_EQ(*code, kCancelled);
    const std::string told = output();
    EXPECT_NE(told.find("the network stays up"), std::string::npos) << told;
    EXPECT_NE(told.find("`gym devnet down --root " + root_.string() + "` stops and removes it"),
              std::string::npos)
        << told;
    EXPECT_TRUE(load_layout(root_).ok());
    EXPECT_EQ(run({"down"}).code, 0) << output();
    EXPECT_FALSE(std::filesystem::exists(root_));
}

}  // namespace
}  // namespace gym::devnet
