// The validation loss of a round is a unit of the coordinator's, signed and verified.
#include <gtest/gtest.h>

#include "fake_world.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/units.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

class Evaluations : public ::testing::Test {
  protected:
    World world_;
    const FakeNode worker_ = world_.add_node(NodeRole::kWorker);
    const FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    const Digest job_ = world_.submit_rounds(1);

    /// The round's units are verified, its aggregate too, and its loss is there.
    void train() {
        world_.settle();
        ASSERT_TRUE(world_.commit(worker_, world_.work(worker_)).ok());
        world_.settle();
        ASSERT_TRUE(world_.verify(verifier_));
        world_.settle();
        ASSERT_TRUE(world_.rounds(job_)[0].validation_loss.has_value());
    }
    [[nodiscard]] Digest id() const {
        return protocol::unit_id({job_, 1, protocol::kEvaluateSlot, 0});
    }
    /// The verifier's next task; the aggregate's is reported on before.
    records::VerifyTask task() {
        for (;;) {
            const auto next = world_.core().next_task(verifier_.address());
            if (!next.ok() || !*next) {
                ADD_FAILURE() << "no evaluation is drawn";
                return {};
            }
            if ((*next)->kind() == protocol::UnitKind::kEvaluate) return **next;
            world_.verify(verifier_);
        }
    }
    /// Of the units that are drawn still, such as the aggregate.
    void verify_others() {
        while (world_.verify(verifier_)) {
        }
        world_.pass_deadline({&worker_, &verifier_});
    }
    UnitState state() { return world_.unit(id()).status.state; }
};

TEST_F(Evaluations, ALossIsSignedAndVerified) {
    train();
    const registry::Unit unit = world_.unit(id());
    EXPECT_EQ(unit.kind, protocol::UnitKind::kEvaluate);
    EXPECT_EQ(unit.worker, world_.key.address());
    EXPECT_EQ(unit.status.state, UnitState::kSampled);
    const records::VerifyTask drawn = task();
    const registry::Round round = world_.rounds(job_)[0];
    const protocol::UnitCommitment& said = drawn.commitment.commitment;
    EXPECT_TRUE(
        protocol::verify_signature(world_.options.domain, drawn.commitment, world_.key.address())
            .ok());
    EXPECT_EQ(said.round_record, round.record_hash);
    EXPECT_EQ(said.final_state_root, round.next_base->root);
    EXPECT_EQ(drawn.inputs.base_state_blob, round.next_base->blob);
    ASSERT_TRUE(drawn.aggregate.has_value());
    EXPECT_EQ(drawn.aggregate->commitment.final_state_root, round.next_base->root);
    ASSERT_TRUE(world_.verify(verifier_));
    EXPECT_EQ(state(), UnitState::kVerified);
    EXPECT_NE(world_.rounds(job_)[0].state, registry::RoundState::kClosed) << "it waits for it";
    verify_others();
    EXPECT_EQ(state(), UnitState::kFinal);
    EXPECT_EQ(world_.rounds(job_)[0].state, registry::RoundState::kClosed);
    EXPECT_EQ(world_.job(job_).status, registry::JobStatus::kCompleted);
}

TEST_F(Evaluations, AWrongLossIsRejected) {
    world_.compute.wrong_losses = true;
    train();
    world_.compute.wrong_losses = false;
    (void)task();
    ASSERT_TRUE(world_.verify(verifier_));
    EXPECT_EQ(state(), UnitState::kDisputed);
    world_.settle();
    EXPECT_EQ(state(), UnitState::kRejected);
    EXPECT_FALSE(world_.node(verifier_.address()).excluded);
    verify_others();
    EXPECT_EQ(world_.job(job_).status, registry::JobStatus::kCompleted)
        << "the loss changes no state: the job does not depend on it";
}

TEST_F(Evaluations, AFalseReportOnALossIsOne) {
    train();
    (void)task();
    ASSERT_TRUE(world_.verify(verifier_, true));
    world_.settle();
    EXPECT_EQ(state(), UnitState::kUpheld);
    EXPECT_TRUE(world_.node(verifier_.address()).excluded);
}

/// A verifier that had the losses for any digest could tell them to the next one that is drawn.
TEST_F(Evaluations, LossesAreNotShownForAReport) {
    train();
    const records::VerifyTask drawn = task();
    const auto shown = world_.core().commit_report(verifier_.address(), drawn.unit_id(), drawn.draw,
                                                   tagged("any", {}));
    ASSERT_TRUE(shown.ok()) << shown.error().message;
    EXPECT_TRUE(shown->empty());
    EXPECT_EQ(state(), UnitState::kReported);
}

/// Its state has no aggregate: it is the one that the round began from.
TEST_F(Evaluations, TheLossOfARoundWithoutDeltasIsThatOfItsBaseState) {
    world_.settle();
    (void)world_.work(worker_);  // never committed
    world_.clock.advance_ms(World::terms().lifecycle.unit_ms + 1);
    world_.beat({&worker_, &verifier_});
    world_.settle();
    const records::VerifyTask drawn = task();
    const registry::Round round = world_.rounds(job_)[0];
    EXPECT_FALSE(drawn.aggregate.has_value());
    EXPECT_EQ(drawn.commitment.commitment.final_state_root, round.record.base_state_root);
    ASSERT_TRUE(world_.verify(verifier_));
    EXPECT_EQ(state(), UnitState::kVerified);
}

/// Before a round's evaluation is done it is no unit, and has to be paid all the same.
TEST(EvaluationBudgets, CoverThemBeforeTheyAreUnits) {
    const auto starts = [](std::uint64_t evaluations) {
        World world;
        (void)world.add_node(NodeRole::kWorker);
        registry::JobTerms terms = World::terms();
        terms.price_wei_per_pflop = Amount(1'000'000'000'000);
        protocol::Work work;
        work.training_flops = Amount(FakeCompute::kFlopsPerStep * terms.steps * terms.slots_max);
        work.report_flops = Amount(FakeCompute::kFlopsPerStep * evaluations);
        const protocol::WorkPrice price{terms.price_wei_per_pflop, FakeCompute::kFlopsPerStep, 64,
                                        Amount(), 0};
        const Amount budget = protocol::cost_bound(price, world.options.cost_rates(), work).value();
        const Digest job = world.submit_job(terms, budget.to_u64().value());
        world.settle();
        return world.rounds(job).size() == 1U;
    };
    EXPECT_FALSE(starts(0));
    EXPECT_TRUE(starts(1));
}

}  // namespace
}  // namespace gym::testing
