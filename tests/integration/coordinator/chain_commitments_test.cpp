// Commitments that workers publish on chain, because nobody took them here.

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_world.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/registry/chain_commitments.hpp"
#include "gym/registry/published.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// Two workers; the second one's calls do not get through.
class ChainCommitmentsTest : public ::testing::Test {
  protected:
    World world_;
    FakeNode a_ = world_.add_node(NodeRole::kWorker);
    FakeNode b_ = world_.add_node(NodeRole::kWorker);
    FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    Digest job_;

    void submit(std::uint64_t rounds = 2, bool accept_late = false) {
        registry::JobTerms terms = World::terms();
        terms.rounds = rounds;
        terms.elastic.accept_late = accept_late;
        job_ = world_.submit_job(terms);
        world_.settle();
    }
    void publish(const World::Work& work) { publish(work.commitment); }
    void publish(const protocol::SignedCommitment& commitment) {
        world_.chain.publish(protocol::encode(commitment));
        world_.settle();
    }
    void beat() { world_.beat({&a_, &b_, &verifier_}); }
    void pass_units_deadline() {
        world_.clock.advance_ms(600'001);
        beat();
        world_.settle();
    }
    registry::Unit unit(const World::Work& work) { return world_.unit(work.assignment.unit_id()); }
    registry::Round round(std::size_t number) { return world_.rounds(job_).at(number - 1); }
    /// The leaves of a round's epoch as auditors read them have the root that is on chain.
    std::vector<registry::PublishedCommitment> leaves_on_chain(std::uint64_t number) {
        const auto leaves = world_.database()
                                .transact([&](db::Transaction& tx) {
                                    return registry::published_commitments(tx, job_, number, {});
                                })
                                .value();
        std::vector<Digest> digests;
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            EXPECT_EQ(leaves[i].leaf_index, i);
            digests.push_back(protocol::commitment_leaf(
                protocol::decode_signed_commitment(leaves[i].commitment).value()));
        }
        const auto& posted = world_.chain.epochs.at(round(number).epoch);
        EXPECT_EQ(posted.count, leaves.size());
        EXPECT_EQ(posted.commitments_root, commit::merkle_root(digests));
        return leaves;
    }
    /// A second commitment to the same unit.
    protocol::SignedCommitment another(const FakeNode& node, const World::Work& work) {
        protocol::SignedCommitment out = work.commitment;
        out.commitment.delta_root.data[0] ^= 1;
        return protocol::sign(world_.options.domain, out.commitment, node.key);
    }
};

TEST_F(ChainCommitmentsTest, OneThatIsPublishedIsTakenAndPaid) {
    submit();
    const auto first = world_.work(a_), second = world_.work(b_);
    ASSERT_TRUE(world_.commit(a_, first).ok());
    publish(second);
    EXPECT_NE(unit(second).status.state, UnitState::kAssigned);
    EXPECT_EQ(leaves_on_chain(1).size(), 2U);
    EXPECT_TRUE(world_.commit(b_, second).ok()) << "a call that gets through later";
    while (world_.verify(verifier_)) {
    }
    world_.settle();
    world_.pass_deadline({&a_, &b_, &verifier_});
    EXPECT_EQ(unit(second).status.state, UnitState::kFinal);
    EXPECT_TRUE(unit(second).included);
}

TEST_F(ChainCommitmentsTest, ItIsReadAgainAfterACrash) {
    submit();
    const auto first = world_.work(a_), second = world_.work(b_);
    world_.chain.publish(protocol::encode(second.commitment));
    world_.chain.down = true;
    world_.tick();
    world_.restart();
    world_.chain.down = false;
    world_.settle();
    world_.restart();
    world_.settle();
    EXPECT_EQ(unit(second).status.state, UnitState::kCommitted);
    ASSERT_TRUE(world_.commit(a_, first).ok());
    world_.settle();
    EXPECT_EQ(leaves_on_chain(1).size(), 2U);
}

/// The coordinator stands for it all the same: else it would lose a game about it.
TEST_F(ChainCommitmentsTest, OneOfAUnitThatIsOverIsInTheEpochAndUnpaid) {
    submit(2, true);
    const auto first = world_.work(a_), second = world_.work(b_);
    ASSERT_TRUE(world_.commit(a_, first).ok());
    // In a block that the coordinator sees before it closes the round.
    world_.chain.publish(protocol::encode(second.commitment));
    world_.chain.mine();
    world_.void_unit(second.assignment.unit_id());
    world_.settle();
    const auto leaves = leaves_on_chain(1);
    ASSERT_EQ(leaves.size(), 2U);
    EXPECT_EQ(leaves[1].commitment, protocol::encode(second.commitment));
    EXPECT_EQ(unit(second).status.state, UnitState::kVoid);
    EXPECT_FALSE(unit(second).epoch.has_value());
    // Its worker and verifiers find it there.
    const auto receipt = world_.core().unit_receipt(second.assignment.unit_id());
    ASSERT_TRUE(receipt.ok() && receipt->inclusion && receipt->commitment);
    EXPECT_EQ(receipt->commitment->commitment, second.commitment.commitment);
    EXPECT_TRUE(commit::merkle_verify(
                    receipt->inclusion->commitments_root, {receipt->inclusion->leaf_index, 2},
                    protocol::commitment_leaf(second.commitment), receipt->inclusion->siblings)
                    .ok());
}

/// Read behind its deadline, and before the round is sealed: it is in the next epoch alone.
TEST_F(ChainCommitmentsTest, ALateOneThatIsReadBeforeTheSealIsInOneEpoch) {
    submit(3, true);
    const auto first = world_.work(a_), late = world_.work(b_);
    ASSERT_TRUE(world_.commit(a_, first).ok());
    world_.chain.publish(protocol::encode(late.commitment));
    world_.chain.mine();
    pass_units_deadline();
    while (world_.verify(verifier_)) {
    }
    world_.settle();
    EXPECT_TRUE(unit(late).status.late);
    EXPECT_EQ(leaves_on_chain(1).size(), 1U);
    for (const FakeNode* worker : {&a_, &b_}) {
        const auto next = world_.work(*worker);
        ASSERT_TRUE(world_.commit(*worker, next).ok());
    }
    world_.settle();
    EXPECT_EQ(leaves_on_chain(2).size(), 3U);
    EXPECT_EQ(unit(late).epoch, round(2).epoch);
}

/// What was published and is not read yet is owed all the same.
TEST_F(ChainCommitmentsTest, NoRoundIsSealedBeforeTheLogIsRead) {
    submit();
    const auto first = world_.work(a_), second = world_.work(b_);
    world_.chain.log_down = true;
    world_.chain.publish(protocol::encode(second.commitment));
    world_.chain.mine();
    ASSERT_TRUE(world_.commit(a_, first).ok());
    world_.clock.advance_ms(600'001);
    beat();
    for (int i = 0; i < 3; ++i)
        world_.tick();
    EXPECT_EQ(round(1).state, registry::RoundState::kOpen);
    world_.chain.log_down = false;
    world_.settle();
    EXPECT_EQ(leaves_on_chain(1).size(), 2U);
}

/// In a round that takes late ones the next epoch has it.
TEST_F(ChainCommitmentsTest, ALateOneIsInTheNextEpoch) {
    submit(3, true);
    const auto first = world_.work(a_), late = world_.work(b_);
    ASSERT_TRUE(world_.commit(a_, first).ok());
    pass_units_deadline();
    while (world_.verify(verifier_)) {
    }
    world_.settle();
    ASSERT_EQ(leaves_on_chain(1).size(), 1U);
    ASSERT_EQ(world_.rounds(job_).size(), 2U);
    publish(late);
    EXPECT_TRUE(unit(late).status.late);
    const auto next = world_.work(a_);
    ASSERT_TRUE(world_.commit(a_, next).ok());
    world_.settle();
    EXPECT_EQ(leaves_on_chain(2).size(), 2U);
    EXPECT_EQ(unit(late).epoch, round(2).epoch);
}

TEST_F(ChainCommitmentsTest, OneAfterTheLastEpochThatMayHaveItIsNotTaken) {
    submit(3);
    const auto first = world_.work(a_), second = world_.work(b_);
    ASSERT_TRUE(world_.commit(a_, first).ok());
    pass_units_deadline();
    ASSERT_EQ(leaves_on_chain(1).size(), 1U);
    publish(second);
    EXPECT_EQ(unit(second).status.state, UnitState::kExpired);
    const auto found = world_.database().transact([&](db::Transaction& tx) {
        return registry::find_chain_commitment(tx, second.assignment.unit_id());
    });
    EXPECT_FALSE(found.value().has_value());
}

/// Two commitments to one unit are a fault wherever they are; the first one is in the epoch.
TEST_F(ChainCommitmentsTest, ASecondOneIsAFaultAndTheFirstIsInTheEpoch) {
    submit();
    const auto first = world_.work(a_), second = world_.work(b_);
    ASSERT_TRUE(world_.commit(b_, second).ok());
    publish(another(b_, second));
    EXPECT_EQ(unit(second).status.state, UnitState::kRejected);
    EXPECT_FALSE(world_.node(b_.address()).excluded_reason.empty());
    ASSERT_TRUE(world_.commit(a_, first).ok());
    world_.settle();
    const auto leaves = leaves_on_chain(1);
    ASSERT_EQ(leaves.size(), 2U);
    EXPECT_EQ(leaves[1].commitment, protocol::encode(second.commitment));
}

/// Whatever strangers publish costs them gas and changes nothing.
TEST_F(ChainCommitmentsTest, WhatIsNoCommitmentOfAWorkerIsPassedOver) {
    submit();
    const auto first = world_.work(a_), second = world_.work(b_);
    const auto expect_nothing = [&](const Bytes& published, const char* what) {
        world_.chain.publish(published);
        world_.settle();
        EXPECT_EQ(unit(first).status.state, UnitState::kAssigned) << what;
        EXPECT_EQ(unit(second).status.state, UnitState::kAssigned) << what;
    };
    expect_nothing(Bytes(226, 0x07), "no commitment");
    const Bytes whole = protocol::encode(second.commitment);
    expect_nothing(Bytes(whole.begin(), whole.end() - 1), "cut");
    protocol::SignedCommitment wrong = second.commitment;
    wrong.commitment.steps += 1;
    wrong = protocol::sign(world_.options.domain, wrong.commitment, b_.key);
    expect_nothing(protocol::encode(wrong), "steps that the round does not fix");
    wrong = second.commitment;
    wrong = protocol::sign(world_.options.domain, wrong.commitment, a_.key);
    expect_nothing(protocol::encode(wrong), "another worker's signature");
    wrong.commitment.round_record.data[0] ^= 1;
    expect_nothing(protocol::encode(wrong), "a round that nobody recorded");
    wrong = second.commitment;
    wrong.commitment.slot = 77;
    wrong = protocol::sign(world_.options.domain, wrong.commitment, b_.key);
    expect_nothing(protocol::encode(wrong), "a slot that the round does not have");
}

}  // namespace
}  // namespace gym::testing
