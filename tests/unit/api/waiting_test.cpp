// The reasons that a job gives for waiting.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "fake_backend.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

using registry::JobStatus;
using registry::RoundState;

class WaitingTest : public ::testing::Test {
  protected:
    /// A running job of two rounds and two workers, of which `rounds` have begun.
    boost::json::value waits(const std::vector<RoundState>& rounds,
                             const std::function<void(JobView&)>& edit = {}) {
        backend_.edit_job = [&](JobView& view) {
            view.job.status = JobStatus::kRunning;
            view.job.terms.rounds = 2;
            view.job.terms.workers_min = view.job.terms.slots_max = 2;
            view.rounds.clear();
            for (const RoundState state : rounds) {
                registry::Round round;
                round.round = view.rounds.size() + 1;
                round.state = state;
                round.unit_deadline_ms = 60'000;
                round.record.slots.resize(2);
                view.rounds.push_back(round);
                view.job.rounds_done += state >= RoundState::kAggregated ? 1 : 0;
            }
            if (edit) edit(view);
        };
        Request request{"GET", "/v1/jobs/" + testing::digest_of(1).hex(), {}, {}, "r"};
        return boost::json::parse(api_.handle(request).body).at("waiting_for");
    }

    testing::FakeBackend backend_;
    gym::testing::ManualClock clock_{1};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
};

TEST_F(WaitingTest, AJobWaitsForTheLockOfItsOrder) {
    const auto in = [&](registry::OrderState state) {
        return waits({}, [&](JobView& view) {
            view.job.status = JobStatus::kSubmitted;
            registry::StoredOrder order;
            order.terms = records::JobOrder{.budget_wei = Amount::parse_tokens("5").value()};
            order.state = state;
            view.orders = {order};
        });
    };
    EXPECT_EQ(in(registry::OrderState::kWaiting),
              "gym-rewards to check its owner's signature and to lock 5 GYM");
    EXPECT_EQ(in(registry::OrderState::kLocking), "the chain to lock 5 GYM of its owner's deposit");
    EXPECT_EQ(in(registry::OrderState::kLocked),
              "the coordinator to prepare its programs and its first state");
}

TEST_F(WaitingTest, ForWorkersAndForEachStepOfARound) {
    EXPECT_EQ(waits({}), "2 free workers for round 1");
    EXPECT_EQ(waits({RoundState::kRecorded}), "round 1: its record to stand on chain");
    EXPECT_EQ(waits({RoundState::kClosed, RoundState::kOpen}),
              "round 2: the units of 2 workers, until 1970-01-01 00:01:00 UTC at the latest");
    EXPECT_EQ(waits({RoundState::kVerifying}), "round 1: verifiers to re-execute the drawn units");
    EXPECT_EQ(waits({RoundState::kAggregated}), "2 free workers for round 2");
}

TEST_F(WaitingTest, ForWorkersOfOtherJobsForALimitedTime) {
    const auto several = [](JobView& view) {
        view.job.terms.slots_max = 8;
        view.job.terms.lifecycle.unit_ms = 60'000;
        view.job.started_at_ms = 1'000;
    };
    EXPECT_EQ(waits({}, several),
              "2 to 8 free workers for round 1; it waits for those that work for other jobs, until "
              "1970-01-01 00:01:01 UTC at the latest");
    EXPECT_EQ(waits({RoundState::kClosed},
                    [&](JobView& view) {
                        several(view);
                        view.rounds[0].aggregated_at_ms = 9'000;
                    }),
              "2 to 8 free workers for round 2; it waits for those that work for other jobs, until "
              "1970-01-01 00:01:09 UTC at the latest");
}

TEST_F(WaitingTest, ForWorkersThatLendTheMemory) {
    EXPECT_EQ(waits({},
                    [](JobView& view) {
                        view.job.artifacts.emplace().worker_memory.cpu_bytes = std::uint64_t{3}
                                                                               << 30;
                    }),
              "2 free workers with 3.0 GiB of memory for round 1");
    EXPECT_EQ(waits({},
                    [](JobView& view) {
                        view.job.artifacts.emplace().worker_memory = {std::uint64_t{3} << 30,
                                                                      std::uint64_t{5} << 30};
                    }),
              "2 free workers with 3.0 GiB of memory (5.0 GiB of a GPU's) for round 1");
}

TEST_F(WaitingTest, ForWorkersThatDoItsUnitsInTime) {
    const auto fast = [](JobView& view) {
        view.job.artifacts.emplace().flops_per_step = 1'000'000'000;
        view.job.terms.steps = 30;
        view.job.terms.lifecycle.unit_ms = 10'000;
    };
    EXPECT_EQ(waits({}, fast), "2 free workers with 3.00 GFLOP/s for round 1");
    EXPECT_EQ(waits({},
                    [&](JobView& view) {
                        fast(view);
                        view.job.artifacts->worker_memory.cpu_bytes = std::uint64_t{3} << 30;
                    }),
              "2 free workers with 3.0 GiB of memory and 3.00 GFLOP/s for round 1");
}

TEST_F(WaitingTest, ForUnitsThatAreNotFinalWhenAllRoundsAreDone) {
    const std::vector<RoundState> done{RoundState::kClosed, RoundState::kAggregated};
    EXPECT_EQ(waits(done,
                    [](JobView& view) {
                        view.open_units = {2, 2, 600'000};
                    }),
              "settling: 2 units to become final, challenge windows end at "
              "1970-01-01 00:10:00 UTC");
    EXPECT_EQ(waits(done,
                    [](JobView& view) {
                        view.open_units = {3, 2, 600'000};
                    }),
              "settling: 3 units to become final, challenge windows end at "
              "1970-01-01 00:10:00 UTC; 1 unit still being checked");
    EXPECT_EQ(waits(done,
                    [](JobView& view) {
                        view.open_units = {1, 0, {}};
                    }),
              "settling: 1 unit to become final; 1 unit still being checked");
    EXPECT_EQ(waits(done), "settling: the coordinator to close the last round");
}

TEST_F(WaitingTest, AnEndedJobForWhatIsLeftOfItsBudget) {
    const auto ended = [&](std::uint64_t left, std::uint64_t open, RoundState last) {
        return waits({RoundState::kClosed, last}, [&](JobView& view) {
            view.job.status = JobStatus::kCancelled;
            view.job.ended_at_ms = 1;
            view.cost.left = Amount(left);
            view.open_units = {open, open / 2, 60'000};
        });
    };
    EXPECT_EQ(ended(5, 2, RoundState::kAggregated),
              "the rest of its budget to return, settling: 2 units to become final, challenge "
              "windows end at 1970-01-01 00:01:00 UTC; 1 unit still being checked");
    EXPECT_EQ(ended(5, 0, RoundState::kAggregated),
              "the rest of its budget to return, settling: round 2 to be closed");
    EXPECT_EQ(ended(5, 0, RoundState::kClosed), "the rest of its budget to return, by gym-rewards");
    EXPECT_TRUE(ended(0, 0, RoundState::kClosed).is_null());
}

TEST_F(WaitingTest, ForNothingThatItsStatusDoesNotSay) {
    EXPECT_EQ(waits({}, [](JobView& view) { view.job.status = JobStatus::kSubmitted; }),
              "the coordinator to prepare its programs and its first state");
    const auto paused = [](JobView& view) { view.job.status = JobStatus::kPaused; };
    EXPECT_TRUE(waits({RoundState::kClosed}, paused).is_null());
    EXPECT_EQ(waits({RoundState::kSealed}, paused),
              "round 1: the root of its commitments to stand on chain")
        << "the running round ends";
    EXPECT_TRUE(
        waits({RoundState::kOpen}, [](JobView& view) { view.job.ended_at_ms = 1; }).is_null());
}

TEST_F(WaitingTest, ARequestIsShownUntilTheCoordinatorActs) {
    backend_.edit_job = [](JobView& view) {
        view.job.request = registry::JobRequest::kPause;
        view.job.request_reason = "budget: none left";
    };
    Request request{"GET", "/v1/jobs/" + testing::digest_of(1).hex(), {}, {}, "r"};
    const auto job = boost::json::parse(api_.handle(request).body);
    EXPECT_EQ(job.at("request"), "pause");
    EXPECT_EQ(job.at("request_reason"), "budget: none left");
    EXPECT_TRUE(job.at("status_reason").is_null());
}

}  // namespace
}  // namespace gym::api
