// gym-coordinator as a process: it serves, gives out work, stops on request.
#include <algorithm>
#include <csignal>
#include <map>

#include "coordinator_process.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/registry/size_limits.hpp"

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

/// A job that gym-api, or whoever holds its role, stored with deadlines that end after the window
/// of the contract, so that an accomplice's silence would save its workers' stake.
class LongChecks : public CoordinatorProcess {
  protected:
    void change(registry::JobTerms& terms) const override { terms.lifecycle.draws_max = draws_; }
    registry::Job job(const Digest& id) {
        return database_.owner()
            .transact([&](db::Transaction& tx) { return registry::get_job(tx, id); })
            .value();
    }
    std::uint32_t draws_ = 200;  // x 660 s, and the window is a day
};

TEST_F(LongChecks, AJobWhoseDrawsOutlastTheWindowIsNotStartedWhoeverStoredIt) {
    const Digest id = submit_job();
    Subprocess process = start();
    ASSERT_TRUE(eventually([&] { return job(id).ended_at_ms.has_value(); }))
        << text_of(folder() / "coordinator.log");
    EXPECT_EQ(job(id).status, registry::JobStatus::kFailed);
    EXPECT_FALSE(job(id).artifacts) << "no worker was given anything";
    const std::string why = job(id).status_reason;
    EXPECT_NE(why.find("sampling.draws_max 200 x (deadlines.report_ms 600 s + deadlines.reveal_ms "
                       "60 s) + 600 s"),
              std::string::npos)
        << why;
    // 7200 blocks of 12 s, less the announcement's and the beacon's, as the chain has them.
    const auto published = database_.owner().transact(
        [](db::Transaction& tx) { return registry::published_dispute_window(tx); });
    ASSERT_TRUE(published.ok() && *published);
    const game::DisputeParams terms;
    EXPECT_EQ(**published,
              static_cast<std::int64_t>(terms.window_blocks - terms.announce_blocks - 2) * 12'000);
    ASSERT_TRUE(process.stop(10'000).ok());
}

TEST_F(LongChecks, OneThatFitsIsStarted) {
    draws_ = 100;
    const Digest id = submit_job();
    Subprocess process = start();
    EXPECT_TRUE(eventually([&] { return job(id).status == registry::JobStatus::kRunning; }))
        << text_of(folder() / "coordinator.log");
    ASSERT_TRUE(process.stop(10'000).ok());
}

TEST_F(CoordinatorProcess, AnUnknownKeyEndsItWithItsName) {
    write("coordinator.yaml", text_of(folder() / "coordinator.yaml") + "colour: red\n", 0644);
    Subprocess process = start();
    EXPECT_EQ(*process.wait(20'000), 2);
    const std::string log = text_of(folder() / "coordinator.log");
    EXPECT_NE(log.find("colour"), std::string::npos) << log;
}

TEST_F(CoordinatorProcess, RetentionThatCannotBeIsRefusedWithItsKey) {
    const std::string file = text_of(folder() / "coordinator.yaml");
    for (const auto& [retention, key] :
         std::map<std::string, std::string>{{"{keep_rounds: 1}", "keep_rounds"},
                                            {"{base_every: -1}", "base_every"},
                                            {"{grace_ms: 0}", "grace_ms"},
                                            {"{every_ms: soon}", "every_ms"},
                                            {"{keep: 3}", "keep"}}) {
        write("coordinator.yaml", file + "retention: " + retention + "\n", 0644);
        Subprocess process = start();
        EXPECT_EQ(*process.wait(20'000), 2) << retention;
        const std::string log = text_of(folder() / "coordinator.log");
        EXPECT_NE(log.find("(retention)"), std::string::npos) << log;
        EXPECT_NE(log.find("'" + key + "'"), std::string::npos) << log;
    }
}

TEST_F(CoordinatorProcess, KilledAgainAndAgainItErasesWhatNothingNamesAndNothingElse) {
    const Digest job = submit_job();
    write("coordinator.yaml",
          text_of(folder() / "coordinator.yaml") +
              "retention: {grace_ms: 1000, every_ms: 100}\nlog_level: debug\n",
          0644);
    auto store = vault::SealedStore::open(folder() / "blobs", std::filesystem::path()).value();
    constexpr std::size_t kLost = 400;
    std::vector<Digest> lost;
    for (std::size_t i = 0; i < kLost; ++i)
        lost.push_back(store.put(Bytes(1'000 + i, std::uint8_t{1})).value());
    const auto left = [&] {
        return std::ranges::count_if(lost, [&](const Digest& blob) { return *store.has(blob); });
    };
    constexpr int kKills = 12;
    for (int kills = 0; left() > 0 && kills < kKills; ++kills) {
        std::filesystem::remove(folder() / "port");
        Subprocess process = start();
        const auto before = left();
        (void)eventually([&] { return left() < before; });
        process.signal(SIGKILL);
        (void)process.wait(10'000);
    }
    std::filesystem::remove(folder() / "port");
    Subprocess process = start();
    EXPECT_TRUE(eventually([&] { return left() == 0; }))
        << left() << " of " << kLost << " are left\n"
        << text_of(folder() / "coordinator.log");

    const crypto::PrivateKey worker = crypto::PrivateKey::generate();
    const auto coordinator = dial(worker);
    records::NodeProfile profile;
    profile.device = "cpu";
    ASSERT_TRUE(coordinator->register_node(profile).ok());
    ASSERT_TRUE(coordinator->heartbeat({}).ok());
    const auto task = coordinator->next_task(std::chrono::seconds(20));
    ASSERT_TRUE(task.ok() && *task) << text_of(folder() / "coordinator.log");
    std::this_thread::sleep_for(std::chrono::milliseconds(2'500));  // two grace times
    const records::UnitInputs& inputs = std::get<records::TrainTask>(**task).inputs;
    for (const Digest& blob : {inputs.program_blob, inputs.base_state_blob, *inputs.dataset_blob})
        EXPECT_TRUE(store.has(blob).value()) << blob.hex() << " of job " << job.hex();
}

}  // namespace
}  // namespace gym::testing
