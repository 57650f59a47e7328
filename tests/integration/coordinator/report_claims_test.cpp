// What verifiers stake on: which of their reports are left to a game on chain, and who is drawn.
#include "games_fixture.hpp"
#include "gym/player/claim.hpp"
#include "gym/protocol/report_claim.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

class ReportClaims : public CoordinatorGames {
  protected:
    ReportClaims() {
        world.options.report_game = Address::parse("0x" + std::string(40, '8')).value();
        world.options.verifier_stake_min = Amount(100);
        world.verifier_stake.each = Amount(100);
        world.claims = player::ClaimStore::open(folder_.path()).value();
        world.restart();
    }
    /// The reports that the player is to challenge.
    std::vector<player::ClaimStore::Shared> challenged() {
        auto out = world.claims->list();
        std::erase_if(out,
                      [](const auto& claim) { return claim->subject != player::Subject::kReport; });
        return out;
    }
    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::report_domain(31'337, world.options.report_game);
    }
    /// Some verifier agrees with every unit without a look.
    void copy_all() {
        world.settle();
        while (world.copy(verifier)) {
        }
        world.settle();
    }
    TemporaryFolder folder_;
};

TEST_F(ReportClaims, AFalseReportIsLeftToAGame) {
    const Digest unit = commit(honest);
    commit(other);
    verify_all(true);
    world.settle();
    const auto claims = challenged();
    ASSERT_EQ(claims.size(), 2U) << "one of each worker";
    for (const auto& claim : claims) {
        EXPECT_EQ(claim->role, player::Role::kChallenge);
        EXPECT_EQ(crypto::recover_address(
                      protocol::signing_digest(domain(), claim->evidence.commitment.commitment),
                      claim->evidence.commitment.signature)
                      .value(),
                  verifier.address());
        EXPECT_NE(claim->epoch_block, 0U);
    }
    EXPECT_EQ(world.unit(unit).reason_code, "false_report");
    // Once each, also after a restart.
    for (const auto& claim : claims)
        ASSERT_TRUE(world.claims->remove(*claim).ok());
    world.restart();
    world.settle();
    EXPECT_TRUE(challenged().empty());
}

TEST_F(ReportClaims, AReportThatIsRightIsLeftAlone) {
    commit(honest);
    const Digest bad = commit_wrong(other);
    verify_all();
    world.settle();
    EXPECT_EQ(world.unit(bad).reason_code, "step_differs");
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(bad), UnitState::kRejected);
    EXPECT_TRUE(challenged().empty());
}

/// The audit finds it, or nobody.
TEST_F(ReportClaims, AnAuditedAgreementWithAWrongUnitIsLeftToAGame) {
    world.options.audit_ppm = 1'000'000;
    world.restart();
    const Digest bad = commit_wrong(other);
    commit(honest);
    copy_all();
    EXPECT_EQ(state(bad), UnitState::kRejected);
    const auto claims = challenged();
    ASSERT_EQ(claims.size(), 1U) << "the other copy is of a right unit: it says the truth";
    EXPECT_EQ(protocol::unit_id(claims[0]->key), bad);
    EXPECT_TRUE(node(verifier).excluded) << "of both reports the trace is made up";
}

TEST_F(ReportClaims, AnAgreementWithAUnitThatAGameProvedWrongIsCheckedAndLeftToAGame) {
    const Digest bad = commit_wrong(other);
    commit(honest);
    copy_all();
    ASSERT_EQ(state(bad), UnitState::kVerified);
    EXPECT_TRUE(challenged().empty()) << "nobody knows";
    prove(other);
    world.settle();
    ASSERT_EQ(state(bad), UnitState::kSlashed);
    ASSERT_EQ(challenged().size(), 1U);
    EXPECT_EQ(protocol::unit_id(challenged()[0]->key), bad);
}

/// A worker can lose a game about a right unit on purpose. It must not take its honest verifier
/// along.
TEST_F(ReportClaims, AGameThatAWorkerThrewTouchesNoHonestReport) {
    const Digest unit = commit(other);
    commit(honest);
    verify_all();
    ASSERT_EQ(state(unit), UnitState::kVerified);
    const std::uint32_t runs = world.compute.runs;
    prove(other);
    world.settle();
    ASSERT_EQ(state(unit), UnitState::kSlashed);
    EXPECT_GT(world.compute.runs, runs) << "the coordinator looked itself";
    EXPECT_TRUE(challenged().empty());
    EXPECT_FALSE(node(verifier).excluded);
    const std::uint32_t once = world.compute.runs;
    world.settle();
    EXPECT_EQ(world.compute.runs, once);
}

TEST_F(ReportClaims, OnlySignedReportsAreTaken) {
    commit(honest);
    commit(other);
    world.settle();
    const auto task = world.core().next_task(verifier.address()).value();
    ASSERT_TRUE(task);
    Bytes records;
    const protocol::Report report = world.report(verifier, *task, false, records);
    ASSERT_TRUE(world.core()
                    .commit_report(verifier.address(), report.unit, report.draw,
                                   protocol::report_digest(task->beacon, report))
                    .ok());
    EXPECT_EQ(world.core().reveal_report(report, records).error().code,
              ErrorCode::kInvalidArgument);
    const auto good = world.claim_signature(verifier, *task, report);
    // Another signer's, another domain's, and one under other words.
    EXPECT_EQ(world.core()
                  .reveal_report(report, records, world.claim_signature(other, *task, report))
                  .error()
                  .code,
              ErrorCode::kUnauthenticated);
    const auto for_units =
        protocol::sign(world.options.domain,
                       protocol::claim_of(report, task->commitment.commitment), verifier.key);
    EXPECT_EQ(world.core().reveal_report(report, records, for_units.signature).error().code,
              ErrorCode::kUnauthenticated);
    for (const std::size_t at : {0U, 40U, 64U}) {
        auto flipped = *good;
        flipped.data[at] ^= 1;
        EXPECT_EQ(world.core().reveal_report(report, records, flipped).error().code,
                  ErrorCode::kUnauthenticated);
    }
    EXPECT_TRUE(world.core().reveal_report(report, records, good)->equal);
}

TEST_F(ReportClaims, VerifiersWithLessThanTheMinimumAreNotDrawn) {
    world.verifier_stake.each = Amount(99);
    const Digest unit = commit(honest);
    commit(other);
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kSampled);
    EXPECT_FALSE(world.core().next_task(verifier.address())->has_value());
    const std::string why = world.core().node_status(verifier.address())->stake_because;
    EXPECT_NE(why.find("gym stake add 0.000000000000000001 --verifier"), std::string::npos) << why;
    world.verifier_stake.of[verifier.address()] = Amount(100);
    world.settle();
    EXPECT_TRUE(world.core().next_task(verifier.address())->has_value());
    EXPECT_EQ(world.core().node_status(verifier.address())->stake_because, "");
}

/// A chain that does not answer for a while changes nothing.
TEST_F(ReportClaims, WithoutAnAnswerOfTheChainTheLastOneHolds) {
    world.settle();
    world.verifier_stake.down = true;
    commit(honest);
    commit(other);
    for (int i = 0; i < 5; ++i) {
        world.tick();
        world.chain.mine();
    }
    EXPECT_TRUE(world.core().next_task(verifier.address())->has_value());
    EXPECT_FALSE(world.tick().errors.empty());
}

}  // namespace
}  // namespace gym::testing
