// The runs that a node plays with: units run again from claims and the node's blobs alone.

#include "claim_units.hpp"

#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/game/evidence.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

class ClaimUnitsTest : public ::testing::Test {
  protected:
    const crypto::Eip712Domain domain_ = testing::MemoryHandler::network_info().domain();
    testing::MemoryHandler handler_;
    testing::TinyJob job_ =
        testing::make_tiny_job({testing::test_key(1).address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, testing::test_key(1).address()};
    testing::TemporaryFolder dir_;
    std::unique_ptr<player::ClaimStore> claims_ =
        player::ClaimStore::open(dir_.path() / "claims").value();
    const vault::StoreKey store_key_ = vault::StoreKey::random();
    vault::SealedStore store_ =
        std::move(rpc::BlobCache::open(dir_.path() / "blobs", coordinator_, store_key_)->store());
    std::unique_ptr<player::UnitSource> units_ = make_claim_units(
        rpc::BlobCache::open(dir_.path() / "blobs", coordinator_, store_key_).value(), *claims_,
        domain_, {});
    const engine::UnitResult unit_ = job_.run(0);

    player::Claim train_claim() const {
        player::Claim claim;
        claim.key = job_.unit(0);
        claim.evidence.commitment =
            protocol::sign(domain_, job_.commitment(0, unit_), testing::test_key(1));
        claim.evidence.record = protocol::unit_record(job_.record, 0);
        claim.program_blob = job_.inputs.program_blob;
        claim.dataset_blob = *job_.inputs.dataset_blob;
        claim.base_state_blob = job_.inputs.base_state_blob;
        return claim;
    }
    player::Claim outer_claim() {
        const std::vector deltas{engine::Delta::decode(job_.program, unit_.delta).value()};
        const engine::State momentum = engine::zero_momentum(job_.base);
        const auto made = engine::run_aggregate(job_.program, job_.base, momentum, deltas).value();
        protocol::UnitCommitment commitment;
        commitment.kind = protocol::UnitKind::kAggregate;
        commitment.round_record = protocol::hash(job_.record);
        commitment.slot = protocol::kAggregateSlot;
        commitment.records_root = made.records_root;
        commitment.final_state_root = made.base_root;
        commitment.delta_root = made.momentum_root;
        commitment.steps = 1;
        player::Claim claim = train_claim();
        claim.subject = player::Subject::kAggregate;
        claim.key = job_.unit(protocol::kAggregateSlot);
        claim.evidence.record = protocol::unit_record(job_.record, protocol::kAggregateSlot);
        claim.round = job_.record;
        claim.epoch = {claim.evidence.commitment};
        claim.evidence.commitment = protocol::sign(domain_, commitment, testing::test_key(9));
        claim.dataset_blob = {};
        claim.momentum_blob = handler_.blobs.put(engine::encode_state(momentum)).value();
        EXPECT_TRUE(handler_.blobs.put(unit_.delta).ok());
        claim.deltas = {{0, protocol::unit_id(job_.unit(0)), unit_.delta.root()}};
        return claim;
    }
    /// Where every game about the claim's unit begins.
    game::GameTranscript transcript_of(const player::Claim& claim) const {
        const game::EpochRoot epoch{
            commit::merkle_root(std::vector{protocol::commitment_leaf(
                claim.epoch.empty() ? claim.evidence.commitment : claim.epoch[0])}),
            1};
        const auto facts = game::unit_facts_of(claim.evidence.commitment.commitment,
                                               claim.evidence.record, {epoch, {}});
        return {facts,
                game::start_of(game::unit_of(domain_, claim.evidence.commitment).value(), facts)};
    }
};

TEST_F(ClaimUnitsTest, ATrainUnitIsRunFromItsInputs) {
    const auto strategy = units_->open(train_claim());
    ASSERT_TRUE(strategy.ok()) << strategy.error().message;
    game::GameTranscript transcript = transcript_of(train_claim());
    const auto move = (*strategy)->answer(transcript);
    ASSERT_TRUE(move.ok()) << move.error().message;
    EXPECT_EQ(game::name_of(*move), "declareStates");
    EXPECT_TRUE(transcript.play(*move).ok()) << "it is what was committed to";
    EXPECT_EQ(units_->open(train_claim()).value(), *strategy) << "the same run";
}

TEST_F(ClaimUnitsTest, AnAggregateIsRunFromItsInputs) {
    const player::Claim claim = outer_claim();
    const auto strategy = units_->open(claim);
    ASSERT_TRUE(strategy.ok()) << strategy.error().message;
    game::GameTranscript transcript = transcript_of(claim);
    const auto move = (*strategy)->answer(transcript);
    ASSERT_TRUE(move.ok()) << move.error().message;
    EXPECT_EQ(game::name_of(*move), "declareOuter");
    ASSERT_TRUE(transcript.play(*move).ok()) << "it is what was committed to";
    EXPECT_EQ((*strategy)->challenge(transcript).error().code, ErrorCode::kConflict) << "and right";
}

/// The accused need not hand out the deltas any more.
TEST_F(ClaimUnitsTest, ADeltaThatIsWithheldIsMadeAgain) {
    player::Claim claim = outer_claim();
    ASSERT_TRUE(handler_.blobs.remove(unit_.delta.root()).ok());
    const auto answer = [&] {
        const auto strategy = units_->open(claim);
        EXPECT_TRUE(strategy.ok()) << strategy.error().message;
        const auto move = (*strategy)->answer(transcript_of(claim));
        units_->release(claim);
        return move;
    };
    EXPECT_EQ(answer().error().code, ErrorCode::kNotFound) << "without the dataset";
    claim.dataset_blob = *job_.inputs.dataset_blob;
    const auto move = answer();
    ASSERT_TRUE(move.ok()) << move.error().message;
    game::GameTranscript transcript = transcript_of(claim);
    EXPECT_TRUE(transcript.play(*move).ok()) << "it is what was committed to";
    // One that its unit does not give.
    claim.deltas[0].delta_root = commit::sha256(as_bytes("of nobody"));
    const auto wrong = answer();
    ASSERT_EQ(wrong.error().code, ErrorCode::kMismatch);
    EXPECT_NE(wrong.error().message.find("the delta of slot 0"), std::string::npos);
}

TEST_F(ClaimUnitsTest, AnAggregateOfAnotherTraceProgramIsRefused) {
    player::Claim claim = outer_claim();
    claim.round->trace_root.data[0] ^= 1;
    const auto strategy = units_->open(claim);
    ASSERT_FALSE(strategy.ok());
    EXPECT_NE(strategy.error().message.find("trace program"), std::string::npos);
}

TEST_F(ClaimUnitsTest, AClaimThatIsFiledAgainIsRunFromItsNewInputs) {
    const player::Claim train = train_claim();
    ASSERT_TRUE(units_->open(train).ok());
    player::Claim again = train;
    again.evidence.record.trace_root.data[0] ^= 1;
    EXPECT_EQ(units_->open(again).error().code, ErrorCode::kMismatch) << "another record";

    const player::Claim outer = outer_claim();
    game::Strategy* const strategy = units_->open(outer).value();
    again = outer;
    again.salt.data[0] ^= 1;
    again.from_block = 7;
    again.evidence.commitment.signature = train.evidence.commitment.signature;
    EXPECT_EQ(units_->open(again).value(), strategy) << "the same inputs";
    again.deltas[0].delta_root.data[0] ^= 1;
    const auto other = units_->open(again);
    ASSERT_TRUE(other.ok()) << other.error().message;
    EXPECT_FALSE((*other)->answer(transcript_of(again)).ok()) << "no such delta";
}

TEST_F(ClaimUnitsTest, AConflictHasNoRun) {
    player::Claim claim = train_claim();
    claim.subject = player::Subject::kConflict;
    EXPECT_EQ(units_->open(claim).error().code, ErrorCode::kInvalidArgument);
}

/// Two claims of one round share its base state; program and dataset serve the next round.
TEST_F(ClaimUnitsTest, BlobsGoWithTheLastClaimThatNeedsThem) {
    const player::Claim train = train_claim(), outer = outer_claim();
    for (const player::Claim& claim : {train, outer}) {
        ASSERT_TRUE(claims_->save(claim).ok());
        const auto strategy = units_->open(claim);
        ASSERT_TRUE(strategy.ok()) << strategy.error().message;
        ASSERT_TRUE((*strategy)->answer(transcript_of(claim)).ok());
    }
    const auto stored = [&](const Digest& blob) { return store_.has(blob).value(); };
    ASSERT_TRUE(claims_->remove(outer).ok());
    units_->release(outer);
    EXPECT_FALSE(stored(outer.deltas[0].delta_root));
    EXPECT_FALSE(stored(outer.momentum_blob));
    EXPECT_TRUE(stored(outer.base_state_blob)) << "of the train unit, too";
    ASSERT_TRUE(claims_->remove(train).ok());
    units_->release(train);
    EXPECT_FALSE(stored(train.base_state_blob));
    EXPECT_TRUE(stored(train.program_blob));
    EXPECT_TRUE(stored(train.dataset_blob));
}

}  // namespace
}  // namespace gym::node
