// The programs of a node as processes over loopback: register, work, cheat, verify, stop.

#include <algorithm>
#include <csignal>

#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "node_process.hpp"

namespace gym {
namespace {

using testing::program;

class NodeProcessTest : public testing::NodeProcess {
  protected:
    const crypto::PrivateKey verifier_key_ = testing::test_key(7);

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
        // Nothing comes from a node that has left. The server itself asks for those whose calls
        // wait, until it sees that they are gone.
        EXPECT_TRUE(
            eventually([this] { return std::ranges::count(handler_.calls, "leave") == 1; }));
        const std::scoped_lock lock(handler_.mutex);
        const auto left = std::ranges::find(handler_.calls, "leave");
        EXPECT_TRUE(std::all_of(left, handler_.calls.end(), [](const std::string& call) {
            return call == "leave" || call == "next_task";
        })) << handler_.calls.back();
    }
    std::vector<verifier::VerifierEvent> verify() {
        records::VerifyTask task;
        task.unit = job_.unit(0);
        task.record = protocol::unit_record(job_.record, 0);
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
    const auto& differs = events.back();
    ASSERT_EQ(differs.name, "differs");
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
    records::VerifyTask task;
    task.unit = job_.unit(0);
    task.record = protocol::unit_record(job_.record, 0);
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
