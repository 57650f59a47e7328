// A whole network whose parts die: PostgreSQL as after a power cut, the chain's node, every service
// and a node by SIGKILL, each in the middle of a job. The job ends as if nothing had happened:
// every unit is paid once, nothing is lost, the chain holds what the ledger says.
#include "devnet_fixture.hpp"

namespace gym::devnet {
namespace {

constexpr std::uint32_t kRounds = 5;

/// A model that learns in seconds; deadlines that leave room for a restart.
constexpr const char* kJob = R"(name: restarts
dataset: DATASET
rounds: 5
slots: 2
workers_min: 2
steps_per_round: 12
checkpoint_every: 4
evaluate_windows: 8
price_per_pflop: "10"
budget: "100"
max_data_price: "0.1"
)";

class Restarts : public testing::DevnetTest {
    [[nodiscard]] std::string job_text() const override {
        return std::string(kJob) + testing::kTinyModel;
    }
};

TEST_F(Restarts, AJobSurvivesTheDeathOfEveryPart) {
    demo_ = std::async(std::launch::async,
                       [&] { return run_demo(options_, [](const std::string&) {}); });
    const auto during = [&](std::uint64_t round, const std::string& state,
                            const std::function<void()>& fault) {
        SCOPED_TRACE("round " + std::to_string(round) + ", " + state);
        ASSERT_TRUE(wait_for(round, state));
        expect_all_running();
        fault();
    };
    during(1, "open", [&] { restart_database(); });
    during(1, "verifying", [&] { restart_database(); });
    during(2, "open", [&] { restart_worker("worker-1"); });
    during(2, "verifying", [&] { restart_service("coordinator"); });
    during(3, "open", [&] { restart_chain(); });
    during(3, "verifying", [&] { restart_verifier(); });
    during(4, "open", [&] { restart_service("rewards"); });
    during(4, "verifying", [&] { restart_service("api"); });
    during(5, "recorded", [&] { restart_chain(); });
    during(5, "open", [&] { restart_service("coordinator"); });

    const auto report = demo_.get();
    ASSERT_TRUE(report.ok()) << report.error().message;
    options_.expected = {.final_loss_max = 5.0, .with_cheater = false};
    const auto failed = failed_checks(*report, options_.expected);
    EXPECT_TRUE(failed.empty()) << to_json(*report, failed);
    for (const WorkerSummary& worker : report->workers)
        EXPECT_EQ(worker.units_final, kRounds) << worker.name;

    const auto database = this->database();
    const auto audits = database->transact(
        [](db::Transaction& tx) {
            return tx.exec(
                "SELECT viewname::text AS name FROM pg_views WHERE schemaname = 'audit'");
        },
        {.read_only = true});
    ASSERT_TRUE(audits.ok());
    ASSERT_FALSE(audits->empty());
    for (const db::Row& audit : *audits) {
        const auto rows = database->transact(
            [&](db::Transaction& tx) {
                return tx.exec_one("SELECT count(*) AS n FROM audit." +
                                   audit.get<std::string>("name"));
            },
            {.read_only = true});
        ASSERT_TRUE(rows.ok());
        EXPECT_EQ(rows->get<std::int64_t>("n"), 0) << "audit." << audit.get<std::string>("name");
    }
}

}  // namespace
}  // namespace gym::devnet
