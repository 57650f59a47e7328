// The programs of a node as processes over loopback: register, work, cheat, verify, stop.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/rpc/server.hpp"
#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "tiny_job.hpp"

namespace gym {
namespace {

using std::chrono::milliseconds;

std::string program(const std::string& name) {
    const char* folder = std::getenv("GYM_BINARY_DIR");
    return std::string(folder != nullptr ? folder : ".") + "/bin/" + name;
}

class NodeProcessTest : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    const crypto::PrivateKey verifier_key_ = testing::test_key(7);
    testing::MemoryHandler handler_;
    std::unique_ptr<rpc::Server> server_ =
        rpc::Server::start({.poll_interval_ms = 50}, handler_, clock_).value();
    testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, handler_.blobs);
    testing::TempDir dir_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));

    void SetUp() override {
        ASSERT_TRUE(write_file_atomic(dir_.path() / "pass", as_bytes("secret\n"), 0600).ok());
        ASSERT_TRUE(crypto::save_keystore(dir_.path() / "key.json", key_,
                                          crypto::SecretBytes(std::string_view("secret")),
                                          crypto::ScryptCost::light())
                        .ok());
        rpc::UnitView view;
        view.unit = job_.unit(0);
        view.worker = key_.address();
        handler_.units[unit_] = view;
        handler_.tasks[key_.address()] = job_.task(0);
    }

    SubprocessOptions command(std::vector<std::string> argv) const {
        for (const std::string& flag :
             {std::string("--coordinator"), "127.0.0.1:" + std::to_string(server_->port()),
              std::string("--data-dir"), dir_.path().string(), std::string("--passphrase-file"),
              (dir_.path() / "pass").string(), std::string("--threads"), std::string("1")})
            argv.push_back(flag);
        SubprocessOptions options;
        options.argv = std::move(argv);
        options.log_file = dir_.path() / "log";
        return options;
    }
    Status registration() const {
        auto options = command({program("gym"), "node", "register", "--memory", "64MB"});
        options.log_file.clear();
        const auto output = run_command(options, 60'000);
        return output.ok() ? Status() : Status(output.error());
    }
    bool eventually(const std::function<bool()>& condition) {
        for (int i = 0; i < 600; ++i) {
            {
                const std::scoped_lock lock(handler_.mutex);
                if (condition()) return true;
            }
            std::this_thread::sleep_for(milliseconds(50));
        }
        return false;
    }
    /// Runs one program until the unit is committed, then stops it as a service manager would.
    void work_until_committed(std::vector<std::string> argv) {
        ASSERT_TRUE(registration().ok());
        auto node = Subprocess::start(command(std::move(argv)));
        ASSERT_TRUE(node.ok()) << node.error().message;
        EXPECT_TRUE(eventually([this] { return handler_.commitments.contains(unit_); }));
        node->signal(SIGTERM);
        const auto code = node->wait(10'000);
        ASSERT_TRUE(code.ok());
        EXPECT_EQ(*code, 0);
        EXPECT_TRUE(eventually([this] { return handler_.calls.back() == "leave"; }));
    }
    std::vector<verifier::VerifierEvent> verify() {
        rpc::VerifyTask task;
        task.unit = job_.unit(0);
        task.record = job_.record;
        task.inputs = job_.inputs;
        task.commitment = handler_.commitments.at(unit_).commitment;
        task.committer = key_.address();
        handler_.tasks[verifier_key_.address()] = task;
        testing::LocalCoordinator coordinator(handler_, verifier_key_.address());
        std::vector<verifier::VerifierEvent> events;
        verifier::VerifierOptions options;
        options.data_dir = dir_.path() / "verifier";
        options.on_event = [&](const verifier::VerifierEvent& event) { events.push_back(event); };
        const auto verifier = verifier::Verifier::open(coordinator, verifier_key_, options).value();
        EXPECT_TRUE(verifier->run_once({}).ok());
        return events;
    }
};

TEST_F(NodeProcessTest, TheShippedWorkerRegistersWorksAndStopsCleanly) {
    work_until_committed({program("gym"), "node", "start"});
    EXPECT_EQ(handler_.commitments.at(unit_).commitment.commitment,
              job_.commitment(0, job_.run(0)));
    EXPECT_EQ(verify().back().name, "verified");
}

TEST_F(NodeProcessTest, OneFlippedBitOfOneStepIsLocatedToThatStep) {
    work_until_committed({program("gym-faulty-worker"), "--fault-step", "2", "--fault-op", "20",
                          "--fault-bit", "27"});
    const auto events = verify();
    ASSERT_EQ(events.back().name, "traced");
    const auto& differs = events[events.size() - 2];
    ASSERT_TRUE(differs.where.has_value());
    EXPECT_EQ(differs.where->step, 2u);
}

TEST_F(NodeProcessTest, AKilledWorkerCommitsOnceWhenItComesBack) {
    ASSERT_TRUE(registration().ok());
    {
        const std::scoped_lock lock(handler_.mutex);
        handler_.failures["submit_commitment"] = fail(ErrorCode::kUnavailable, "not now");
    }
    auto node = Subprocess::start(command({program("gym"), "node", "start"}));
    ASSERT_TRUE(node.ok());
    ASSERT_TRUE(
        eventually([this] { return std::ranges::count(handler_.calls, "submit_commitment") > 0; }));
    node->signal(SIGKILL);
    ASSERT_TRUE(node->wait(10'000).ok());
    {
        const std::scoped_lock lock(handler_.mutex);
        handler_.failures.clear();
    }
    auto again = Subprocess::start(command({program("gym"), "node", "start"}));
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(eventually([this] { return handler_.commitments.contains(unit_); }));
    const std::scoped_lock lock(handler_.mutex);
    EXPECT_EQ(handler_.commitments.size(), 1u);
}

TEST_F(NodeProcessTest, TheVerifierProgramRegistersVerifiesAndStops) {
    work_until_committed({program("gym"), "node", "start"});
    rpc::VerifyTask task;
    task.unit = job_.unit(0);
    task.record = job_.record;
    task.inputs = job_.inputs;
    {
        const std::scoped_lock lock(handler_.mutex);
        task.commitment = handler_.commitments.at(unit_).commitment;
        task.committer = key_.address();
        handler_.tasks[key_.address()] = task;
    }
    auto node = Subprocess::start(command({program("gym-verifier")}));
    ASSERT_TRUE(node.ok());
    EXPECT_TRUE(eventually([this] { return handler_.reveals.contains(unit_); }));
    node->signal(SIGTERM);
    EXPECT_EQ(node->wait(10'000).value_or(-1), 0);
}

TEST_F(NodeProcessTest, StatusAndDoctorSayWhatIsWrongInOneSentence) {
    auto status = command({program("gym"), "--json", "node", "status"});
    status.log_file.clear();
    const auto refused = run_command(status, 60'000);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("gym node register"), std::string::npos)
        << refused.error().message;
    ASSERT_TRUE(registration().ok());
    const auto output = run_command(status, 60'000);
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_NE(output->find("\"idle_because\":\"no job is running\""), std::string::npos) << *output;
    auto doctor = command({program("gym"), "node", "doctor"});
    doctor.log_file.clear();
    const auto findings = run_command(doctor, 60'000);
    // A small machine may miss a check; what counts is that every check down to the last was made.
    const std::string text = findings.ok() ? *findings : findings.error().message;
    EXPECT_NE(text.find("ok   registration"), std::string::npos) << text;
}

}  // namespace
}  // namespace gym
