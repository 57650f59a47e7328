#pragma once

#include "log_storage.hpp"
#include "outer_liars.hpp"
#include "players_fixture.hpp"

namespace gym::testing {

/// The aggregate of a round, which a staked coordinator committed to on a real chain.
class OuterPlayTest : public PlayersTest {
  protected:
    using Liar = game::testing::OuterLiar;
    using OuterTree = game::OuterTree;
    explicit OuterPlayTest(const dispute::testing::Sample& sample = dispute::testing::kSamples[0])
        : sample_(sample) {}

    /// One side with its own run of the outer step.
    struct Side final : Party {
        Result<game::Strategy*> open(const player::Claim& /*claim*/) override {
            strategy = std::make_unique<Played>(*this);
            return strategy.get();
        }
        game::OuterWork& work() { return lie ? *lie : static_cast<game::OuterWork&>(*run); }
        std::unique_ptr<game::RerunOuter> run;
        std::unique_ptr<Liar> lie;  ///< in the place of `run`
        std::unique_ptr<game::Strategy> strategy;
    };
    /// A liar answers with what it says itself.
    struct Played final : game::Strategy {
        explicit Played(Side& of) : side(of) {}
        Result<game::Move> answer(const game::GameTranscript& transcript) override {
            return side.lie ? side.lie->player()(transcript)
                            : game::plan_answer(side.work(), transcript);
        }
        Result<game::Move> challenge(const game::GameTranscript& transcript) override {
            return game::plan_challenge(side.work(), transcript);
        }
        Side& side;
    };
    Party& asserter() override { return coordinator_; }
    Party& challenger() override { return verifier_; }

    void SetUp() override {
        DeployedTest::SetUp();
        coordinator_.role = player::Role::kDefend;
        enter_chain(coordinator_, "coordinator", 2);
        enter_chain(verifier_, "verifier", 3);
        stake(coordinator_, "500");
        // The workers sign for this chain.
        sample_.domain = domain();
        for (auto* epoch : {&sample_.epoch, &sample_.previous_epoch, &sample_.older_epoch})
            for (protocol::SignedCommitment& one : *epoch)
                one = sample_.sign(one.commitment, one.commitment.slot);
        run();
    }
    /// Both sides begin with the sample as it is now.
    void run() {
        coordinator_.run = sample_.rerun();
        verifier_.run = sample_.rerun();
    }
    static Liar& lie(Side& side) {
        side.lie = std::make_unique<Liar>(*side.run);
        return *side.lie;
    }

    /// The sums would be right if the second delta had another number.
    void lie_about_column() {
        Liar& liar = lie(coordinator_);
        liar.lie_about(OuterTree::kBase, 0, 0);
        liar.values = coordinator_.run->column(0, 0).value();
        liar.values->at(5) ^= 1;
    }

    /// With the round before and its epoch; and, if deltas of it are withdrawn, the one before
    /// that.
    void post_round() {
        if (sample_.withdraws) {
            const game::EpochRoot root = game::testing::SampleOuter::root_of(sample_.older_epoch);
            put_round(anvil_, deployment_.commitment_log, sample_.older);
            send(admin_,
                 commitments().post_epoch(
                     {9, sample_.older.job_id, sample_.older.round, root.root, root.leaves}),
                 "older epoch");
        }
        const protocol::RoundRecord& before = sample_.previous;
        const Digest hash = posted_before_.value_or(protocol::hash(before));
        put_round(anvil_, deployment_.commitment_log, before.job_id, before.round, hash);
        const game::EpochRoot root = sample_.epoch_roots().previous;
        send(admin_,
             commitments().post_epoch({1, before.job_id, before.round, root.root, root.leaves}),
             "epoch before");
        put_round(anvil_, deployment_.commitment_log, sample_.record);
    }
    /// Of the round itself.
    void post_epoch() {
        const game::EpochRoot root = sample_.epoch_roots().own;
        const auto posted =
            send(admin_,
                 commitments().post_epoch(
                     {2, sample_.record.job_id, sample_.record.round, root.root, root.leaves}),
                 "epoch");
        epoch_block_ = posted.block_number.value_or(0);
    }
    void sign() {
        outcome_ = sample_.outcome(coordinator_.work());
        if (change_) change_(outcome_);
        commitment_ = protocol::sign(domain(), outcome_, coordinator_.key);
    }
    /// Round, epoch and the coordinator's claim to its run; the verifier calls it wrong.
    void commit() {
        post_round();
        post_epoch();
        sign();
        for (Side* side : {&coordinator_, &verifier_})
            ASSERT_TRUE(side->claims->save(claim_of(*side)).ok());
    }

    [[nodiscard]] player::Claim claim_of(const Side& side) const {
        player::Claim claim;
        claim.role = side.role;
        claim.subject = player::Subject::kAggregate;
        claim.key = {sample_.record.job_id, sample_.record.round, protocol::kAggregateSlot, 0};
        claim.evidence = {
            commitment_, protocol::unit_record(sample_.record, protocol::kAggregateSlot), 0, {}};
        claim.round = sample_.record;
        for (const game::OuterDelta& delta : sample_.included)
            claim.deltas.push_back({delta.slot, Digest(), delta.root, delta.held, delta.age});
        claim.epoch = sample_.epoch;
        claim.withdrawn = sample_.reasons();
        if (protocol::held_of(claim.deltas) > 0)
            claim.held = player::HeldRound{sample_.previous, sample_.previous_epoch, Digest()};
        claim.epoch_block = claim.from_block = epoch_block_;
        if (side.role == player::Role::kChallenge) claim.salt = engine::testing::seed_of(side.name);
        return claim;
    }
    /// That what was committed to and `other` cannot both be right.
    [[nodiscard]] player::Claim conflict_with(Bytes other) {
        player::Claim claim = claim_of(verifier_);
        claim.subject = player::Subject::kConflict;
        claim.deltas.clear();
        claim.epoch.clear();
        claim.held.reset();
        claim.round.reset();
        claim.withdrawn.clear();
        claim.epoch_block = 0;
        claim.from_block = head();
        claim.other = std::move(other);
        claim.salt = engine::testing::seed_of("a conflict");
        return claim;
    }
    /// The record of the next round, right but for what a test changes in it.
    [[nodiscard]] protocol::RoundRecord next_record() const {
        protocol::RoundRecord next = sample_.record;
        next.round += 1;
        next.previous_record = protocol::hash(sample_.record);
        next.base_state_root = outcome_.final_state_root;
        next.momentum_root = outcome_.delta_root;
        return next;
    }
    void post(const protocol::RoundRecord& next) {
        put_round(anvil_, deployment_.commitment_log, next);
    }

    [[nodiscard]] Digest chain_unit() const override {
        return game::unit_of(domain(), commitment_).value();
    }
    [[nodiscard]] std::optional<game::EpochRoots> epoch_roots() const override {
        game::EpochRoots roots = sample_.epoch_roots();
        if (posted_before_) roots.previous = {};
        return roots;
    }

    game::testing::SampleOuter sample_;
    Side coordinator_, verifier_;
    std::function<void(protocol::UnitCommitment&)> change_;  ///< before it is signed
    protocol::UnitCommitment outcome_;
    protocol::SignedCommitment commitment_;
    /// Of the round before, another hash than the record has that held deltas are of.
    std::optional<Digest> posted_before_;
    std::uint64_t epoch_block_ = 0;
};

}  // namespace gym::testing
