// A whole network whose parts die: PostgreSQL as after a power cut, the chain's node, every service
// and a node by SIGKILL, each in the middle of a job. The job ends as if nothing had happened:
// every unit is paid once, nothing is lost, the chain holds what the ledger says.
#include "devnet_fixture.hpp"
#include "gym/client/api_client.hpp"

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

constexpr std::uint32_t kLostBlocks = 40;

class Restarts : public testing::DevnetTest {
  protected:
    [[nodiscard]] std::string job_text() const override {
        return std::string(kJob) + testing::kTinyModel;
    }
    /// The last block whose events gym-rewards has booked for good.
    [[nodiscard]] std::int64_t final_block() const {
        const auto row = database()->transact([](db::Transaction& tx) {
            return tx.exec_one(
                "SELECT coalesce(max(finalized_number), 0)::bigint AS n FROM chain.follower");
        });
        return row.ok() ? row->get<std::int64_t>("n") : 0;
    }
    static bool eventually(const std::function<bool()>& done) {
        for (int tries = 0; tries < 2'400; ++tries) {  // two minutes
            if (done()) return true;
            std::this_thread::sleep_for(testing::kPoll);
        }
        return false;
    }
};

/// A chain that comes back without blocks that were final contradicts the books: gym-rewards stops,
/// and /healthz and `up` name it.
TEST_F(Restarts, AChainThatLostFinalBlocksIsToldWithTheServiceThatStopped) {
    const client::ApiClient api({.url = layout_.api_url(), .key = {}});
    ASSERT_TRUE(api.health().ok()) << api.health().error().message;
    ASSERT_TRUE(ProcessTable(layout_.run()).stop("anvil").ok());
    auto chain = start_chain_again();
    ASSERT_TRUE(chain.ok()) << chain.error().message;
    const std::int64_t kept = final_block();
    ASSERT_TRUE(chain->mine(kLostBlocks).ok());
    ASSERT_TRUE(eventually([&] { return final_block() >= kept + kLostBlocks / 2; }));

    kill("anvil");
    chain = start_chain_again();
    ASSERT_TRUE(chain.ok()) << chain.error().message;
    const auto names_rewards = [&] {
        const auto health = api.health();
        return !health.ok() && health.error().code == ErrorCode::kUnavailable &&
               health.error().message.find("gym-rewards") != std::string::npos;
    };
    EXPECT_TRUE(eventually(names_rewards)) << "the chain ends before a block that was final";
    // Empty blocks of the same second would be the lost ones again.
    ASSERT_TRUE(chain->rpc("evm_increaseTime", "[60]").ok());
    ASSERT_TRUE(chain->mine(2 * kLostBlocks).ok());
    EXPECT_TRUE(eventually([&] { return !ProcessTable(layout_.run()).find("rewards")->running; }))
        << "another block is where a final one was";
    EXPECT_TRUE(names_rewards());

    const auto up = network_up(options_.network, [](const std::string&) {});
    ASSERT_FALSE(up.ok());
    EXPECT_NE(up.error().message.find("rewards"), std::string::npos) << up.error().message;
    EXPECT_TRUE(eventually(names_rewards));
}

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
