// Starts of a development network that do not go through: cut off between any two steps or while
// the contracts are deployed, or with another program on the port of the API.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gym/contracts/deployment.hpp"
#include "gym/devnet/demo.hpp"
#include "temporary_folder.hpp"

namespace gym::devnet {
namespace {

/// A loopback port that this process listens on.
class TakenPort {
  public:
    TakenPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const view = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(descriptor_, view, size), 0);
        EXPECT_EQ(::listen(descriptor_, 8), 0);
        EXPECT_EQ(::getsockname(descriptor_, view, &size), 0);
        port_ = ntohs(address.sin_port);
    }
    ~TakenPort() { ::close(descriptor_); }
    TakenPort(const TakenPort&) = delete;
    TakenPort& operator=(const TakenPort&) = delete;
    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    int descriptor_;
    std::uint16_t port_ = 0;
};

class Start : public ::testing::Test {
  protected:
    void SetUp() override {
        const char* build = std::getenv("GYM_BINARY_DIR");
        const char* source = std::getenv("GYM_SOURCE_DIR");
        ASSERT_TRUE(build != nullptr && source != nullptr) << "run through ctest";
        options_.root = folder_ / "network";
        options_.workers = 1;
        options_.programs.folder = std::filesystem::path(build) / "bin";
        options_.migrations = std::filesystem::path(source) / "sql" / "migrations";
    }
    void TearDown() override { EXPECT_TRUE(network_down(options_.root).ok()); }
    /// A start that is interrupted before its step `step`, from 0.
    Status up_until(int step) {
        NetworkOptions options = options_;
        int asked = 0;
        options.interrupted = [&] { return asked++ == step; };
        const auto layout = network_up(options, [](const std::string&) {});
        return layout.ok() ? Status() : Status(layout.error());
    }

    testing::TemporaryFolder temporary_;
    const std::filesystem::path folder_ = temporary_.path();
    NetworkOptions options_;
};

TEST_F(Start, GoesOnAfterAnInterruptionBeforeEachOfItsSteps) {
    int step = 0;
    Status started = up_until(step);
    for (; !started.ok() && step < 20; started = up_until(++step))
        ASSERT_EQ(started.error().code, ErrorCode::kCancelled) << started.error().message;
    EXPECT_EQ(step, 6) << "keys, database, chain, services, verifier, one worker";
    EXPECT_TRUE(started.ok());

    const auto entries = ProcessTable(load_layout(options_.root)->run()).list();
    ASSERT_TRUE(entries.ok());
    EXPECT_EQ(entries->size(), 7U) << "with a mirror";
    for (const ProcessEntry& entry : *entries)
        EXPECT_TRUE(entry.running) << entry.name;

    NetworkOptions again = options_;
    again.migrations = folder_ / "none";
    std::vector<std::string> said;
    const auto running = network_up(again, [&](const std::string& what) { said.push_back(what); });
    ASSERT_TRUE(running.ok()) << "a network that runs is not migrated: " << running.error().message;
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said.front().find("is running"), std::string::npos) << said.front();
}

TEST_F(Start, RefusesToBeAnotherNetworkThanTheOneThatIsThere) {
    ASSERT_EQ(up_until(0).error().code, ErrorCode::kCancelled);
    const auto refusal = [&](const NetworkOptions& options) {
        const auto layout = network_up(options, [](const std::string&) {});
        EXPECT_EQ(layout.ok() ? ErrorCode::kInternal : layout.error().code, ErrorCode::kConflict);
        return layout.ok() ? "" : layout.error().message;
    };
    NetworkOptions more = options_;
    more.workers = 2;
    EXPECT_NE(refusal(more).find("was made with 1 workers, not with 2: --workers is for a new one"),
              std::string::npos)
        << refusal(more);
    NetworkOptions elsewhere = options_;
    elsewhere.api_port = load_layout(options_.root)->api_port == 1234 ? 1235 : 1234;
    EXPECT_NE(refusal(elsewhere).find("--api-port is for a new one"), std::string::npos);
    options_.workers.reset();
    EXPECT_EQ(up_until(0).error().code, ErrorCode::kCancelled) << "nothing was asked for";
}

TEST_F(Start, GoesOnWithContractsThatWereDeployedInPart) {
    constexpr int kServicesStep = 3;
    ASSERT_EQ(up_until(kServicesStep).error().code, ErrorCode::kCancelled);
    const Layout layout = load_layout(options_.root).value();
    const auto before = contracts::load_deployment(layout.deployment()).value();
    // The state when the start is killed before the last transaction is in a block.
    ASSERT_TRUE(std::filesystem::remove(layout.deployment()));

    const auto again = network_up(options_, [](const std::string&) {});
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(contracts::load_deployment(layout.deployment()).value(), before) << "deployed twice";
}

TEST_F(Start, FailsWithTheReasonWhenAnotherProgramHasTheApisPort) {
    const TakenPort taken;
    options_.api_port = taken.port();
    const auto layout = network_up(options_, [](const std::string&) {});
    ASSERT_FALSE(layout.ok());
    EXPECT_EQ(layout.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(layout.error().message.find("api ended"), std::string::npos)
        << layout.error().message;
    EXPECT_NE(layout.error().message.find("already in use"), std::string::npos)
        << layout.error().message;
}

}  // namespace
}  // namespace gym::devnet
