// Games about aggregates that subtract deltas which games on the chain have proven wrong since they
// went in, against the automatic player of the other side on a real chain.

#include "outer_zoo.hpp"

namespace gym::testing {
namespace {

/// Two of its deltas are subtracted, one of which was held when it went in.
class WithdrawnZoo : public OuterZoo {
  protected:
    void SetUp() override {
        sample_.add_held();
        sample_.add_withdrawn();
        OuterZoo::SetUp();
    }
    /// A worker's unit, which its round's record contradicts: opening a game proves it.
    player::Claim claim_on(const protocol::SignedCommitment& faulty,
                           const protocol::RoundRecord& record,
                           std::span<const protocol::SignedCommitment> epoch) {
        player::Claim claim;
        claim.role = player::Role::kChallenge;
        claim.key = {record.job_id, record.round, faulty.commitment.slot, 0};
        std::vector<Digest> leaves;
        for (const protocol::SignedCommitment& one : epoch)
            leaves.push_back(protocol::commitment_leaf(one));
        const auto index = static_cast<std::uint32_t>(
            std::ranges::find(leaves, protocol::commitment_leaf(faulty)) - leaves.begin());
        claim.evidence = {faulty, protocol::unit_record(record, faulty.commitment.slot), index,
                          commit::merkle_prove(leaves, index).value()};
        claim.epoch_block = claim.from_block = head();
        claim.salt = engine::testing::seed_of("salt " + std::to_string(record.round));
        return claim;
    }
    /// A game is played about who has a stake alone.
    void stake_for_signer(const protocol::SignedCommitment& signed_commitment) {
        const Address worker = crypto::recover_address(
                                   protocol::signing_digest(domain(), signed_commitment.commitment),
                                   signed_commitment.signature)
                                   .value();
        const contracts::Stake stake(deployment_.stake);
        send(payer_, token().approve(stake.address(), tokens("500")), "approve:" + worker.hex());
        send(payer_, stake.stake(worker, tokens("500")), "stake:" + worker.hex());
    }
    void prove(const player::Claim& claim) {
        stake_for_signer(claim.evidence.commitment);
        ASSERT_TRUE(verifier_.claims->save(claim).ok());
        const Digest unit = game::unit_of(domain(), claim.evidence.commitment).value();
        play_until(
            [&] { return contract().unit_of(anvil_.client(), unit).value().proven_at_s != 0; });
        ASSERT_TRUE(verifier_.claims->remove(claim).ok());
    }
    /// The rounds, what is proven of the one before, and the aggregate.
    void commit() {
        post_round();
        if (proven_timely_)
            prove(claim_on(sample_.previous_epoch[game::testing::SampleOuter::kFaulty],
                           sample_.previous, sample_.previous_epoch));
        prove(claim_on(sample_.older_epoch[0], sample_.older, sample_.older_epoch));
        post_epoch();
        sign();
        for (Side* side : {&coordinator_, &verifier_})
            ASSERT_TRUE(side->claims->save(claim_of(*side)).ok());
    }
    /// The challenger knows that nothing shows why the withdrawn delta in this place is.
    void doubt(std::size_t which) {
        Liar& liar = lie(verifier_);
        liar.reasons = sample_.reasons();
        liar.reasons->at(which).reset();
    }

    bool proven_timely_ = true;
};

TEST_F(WithdrawnZoo, WithdrawnDeltasThatAreAdded) {
    lie(coordinator_).lie_about_weights();
    commit();
    expect_proven("proveOuter");
}

TEST_F(WithdrawnZoo, WrongBase) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    expect_proven("proveOuter");
    EXPECT_EQ(games().at(0).fault->element, Amount(2)) << "byte 9 is in element 2";
}

TEST_F(WithdrawnZoo, AWrongValueOfAWithdrawnDelta) {
    Liar& liar = lie(coordinator_);
    liar.lie_about(OuterTree::kBase, 0, 0);
    liar.values = coordinator_.run->column(0, 0).value();
    liar.values->back() ^= 1;
    commit();
    expect_proven("proveColumn");
    EXPECT_EQ(games().at(0).fault->element, Amount(sample_.included.size() - 1));
}

/// The coordinator has all that it takes, but for the proof.
TEST_F(WithdrawnZoo, ADeltaThatNoGameHasProvenWrong) {
    proven_timely_ = false;
    doubt(0);
    commit();
    // The contract refuses what it shows.
    play_until([&] { return coordinator_.told("answered: showIncluded"); });
    pass(terms().clock_s + 1);
    play_until([&] { return proven(); }, false);
    EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultByClock);
    expect_slashed("250");
}

TEST_F(WithdrawnZoo, ADeltaThatNeverWentIn) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->back().root = sample_.add_delta();
    commit();
    expect_lost_by_clock();
}

/// It is shown to have gone in with the aggregate before, not with an older one.
TEST_F(WithdrawnZoo, ADeltaThatIsSaidToBeOlder) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->back().age = 2;
    commit();
    expect_lost_by_clock();
}

TEST_F(WithdrawnZoo, AChallengerThatDoubtsADeltaThatIsProvenWrong) {
    doubt(0);
    commit();
    expect_upheld();
}

TEST_F(WithdrawnZoo, AChallengerThatDoubtsAHeldDeltaThatIsProvenWrong) {
    doubt(1);
    commit();
    expect_upheld();
}

TEST_F(WithdrawnZoo, AChallengerThatAddsWithdrawnDeltas) {
    lie(verifier_).lie_about_weights();
    commit();
    expect_upheld();
}

}  // namespace
}  // namespace gym::testing
