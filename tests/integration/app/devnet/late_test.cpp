// A worker that loses time in the middle of a unit, in a job that takes late ones: its unit goes
// into the model one round later and is paid like every other.
#include "devnet_fixture.hpp"

namespace gym::devnet {
namespace {

/// After the first of two workers the other has half a second.
constexpr const char* kJob = R"(name: late
dataset: DATASET
rounds: 3
slots: 2
workers_min: 1
steps_per_round: 40
checkpoint_every: 20
evaluate_windows: 8
price_per_pflop: "10"
budget: "100"
max_data_price: "0.1"
elastic:
  quorum_ppm: 500000
  grace_ms: 500
  accept_late: true
)";

class LateWorker : public testing::DevnetTest {
  protected:
    [[nodiscard]] std::string job_text() const override {
        return std::string(kJob) + testing::kTinyModel;
    }
    std::int64_t count(const std::string& units) {
        const auto row = database()->transact(
            [&](db::Transaction& tx) {
                return tx.exec_one("SELECT count(*) AS n FROM registry.unit WHERE " + units);
            },
            {.read_only = true});
        return row.ok() ? row->get<std::int64_t>("n") : -1;
    }
    void signal(const std::string& name, int number) {
        const auto entry = ProcessTable(layout_.run()).find(name);
        ASSERT_TRUE(entry.ok() && entry->running) << name;
        ASSERT_EQ(::kill(entry->pid, number), 0);
    }
};

TEST_F(LateWorker, ItsUnitGoesInOneRoundLaterAndIsPaid) {
    demo_ = std::async(std::launch::async,
                       [&] { return run_demo(options_, [](const std::string&) {}); });
    ASSERT_TRUE(wait_for(2, "open"));
    signal("worker-1", SIGSTOP);
    const std::string late = "kind = 'train' AND round = 2 AND late";
    while (count(late) == 0 && demo_.wait_for(testing::kPoll) != std::future_status::ready) {
    }
    signal("worker-1", SIGCONT);
    const auto report = demo_.get();
    ASSERT_TRUE(report.ok()) << report.error().message;
    options_.expected = {.final_loss_max = 5.0, .with_cheater = false};
    const auto failed = failed_checks(*report, options_.expected);
    EXPECT_TRUE(failed.empty()) << to_json(*report, failed);
    EXPECT_EQ(count(late), 1);
    EXPECT_EQ(count(late + " AND state = 'final' AND included_late"), 1);
    EXPECT_EQ(count("kind = 'train' AND late"), 1) << "nobody else was late";
    EXPECT_EQ(count("kind = 'train' AND state <> 'final'"), 0);
}

}  // namespace
}  // namespace gym::devnet
