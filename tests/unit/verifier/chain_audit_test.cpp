// A verifier that believes the chain, not the coordinator.

#include "gym/verifier/chain_audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_chain_view.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::verifier {
namespace {

using protocol::UnitState;

constexpr std::uint64_t kEpoch = 5;
constexpr std::uint64_t kRootBlock = 100;
constexpr std::uint32_t kDelayBlocks = 2;

class ChainAuditTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey worker_key_ = testing::test_key(1);
    const crypto::PrivateKey key_ = testing::test_key(7);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job(
        {worker_key_.address(), testing::test_key(2).address(), testing::test_key(3).address()},
        handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::FakeChainView chain_;
    testing::TemporaryFolder dir_;
    std::vector<VerifierEvent> events_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));
    std::unique_ptr<Verifier> verifier_;

    /// An honest round: unit 0 is committed, under the root on chain, and drawn.
    void SetUp() override {
        const engine::UnitResult result = job_.run(0);
        records::VerifyTask task;
        task.unit = job_.unit(0);
        task.record = protocol::unit_record(job_.record, 0);
        task.inputs = job_.inputs;
        task.commitment = protocol::sign(testing::MemoryHandler::network_info().domain(),
                                         job_.commitment(0, result), worker_key_);
        task.committer = worker_key_.address();
        task.beacon = commit::sha256(as_bytes("beacon"));
        handler_.commitments[unit_] = {task.commitment, engine::encode_records(result.records)};
        handler_.tasks[key_.address()] = task;
        for (std::uint32_t slot = 0; slot < 3; ++slot) {
            records::UnitReceipt view;
            view.key = job_.unit(slot);
            view.worker = job_.record.slots[slot].worker;
            view.status.state = UnitState::kSampled;
            handler_.units[protocol::unit_id(view.key)] = view;
        }
        post(task.commitment);
        chain_.beacons[kRootBlock + kDelayBlocks] = task.beacon;
        VerifierOptions options;
        options.data_dir = dir_.path();
        options.chain = &chain_;
        options.on_event = [this](const VerifierEvent& event) { events_.push_back(event); };
        verifier_ = Verifier::open(coordinator_, key_, options).value();
    }
    /// The contracts name a round of drand for the epoch.
    void draw_by_drand(std::uint64_t round, const Digest& randomness) {
        chain_.beacons.clear();
        chain_.epochs[kEpoch].drand = node::ChainView::Drand{round, randomness};
    }
    /// The record, and a root with this commitment, are on chain.
    void post(const protocol::SignedCommitment& commitment) {
        const std::vector<Digest> leaves{commit::sha256(as_bytes("another unit")),
                                         protocol::commitment_leaf(commitment)};
        handler_.units[unit_].inclusion = records::InclusionReceipt{
            kEpoch, commit::merkle_root(leaves), 1, 2, commit::merkle_prove(leaves, 1).value()};
        chain_.post(job_.record, kEpoch);
        handler_.records = {job_.record};
        chain_.epochs[kEpoch] = {commit::merkle_root(leaves), 2, kRootBlock};
    }
    records::VerifyTask& task() {
        return std::get<records::VerifyTask>(handler_.tasks.at(key_.address()));
    }
    /// The verifier's error about a round that was tampered with; it must not report on it.
    Error refusal() {
        const auto ran = verifier_->run_once({});
        EXPECT_FALSE(ran.ok());
        EXPECT_TRUE(handler_.report_commits.empty());
        EXPECT_TRUE(events_.empty());
        return ran.ok() ? Error{} : ran.error();
    }
    std::size_t count(std::string_view name) const {
        return static_cast<std::size_t>(std::ranges::count(events_, name, &VerifierEvent::name));
    }
};

TEST_F(ChainAuditTest, WhatTheChainConfirmsIsVerified) {
    ASSERT_TRUE(verifier_->run_once({}).value());
    EXPECT_EQ(events_.back().name, "verified");
    EXPECT_EQ(count("contradiction"), 0u);
}

TEST_F(ChainAuditTest, AnotherRecordThanTheChainsIsRefused) {
    chain_.rounds.begin()->second.record_hash.data[0] ^= 1;
    EXPECT_EQ(refusal().code, ErrorCode::kMismatch);
}

/// Whoever has the head alone cannot tell whether other slots are drawn as they must be.
TEST_F(ChainAuditTest, AWholeRecordThatIsNotThatOfTheHeadIsRefused) {
    handler_.records[0].slots[2].steps += 1;
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    EXPECT_NE(error.message.find("its tasks have the head of"), std::string::npos) << error.message;
    handler_.records.clear();
    EXPECT_EQ(refusal().code, ErrorCode::kNotFound);
}

TEST_F(ChainAuditTest, AnotherRootThanTheChainsIsRefused) {
    chain_.epochs[kEpoch].commitments_root.data[0] ^= 1;
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    EXPECT_NE(error.message.find("commitments root of epoch 5"), std::string::npos);
}

TEST_F(ChainAuditTest, ACommitmentThatIsNotUnderTheRootIsRefused) {
    auto& receipt = *handler_.units[unit_].inclusion;
    const auto honest = receipt;
    receipt.siblings[0].data[0] ^= 1;
    EXPECT_EQ(refusal().code, ErrorCode::kMismatch);
    receipt = honest;
    receipt.leaf_index = 0;
    EXPECT_EQ(refusal().code, ErrorCode::kMismatch);
    handler_.units[unit_].inclusion.reset();
    EXPECT_EQ(refusal().code, ErrorCode::kMismatch);
    // The count is the chain's: a proof in a tree of another size is none.
    handler_.units[unit_].inclusion = honest;
    chain_.epochs[kEpoch].count = 1;
    EXPECT_EQ(refusal().code, ErrorCode::kMismatch);
}

TEST_F(ChainAuditTest, AnotherBeaconThanTheChainsIsRefused) {
    task().beacon.data[0] ^= 1;
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    EXPECT_NE(error.message.find("block 102"), std::string::npos);
}

TEST_F(ChainAuditTest, WhereTheContractsNameARoundOfDrandNoBlockDraws) {
    draw_by_drand(7, task().beacon);
    ASSERT_TRUE(verifier_->run_once({}).value());
    EXPECT_EQ(events_.back().name, "verified");
}

TEST_F(ChainAuditTest, ABeaconThatIsNotOfThatRoundOfDrandIsRefused) {
    draw_by_drand(7, commit::sha256(as_bytes("another")));
    // What the coordinator serves is that of the block, which would draw without a drand chain.
    chain_.beacons[kRootBlock + kDelayBlocks] = task().beacon;
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    EXPECT_NE(error.message.find("beacon of drand's round 7"), std::string::npos) << error.message;
}

TEST_F(ChainAuditTest, ARoundOfDrandThatNobodyHasProvenDrawsNothing) {
    draw_by_drand(7, Digest());
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_NE(error.message.find("drand's round 7"), std::string::npos) << error.message;
}

TEST_F(ChainAuditTest, ABeaconOfAnotherBlockIsRefused) {
    chain_.beacons[kRootBlock + kDelayBlocks] = commit::sha256(as_bytes("this block's"));
    chain_.beacons[kRootBlock + kDelayBlocks + 1] = task().beacon;
    EXPECT_EQ(refusal().code, ErrorCode::kMismatch);
}

TEST_F(ChainAuditTest, AUnitThatTheBeaconDoesNotDrawIsRefused) {
    job_.record.slots[0].sampling_rate_ppm = job_.record.sampling.floor_ppm;
    task().record = protocol::unit_record(job_.record, 0);
    protocol::UnitCommitment commitment = task().commitment.commitment;
    commitment.round_record = protocol::hash(job_.record);
    task().commitment =
        protocol::sign(testing::MemoryHandler::network_info().domain(), commitment, worker_key_);
    post(task().commitment);
    ASSERT_FALSE(protocol::is_sampled(task().beacon, unit_, job_.record.sampling.floor_ppm));
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    EXPECT_NE(error.message.find("does not draw"), std::string::npos);
    task().delta_norm_factor = 4;
    EXPECT_TRUE(verifier_->run_once({}).value()) << "it may have been singled out for its norm";
}

TEST_F(ChainAuditTest, WhatIsNotOnChainYetIsAskedForLater) {
    chain_.beacons.clear();
    EXPECT_EQ(refusal().code, ErrorCode::kUnavailable);
    chain_.epochs.clear();
    EXPECT_EQ(refusal().code, ErrorCode::kUnavailable);
    chain_.rounds.begin()->second.epoch = 0;
    EXPECT_EQ(refusal().code, ErrorCode::kUnavailable);
    chain_.rounds.clear();
    EXPECT_EQ(refusal().code, ErrorCode::kUnavailable);
}

TEST_F(ChainAuditTest, ASampleThatIsNotTheBeaconsIsToldOnceARound) {
    handler_.units[protocol::unit_id(job_.unit(1))].status.state = UnitState::kUnsampled;
    const auto honest = handler_.tasks[key_.address()];
    ASSERT_TRUE(verifier_->run_once({}).value());
    ASSERT_EQ(count("contradiction"), 1u);
    EXPECT_NE(events_.front().detail.find("unit 1 of round 1"), std::string::npos);
    EXPECT_EQ(events_.back().name, "verified") << "this unit's worker is not to blame";
    handler_.tasks[key_.address()] = honest;
    handler_.report_commits.clear();
    ASSERT_TRUE(verifier_->run_once({}).value());
    EXPECT_EQ(count("contradiction"), 1u);
}

TEST_F(ChainAuditTest, TheAuditComparesEveryStateThatTells) {
    job_.record.slots[2].sampling_rate_ppm = job_.record.sampling.floor_ppm;
    const Digest low = protocol::unit_id(job_.unit(2));
    const Digest beacon = task().beacon;
    const EpochOnChain epoch{kEpoch, chain_.epochs[kEpoch], beacon};
    ASSERT_FALSE(protocol::is_sampled(beacon, low, job_.record.sampling.floor_ppm));
    const auto contradictions = [&](std::uint32_t slot, UnitState state) {
        auto& unit = handler_.units[protocol::unit_id(job_.unit(slot))];
        const UnitState before = std::exchange(unit.status.state, state);
        const auto found = audit_sample(coordinator_, job_.record, epoch).value();
        unit.status.state = before;
        return found.size();
    };
    handler_.units[low].status.state = UnitState::kUnsampled;
    EXPECT_EQ(contradictions(0, UnitState::kSampled), 0u);
    EXPECT_EQ(contradictions(0, UnitState::kVerified), 0u);
    EXPECT_EQ(contradictions(0, UnitState::kFinal), 0u) << "both ways lead there";
    EXPECT_EQ(contradictions(0, UnitState::kExpired), 0u);
    EXPECT_EQ(contradictions(0, UnitState::kUnsampled), 1u);
    EXPECT_EQ(contradictions(2, UnitState::kSampled), 1u);
    EXPECT_EQ(contradictions(2, UnitState::kReported), 1u);
    // Where norms are bounded, one may be verified for its own.
    handler_.units[low].status.state = UnitState::kSampled;
    EXPECT_EQ(audit_sample(coordinator_, job_.record, epoch, true).value().size(), 0U);
    handler_.units[protocol::unit_id(job_.unit(0))].status.state = UnitState::kUnsampled;
    EXPECT_EQ(audit_sample(coordinator_, job_.record, epoch, true).value().size(), 1U)
        << "and none that is drawn may be passed over";
    handler_.units[protocol::unit_id(job_.unit(0))].status.state = UnitState::kVerified;
    handler_.units.erase(low);
    EXPECT_EQ(audit_sample(coordinator_, job_.record, epoch).value().size(), 0u);
}

}  // namespace
}  // namespace gym::verifier
