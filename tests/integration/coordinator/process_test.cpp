// gym-coordinator as a process: it serves, gives out work, stops on request.
#include "coordinator_process.hpp"

namespace gym::testing {
namespace {

TEST_F(CoordinatorProcess, ServesGivesOutWorkAndStopsOnRequest) {
    const Digest job = submit_job();
    Subprocess process = start();
    const crypto::PrivateKey worker = crypto::PrivateKey::generate();
    const auto coordinator = dial(worker);
    EXPECT_EQ(coordinator->network()->chain_id, anvil_.chain_id());
    records::NodeProfile profile;
    profile.device = "cpu";
    const auto registered = coordinator->register_node(profile);
    ASSERT_TRUE(registered.ok()) << registered.error().message;
    ASSERT_TRUE(coordinator->heartbeat({}).ok());
    // The program is built, the round recorded and on chain, the unit assigned: all by the process.
    const auto task = coordinator->next_task(std::chrono::seconds(20));
    ASSERT_TRUE(task.ok()) << task.error().message;
    ASSERT_TRUE(task->has_value()) << text_of(folder() / "coordinator.log");
    EXPECT_EQ(std::get<records::TrainTask>(**task).unit.job_id, job);
    ASSERT_TRUE(process.stop(10'000).ok());
    EXPECT_NE(text_of(folder() / "coordinator.log").find("stopping: received SIGTERM"),
              std::string::npos);

    // Another process over the same stores gives the same unit to the same worker.
    std::filesystem::remove(folder() / "port");
    Subprocess again = start();
    const auto after = dial(worker)->next_task(std::chrono::seconds(20));
    ASSERT_TRUE(after.ok() && *after);
    EXPECT_EQ(std::get<records::TrainTask>(**after).unit,
              std::get<records::TrainTask>(**task).unit);
}

TEST_F(CoordinatorProcess, AnUnknownKeyEndsItWithItsName) {
    write("coordinator.yaml", text_of(folder() / "coordinator.yaml") + "colour: red\n", 0644);
    Subprocess process = start();
    EXPECT_EQ(*process.wait(20'000), 2);
    const std::string log = text_of(folder() / "coordinator.log");
    EXPECT_NE(log.find("colour"), std::string::npos) << log;
}

}  // namespace
}  // namespace gym::testing
