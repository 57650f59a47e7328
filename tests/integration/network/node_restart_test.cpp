// A worker that is killed in the middle of a unit, and two that want to be the same node.

#include <algorithm>
#include <csignal>
#include <random>

#include "gym/node/device_errors.hpp"
#include "gym/node/session.hpp"
#include "node_process.hpp"
#include "random_seed.hpp"
#include "temporary_folder.hpp"

namespace gym {
namespace {

using testing::program;

constexpr std::uint32_t kSteps = 400;

class NodeRestartTest : public testing::NodeProcess {
  protected:
    NodeRestartTest() : NodeProcess(kSteps) { handler_.registered.insert(key_.address()); }

    SubprocessOptions start_command() const {
        return command({program("gym"), "node", "start", "--checkpoint-seconds", "0"});
    }
    std::filesystem::path checkpoint() const {
        return dir_.path() / "checkpoints" / (unit_.hex().substr(2) + ".checkpoint");
    }
    bool committed() { return handler_.commitments.contains(unit_); }
    /// Runs the worker until some time after its first checkpoint, and ends it with `number`.
    void run_and_end(int number, std::chrono::milliseconds after) {
        auto node = Subprocess::start(start_command());
        ASSERT_TRUE(node.ok());
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(checkpoint()); })) << log();
        std::this_thread::sleep_for(after);
        node->signal(number);
        ASSERT_TRUE(node->wait(10'000).ok());
    }
    /// Runs the worker until the unit is committed, to what was computed without interruption.
    void expect_honest_commitment() {
        auto node = Subprocess::start(start_command());
        ASSERT_TRUE(node.ok());
        ASSERT_TRUE(eventually([this] { return committed(); })) << log();
        EXPECT_TRUE(node->stop().ok());
        EXPECT_EQ(handler_.commitments.at(unit_).commitment.commitment,
                  job_.commitment(0, job_.run(0)));
        EXPECT_FALSE(std::filesystem::exists(checkpoint()));
    }
    std::size_t logged(const std::string& text) const {
        std::size_t count = 0;
        const std::string all = log();
        for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
            ++count;
        return count;
    }
};

TEST_F(NodeRestartTest, KilledAtRandomMomentsItGoesOnToTheSameRecords) {
    std::mt19937_64 random(testing::random_seed());
    for (int kill = 0; kill < 3 && !committed(); ++kill)
        run_and_end(SIGKILL, std::chrono::milliseconds(random() % 150));
    expect_honest_commitment();
    EXPECT_GE(logged("resumed from step"), 1u) << log();
}

TEST_F(NodeRestartTest, StoppedByCtrlCItSavesAndGoesOn) {
    run_and_end(SIGINT, std::chrono::milliseconds(20));
    ASSERT_FALSE(committed());
    ASSERT_TRUE(std::filesystem::exists(checkpoint()));
    expect_honest_commitment();
    EXPECT_EQ(logged("resumed from step"), 1u) << log();
}

TEST_F(NodeRestartTest, StoppedItSignsForTheStepsThatItDid) {
    run_and_end(SIGTERM, std::chrono::milliseconds(20));
    ASSERT_FALSE(committed());
    ASSERT_EQ(handler_.prefixes.size(), 1U) << log();
    const protocol::SignedPrefix said = handler_.prefixes[0];
    const auto chain = engine::record_chain(job_.run(0).records);
    ASSERT_GE(said.prefix.steps, 1U);
    ASSERT_LT(said.prefix.steps, kSteps);
    EXPECT_EQ(said.prefix, (protocol::UnitPrefix{protocol::hash(job_.record), 0, 0,
                                                 said.prefix.steps, chain[said.prefix.steps - 1]}));
    EXPECT_TRUE(protocol::verify_signature(testing::MemoryHandler::network_info().domain(), said,
                                           key_.address())
                    .ok());
    EXPECT_EQ(handler_.calls.back(), "leave") << "before it signs off";
    expect_honest_commitment();
}

/// The exit status that keeps systemd from starting the node again and again.
TEST_F(NodeRestartTest, ADeviceThatErredTooOftenEndsTheNodeForGood) {
    const node::DeviceErrors errors(dir_.path(), "cpu");
    for (unsigned error = 0; error < node::DeviceErrors::kErrorsMax; ++error)
        ASSERT_TRUE(errors.add("op 3 (matmul): a product is wrong", 1'000).ok());
    const Ended ended = run(start_command());
    EXPECT_NE(ended.text.find("cpu gave wrong results 3 times"), std::string::npos) << ended.text;
    SubprocessOptions service = start_command();
    service.argv.emplace_back("--register");
    EXPECT_EQ(run(service).code, ended.code) << "as deploy/systemd starts it";
    const auto unit = read_file(std::filesystem::path(std::getenv("GYM_SOURCE_DIR")) /
                                "deploy/systemd/common.conf.in");
    ASSERT_TRUE(unit.ok());
    EXPECT_NE(std::string(unit->begin(), unit->end())
                  .find("RestartPreventExitStatus=" + std::to_string(ended.code) + "\n"),
              std::string::npos)
        << ended.code;
}

TEST_F(NodeRestartTest, ASessionThatGivesItsUnitBackSignsOff) {
    node::NodeConfig config;
    config.coordinator = "127.0.0.1:" + std::to_string(server_->port());
    config.data_dir = dir_.path();
    config.passphrase_file = dir_.path() / "pass";
    const auto session = node::Session::open(config, player::Role::kDefend, {}, {});
    ASSERT_TRUE(session.ok()) << session.error().message;
    unsigned last_words = 0;
    const auto ended_with = [&](ErrorCode code) {
        return (*session)
            ->run([] { return records::Activity(); }, [&] { return Status(fail(code, "test")); },
                  [&](rpc::Coordinator&) { ++last_words; })
            .error()
            .code;
    };
    EXPECT_EQ(ended_with(ErrorCode::kNotFound), ErrorCode::kNotFound);
    EXPECT_EQ(std::ranges::count(handler_.calls, "leave"), 0) << "it is soon started again";
    EXPECT_EQ(last_words, 0U);
    EXPECT_EQ(ended_with(ErrorCode::kInvalidArgument), ErrorCode::kInvalidArgument);
    EXPECT_EQ(std::ranges::count(handler_.calls, "leave"), 1);
    EXPECT_EQ(last_words, 1U) << "so the prefix of the unit under way is sent";
    EXPECT_EQ(ended_with(ErrorCode::kUnavailable), ErrorCode::kUnavailable);
    EXPECT_EQ(std::ranges::count(handler_.calls, "leave"), 2) << "there is no room for its unit";
}

TEST_F(NodeRestartTest, ADamagedCheckpointMeansToBeginAgain) {
    run_and_end(SIGKILL, std::chrono::milliseconds(0));
    Bytes file = read_file(checkpoint()).value();
    file[file.size() - 1'000] ^= 1;
    ASSERT_TRUE(write_file_atomic(checkpoint(), file).ok());
    expect_honest_commitment();
    EXPECT_EQ(logged("the unit begins again"), 1u) << log();
    EXPECT_EQ(logged("resumed from step"), 0u);
}

TEST_F(NodeRestartTest, ATornCheckpointMeansToBeginAgain) {
    run_and_end(SIGKILL, std::chrono::milliseconds(0));
    std::filesystem::resize_file(checkpoint(), std::filesystem::file_size(checkpoint()) / 2);
    expect_honest_commitment();
    EXPECT_EQ(logged("the unit begins again"), 1u) << log();
}

TEST_F(NodeRestartTest, ASecondNodeOfTheSameFolderOrKeyDoesNotStart) {
    auto node = Subprocess::start(start_command());
    ASSERT_TRUE(node.ok());
    ASSERT_TRUE(eventually([this] { return std::ranges::count(handler_.calls, "next_task") > 0; }));
    for (const char* second : {"gym", "gym-verifier"}) {
        std::vector<std::string> argv{program(second)};
        if (argv[0].ends_with("gym")) argv.insert(argv.end(), {"node", "start"});
        const Ended same_folder = run(command(argv));
        EXPECT_EQ(same_folder.code, 5) << same_folder.text;
        EXPECT_NE(same_folder.text.find("process " + std::to_string(node->pid())),
                  std::string::npos)
            << same_folder.text;
    }
    testing::TemporaryFolder elsewhere;
    SubprocessOptions same_key = command(
        {program("gym"), "node", "start", "--keystore", (dir_.path() / "key.json").string()});
    std::ranges::replace(same_key.argv, dir_.path().string(), elsewhere.path().string());
    const Ended refused = run(same_key);
    EXPECT_EQ(refused.code, 5) << refused.text;
    EXPECT_NE(refused.text.find("another node uses the key"), std::string::npos) << refused.text;
    EXPECT_TRUE(node->running());
}

}  // namespace
}  // namespace gym
