// Verifiers that report without running anything: what the coordinator's audits find, who is paid.
#include <gtest/gtest.h>

#include "fake_world.hpp"
#include "gym/registry/feed.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

class ReportAudits : public ::testing::Test {
  protected:
    ReportAudits()
        : worker(world.add_node(NodeRole::kWorker)),
          other(world.add_node(NodeRole::kWorker)),
          verifier(world.add_node(NodeRole::kVerifier)) {
        audit(kPpm);
        registry::JobTerms terms = World::terms();
        terms.sampling.aggregate_ppm = 0;
        world.submit_job(terms);
        world.settle();
    }
    void audit(std::uint32_t ppm) {
        world.options.audit_ppm = ppm;
        world.restart();
    }
    void pass_deadline() { world.pass_deadline({&worker, &other, &verifier}); }
    std::vector<registry::AcceptedReport> paid() {
        return world.database()
            .transact(
                [](db::Transaction& tx) { return registry::read_accepted_reports(tx, 0, 1000); })
            .value();
    }
    bool excluded(const FakeNode& node) { return world.node(node.address()).excluded; }

    World world;
    FakeNode worker, other, verifier;
};

TEST_F(ReportAudits, who_copies_a_commitment_is_excluded_and_not_paid) {
    const Digest unit = world.commit(worker, world.work(worker))->unit;
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    ASSERT_TRUE(world.copy(verifier) && world.copy(verifier));
    ASSERT_EQ(world.unit(unit).status.state, UnitState::kVerified) << "nothing shows yet";
    world.settle();
    EXPECT_TRUE(excluded(verifier));
    pass_deadline();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kFinal) << "the worker did its work";
    EXPECT_FALSE(excluded(worker));
    EXPECT_TRUE(paid().empty());
}

TEST_F(ReportAudits, a_wrong_unit_that_a_copier_passed_is_rejected) {
    const Digest good = world.commit(worker, world.work(worker))->unit;
    const Digest bad = world.commit(other, world.cheat(other, 7))->unit;
    world.settle();
    ASSERT_TRUE(world.copy(verifier) && world.copy(verifier));
    ASSERT_EQ(world.unit(bad).status.state, UnitState::kVerified) << "in league with the worker";
    world.settle();
    EXPECT_EQ(world.unit(bad).status.state, UnitState::kRejected);
    EXPECT_EQ(world.unit(bad).reason_code, "result_differs");
    EXPECT_TRUE(excluded(other));
    EXPECT_TRUE(excluded(verifier));
    pass_deadline();
    EXPECT_EQ(world.unit(good).status.state, UnitState::kFinal);
    EXPECT_TRUE(paid().empty());
}

TEST_F(ReportAudits, who_ran_the_unit_passes_and_is_paid_when_it_is_final) {
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    EXPECT_FALSE(excluded(verifier));
    EXPECT_TRUE(paid().empty()) << "an audit may still refute it";
    pass_deadline();
    EXPECT_EQ(paid().size(), 2U);
}

TEST_F(ReportAudits, a_unit_is_not_final_before_its_report_is_audited) {
    const Digest unit = world.commit(worker, world.work(worker))->unit;
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    world.compute.runs_fail = true;
    ASSERT_TRUE(world.copy(verifier) && world.copy(verifier));
    pass_deadline();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kVerified);
    world.compute.runs_fail = false;
    world.settle();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kFinal);
    EXPECT_TRUE(excluded(verifier));
    EXPECT_TRUE(paid().empty());
}

TEST_F(ReportAudits, an_audit_without_inputs_blames_nobody) {
    const World::Work work = world.work(worker);
    ASSERT_TRUE(world.commit(worker, work).ok());
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    world.compute.runs_fail = true;
    while (world.verify(verifier)) {
    }
    world.settle();
    world.compute.runs_fail = false;
    ASSERT_TRUE(world.blobs.remove(work.assignment.inputs.base_state_blob).ok());
    pass_deadline();
    EXPECT_EQ(world.unit(work.assignment.unit_id()).status.state, UnitState::kFinal);
    EXPECT_FALSE(excluded(verifier));
    EXPECT_EQ(paid().size(), 2U);
}

TEST_F(ReportAudits, one_failed_audit_brings_the_others_of_that_verifier) {
    audit(0);
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    const Digest bad = world.commit(other, world.cheat(other, 7))->unit;
    world.settle();
    const auto first = world.copy(verifier);
    ASSERT_TRUE(first && world.copy(verifier));
    world.settle();
    ASSERT_FALSE(excluded(verifier)) << "no audit, no finding";
    const auto drawn = world.owner().transact([&](db::Transaction& tx) {
        return tx.exec("UPDATE registry.report SET audit = 'due' WHERE unit_id = $1", {*first});
    });
    ASSERT_TRUE(drawn.ok());
    world.settle();
    EXPECT_TRUE(excluded(verifier));
    EXPECT_EQ(world.unit(bad).status.state, UnitState::kRejected);
    pass_deadline();
    EXPECT_TRUE(paid().empty());
}

TEST_F(ReportAudits, a_copied_report_on_an_aggregate_is_refused) {
    world.clock.advance_ms(1);
    world.submit_job(World::terms());  // its aggregates are drawn
    world.settle();
    for (const FakeNode* node : {&worker, &other})
        ASSERT_TRUE(world.commit(*node, world.work(*node)).ok());
    world.settle();
    for (const FakeNode* node : {&worker, &other})
        ASSERT_TRUE(world.commit(*node, world.work(*node)).ok());
    world.settle();
    bool seen = false;
    for (int i = 0; i < 20; ++i) {
        const auto task = world.core().next_task(verifier.address());
        ASSERT_TRUE(task.ok()) << task.error().message;
        if (!*task) break;
        if ((*task)->kind() == protocol::UnitKind::kAggregate) {
            seen = true;
            EXPECT_FALSE(world.copy(verifier));
            EXPECT_EQ(world.unit((*task)->unit_id()).status.state, UnitState::kReported);
            break;
        }
        ASSERT_TRUE(world.verify(verifier));
        world.settle();
    }
    EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace gym::testing
