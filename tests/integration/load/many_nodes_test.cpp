// 200 nodes with a connection each against coordinator processes over one PostgreSQL: everybody is
// answered, waiting costs no query, and one coordinator may die in the middle of a round.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "gym/common/open_files.hpp"
#include "load_network.hpp"
#include "load_nodes.hpp"

namespace gym::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kNodes = 200;

LoadOptions options() {
    LoadOptions out;
    out.heartbeat_every_ms = 1'000;
    out.statements = true;
    out.settings = "tick_interval_ms: 50\n";
    return out;
}

class ManyNodes : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_GT(raise_open_files(4'096), 1'024U); }

    void expect_none_refused(LoadNodes& nodes, LoadCall call) {
        const LatencySummary summary = nodes.log().take(call);
        EXPECT_GT(summary.count, 0U);
        for (const auto& [message, count] : summary.failures)
            ADD_FAILURE() << kLoadCallNames[static_cast<std::size_t>(call)] << ": " << count
                          << " x " << message;
    }
    /// A seal takes ticks and blocks.
    bool is_sealed(LoadNetwork& network, const Digest& job) {
        for (int i = 0; i < 300; ++i) {
            const auto round = network.round_one(job);
            if (round && round->sealed_at_ms) return round->commitment_count == kNodes;
            std::this_thread::sleep_for(milliseconds(50));
        }
        return false;
    }
    static bool each_unit_once(const std::vector<v1::UnitKey>& units) {
        std::set<std::pair<std::string, std::uint32_t>> keys;
        for (const v1::UnitKey& unit : units)
            if (!keys.emplace(unit.job_id(), unit.slot()).second) return false;
        return keys.size() == kNodes;
    }
};

TEST_F(ManyNodes, AreAllServedByTwoCoordinatorsOfWhichOneDies) {
    LoadNetwork network(options());
    network.start_coordinator();
    LoadNodes nodes({kNodes, {network.target(0), network.target(1)}, 1'000, 20'000, 2'000});
    nodes.register_all(16);
    expect_none_refused(nodes, LoadCall::kRegister);
    nodes.start();
    std::this_thread::sleep_for(milliseconds(2'500));  // all polls wait
    network.forget_statements();
    std::this_thread::sleep_for(seconds(2));
    EXPECT_LT(network.statement_calls("%registry.unit %"), kNodes / 5)
        << "of 200 waiting nodes: they are asked about when they come, not meanwhile\n"
        << network.costly_statements(10);
    expect_none_refused(nodes, LoadCall::kHeartbeat);

    // One instance assigns; half of the nodes wait at the other.
    const Digest job = network.submit_jobs(1, kNodes).front();
    ASSERT_TRUE(nodes.wait_for_tasks(kNodes, seconds(30))) << network.log(0) << network.log(1);
    const auto round = network.round_one(job);
    EXPECT_LT(nodes.last_task_ms() - *round->opened_at_ms, 8'000)
        << "woken by a notification: no wait is over before";
    EXPECT_TRUE(each_unit_once(nodes.given_units()));

    // Half of the units are committed when one instance dies.
    std::jthread killer([&] {
        while (nodes.tasks() > kNodes / 2)
            std::this_thread::sleep_for(milliseconds(2));
        network.kill_coordinator(0);
    });
    nodes.commit_all(8);
    killer.join();
    EXPECT_EQ(nodes.tasks(), 0U) << "the nodes of the dead one went on at the other";
    ASSERT_TRUE(is_sealed(network, job)) << network.log(1);
    EXPECT_EQ(nodes.read_receipts(8), kNodes);
    nodes.stop();
    for (const char* view :
         {"registry_feed_gaps", "registry_state_without_event", "registry_commitment_mismatch"}) {
        const auto rows = network.owner().transact([&](db::Transaction& tx) {
            return tx.exec(std::string("SELECT * FROM audit.") + view);
        });
        ASSERT_TRUE(rows.ok());
        EXPECT_EQ(rows->size(), 0U) << view;
    }
}

}  // namespace
}  // namespace gym::testing
