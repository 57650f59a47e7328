// Requests and payments of a job's owner while the coordinator is in the middle of a tick.
#include <gtest/gtest.h>

#include "concurrent_write.hpp"
#include "fake_world.hpp"
#include "owner_orders.hpp"

namespace gym::testing {
namespace {

using records::NodeRole;
using registry::JobRequest;
using registry::JobStatus;

class CoordinatorRequests : public ::testing::Test {
  protected:
    template <class F>
    void write(F&& body) {
        const Status written = world.owner().transact(body);
        ASSERT_TRUE(written.ok()) << written.error().message;
    }
    /// `body` commits after the tick has read the job and before it writes to it.
    template <class F>
    void write_during_tick(F&& body) {
        write_while_waited_for(world.owner(), body, [&] { world.tick(); });
    }

    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
};

registry::JobTerms waiting_terms() {
    registry::JobTerms terms = World::terms();
    terms.workers_min = 2;  // so that no round begins
    return terms;
}

TEST_F(CoordinatorRequests, TheEndAskedForWhileAPauseIsCarriedOutIsKept) {
    const Digest job = world.submit_job(waiting_terms());
    world.settle();
    write([&](db::Transaction& tx) { return registry::request_job(tx, job, JobRequest::kPause); });
    write_during_tick(
        [&](db::Transaction& tx) { return registry::request_job(tx, job, JobRequest::kCancel); });
    world.settle();
    EXPECT_EQ(world.job(job).status, JobStatus::kCancelled);
    EXPECT_EQ(world.job(job).status_reason, "cancelled by its owner");
    EXPECT_EQ(world.job(job).request, std::nullopt);
}

TEST_F(CoordinatorRequests, MoneyThatComesWhileAPauseIsCarriedOutTakesItBack) {
    const Digest job = world.submit_job(waiting_terms());
    world.settle();
    write([&](db::Transaction& tx) {
        return registry::request_pause_for_owner(tx, job, "budget: used up");
    });
    write_during_tick(
        [&](db::Transaction& tx) { return gym::testing::add_budget(tx, job, Amount(500'000)); });
    world.settle();
    EXPECT_EQ(world.job(job).status, JobStatus::kRunning);
}

TEST_F(CoordinatorRequests, MoneyThatComesWhileARoundIsPlannedLeavesTheJobRunning) {
    registry::JobTerms terms = World::terms();
    terms.price_wei_per_pflop = Amount(1'000'000'000'000);  // a unit of 20 MFLOP: 20,000 wei
    const Digest job = world.submit_job(terms, 100'000);
    world.tick();  // prepares the job
    ASSERT_EQ(world.job(job).status, JobStatus::kRunning);
    write_during_tick(
        [&](db::Transaction& tx) { return gym::testing::add_budget(tx, job, Amount(500'000)); });
    world.settle();
    EXPECT_EQ(world.job(job).status, JobStatus::kRunning);
    EXPECT_EQ(world.rounds(job).size(), 1U);
}

TEST_F(CoordinatorRequests, TheEndAskedForWhileARoundIsPlannedOutlivesThePause) {
    registry::JobTerms terms = World::terms();
    terms.price_wei_per_pflop = Amount(1'000'000'000'000);
    const Digest job = world.submit_job(terms, 100'000);
    world.tick();
    write_during_tick(
        [&](db::Transaction& tx) { return registry::request_job(tx, job, JobRequest::kCancel); });
    EXPECT_EQ(world.job(job).status, JobStatus::kPaused);
    EXPECT_EQ(world.job(job).request, JobRequest::kCancel);
    world.settle();
    EXPECT_EQ(world.job(job).status, JobStatus::kCancelled);
}

TEST_F(CoordinatorRequests, AStatusClearsTheRequestItAnswersAndAnEndClearsEveryOne) {
    const Digest job = world.submit_job(waiting_terms());
    world.settle();
    const auto pause = [&](db::Transaction& tx) {
        return registry::request_pause_for_owner(tx, job, "budget: used up");
    };
    const auto set = [&](JobStatus status, std::optional<JobRequest> answered) {
        write([&](db::Transaction& tx) {
            return registry::set_job_status(tx, job, status, "", world.clock.now_ms(), answered);
        });
    };
    write(pause);
    set(JobStatus::kRunning, JobRequest::kResume);
    EXPECT_EQ(world.job(job).request, JobRequest::kPause);
    EXPECT_EQ(world.job(job).request_reason, "budget: used up");
    set(JobStatus::kRunning, JobRequest::kPause);
    EXPECT_EQ(world.job(job).request, std::nullopt);
    EXPECT_EQ(world.job(job).request_reason, "");
    write(pause);
    set(JobStatus::kCancelled, std::nullopt);
    EXPECT_EQ(world.job(job).request, std::nullopt);
}

TEST_F(CoordinatorRequests, ACoordinatorThatKnowsNoReasonsCanClearARequest) {
    const Digest job = world.submit_job(waiting_terms());
    world.settle();
    write([&](db::Transaction& tx) {
        return registry::request_pause_for_owner(tx, job, "budget: used up");
    });
    const auto old = world.database().transact([&](db::Transaction& tx) {
        return tx.exec("UPDATE registry.job SET status = 'paused', request = NULL WHERE id = $1",
                       {job});
    });
    ASSERT_TRUE(old.ok()) << old.error().message;
    EXPECT_EQ(world.job(job).request, std::nullopt);
    EXPECT_EQ(world.job(job).request_reason, "");
}

}  // namespace
}  // namespace gym::testing
