// A worker that signs two commitments for one unit, from the second signature to its empty stake:
// the real coordinator has the evidence, opens the game that is won by it, and has the stake taken.
#include <csignal>

#include "coordinator_peers.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/protocol/report_claim.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;

class Slashing : public PeersTest {
  protected:
    void prepare(contracts::DeployParams& params) override {
        params.dispute.bond = Amount(10);
        params.dispute.announce_blocks = 1;
    }
    void prepare(const contracts::Deployment& deployed, chain::TxManager& sender) override {
        deployment_ = deployed;
        peers_.emplace_back();
        const contracts::GymToken token(deployed.chain_id, deployed.token);
        for (const auto& [id, call] :
             {std::pair{"approve", token.approve(deployed.stake, Amount(70))},
              std::pair{"stake", stake().stake(peers_[0].key.address(), Amount(70))}}) {
            const auto done = sender.execute(call.intent(id), 20'000);
            ASSERT_TRUE(done.ok()) << done.error().message;
        }
    }
    contracts::Stake stake() const { return contracts::Stake(deployment_.stake); }
    Amount staked() {
        return stake().stake_of(anvil_.client(), peers_[0].key.address()).value().active;
    }
    std::uint64_t locks() {
        return stake().stake_of(anvil_.client(), peers_[0].key.address()).value().locks;
    }
    void restart() {
        process_->signal(SIGKILL);
        ASSERT_TRUE(process_->wait(10'000).ok());
        process_ = start();
    }
    contracts::Deployment deployment_;
};

TEST_F(Slashing, AWorkerThatSignsTwiceLosesItsStake) {
    ASSERT_NO_FATAL_FAILURE(start_with(0));  // the one that staked
    Peer& peer = peers_[0];
    const PeerWork work = train(peer);
    ASSERT_TRUE(upload(peer, work).ok());
    ASSERT_TRUE(peer.coordinator->submit_commitment(work.submission).ok());
    EXPECT_EQ(refused(peer, changed(work, peer,
                                    [](protocol::UnitCommitment& c) {
                                        c.final_state_root.data[0] ^= 1;
                                    })),
              ErrorCode::kConflict);
    EXPECT_EQ(unit(peer).status.state, UnitState::kRejected);
    EXPECT_EQ(staked(), Amount(70));
    // Killed while it announces and opens: it continues.
    restart();
    ASSERT_TRUE(eventually([&] { return locks() == 1; })) << text_of(folder() / "coordinator.log");
    restart();
    EXPECT_EQ(staked(), Amount(70)) << "an earlier announcement may still prove it, too";
    const game::DisputeParams terms;
    anvil_.rpc("evm_increaseTime", "[" + std::to_string(terms.settling_s + 1) + "]");
    EXPECT_TRUE(eventually([&] { return staked().is_zero(); }))
        << text_of(folder() / "coordinator.log");
    // Lines of the log can be lost with the process that is killed; what it decided cannot.
    const auto taken = [&] {
        const auto row = database_.owner().transact(
            [](db::Transaction& tx) {
                return tx.exec_one(
                    "SELECT count(*) FROM registry.disputed_unit WHERE handled_at_ms IS NOT NULL");
            },
            {.read_only = true});
        return row.ok() && row->get<std::int64_t>(0) == 1;
    };
    EXPECT_TRUE(eventually(taken)) << text_of(folder() / "coordinator.log");
}

/// A verifier of the test that stakes, played by hand.
class VerifierSlashing : public PeersTest {
  protected:
    static constexpr std::uint64_t kStake = 70;

    void prepare(contracts::DeployParams& params) override {
        params.dispute.bond = Amount(10);
        params.dispute.announce_blocks = 1;
    }
    void prepare(const contracts::Deployment& deployed, chain::TxManager& sender) override {
        deployment_ = deployed;
        const contracts::GymToken token(deployed.chain_id, deployed.token);
        for (const auto& [id, call] :
             {std::pair{"approve", token.approve(deployed.verifier_stake, Amount(kStake))},
              std::pair{"stake", stake().stake(verifier_.key.address(), Amount(kStake))}}) {
            const auto done = sender.execute(call.intent(id), 20'000);
            ASSERT_TRUE(done.ok()) << done.error().message;
        }
    }
    std::string more_config() override {
        return "minimum_verifier_stake: \"0.00000000000000007\"\n";
    }
    contracts::Stake stake() const { return contracts::Stake(deployment_.verifier_stake); }
    contracts::Stake::Holding holding() {
        return stake().stake_of(anvil_.client(), verifier_.key.address()).value();
    }
    void join_as_verifier() {
        verifier_.coordinator = dial(verifier_.key);
        records::NodeProfile profile;
        profile.device = "cpu";
        profile.role = records::NodeRole::kVerifier;
        ASSERT_TRUE(verifier_.coordinator->register_node(profile).ok());
        ASSERT_TRUE(verifier_.coordinator->heartbeat({}).ok());
    }
    /// Reports that step 1 of the unit has another loss than the worker says.
    void accuse(const PeerWork& work) {
        const auto next = verifier_.coordinator->next_task(std::chrono::seconds(30));
        ASSERT_TRUE(next.ok() && next->has_value()) << text_of(folder() / "coordinator.log");
        const auto& task = std::get<records::VerifyTask>(**next);
        auto records = engine::decode_records(work.submission.records).value();
        records.at(1).loss_bits ^= 1;
        protocol::Report report;
        report.unit = protocol::unit_id(task.unit);
        report.draw = task.draw;
        report.verifier = verifier_.key.address();
        report.records_root = engine::records_root(records);
        report.final_state_root = task.commitment.commitment.final_state_root;
        report.delta_root = task.commitment.commitment.delta_root;
        report.challenge_signature = verifier_.key.sign_digest(
            protocol::trace_challenge_digest(domain(verifier_), task.beacon, report.unit));
        ASSERT_TRUE(verifier_.coordinator
                        ->submit_report_commit({report.unit, report.draw,
                                                protocol::report_digest(task.beacon, report)})
                        .ok());
        records::ReportReveal reveal{report, engine::encode_records(records)};
        EXPECT_EQ(verifier_.coordinator->submit_report_reveal(reveal).error().code,
                  ErrorCode::kInvalidArgument)
            << "not signed";
        const auto network = verifier_.coordinator->network().value();
        EXPECT_EQ(network.report_game, deployment_.report_game);
        reveal.claim_signature =
            protocol::sign(protocol::report_domain(network.chain_id, network.report_game),
                           protocol::claim_of(report, task.commitment.commitment), verifier_.key)
                .signature;
        const auto revealed = verifier_.coordinator->submit_report_reveal(reveal);
        ASSERT_TRUE(revealed.ok()) << revealed.error().message;
        EXPECT_FALSE(*revealed);
    }
    Peer verifier_;
    contracts::Deployment deployment_;
};

TEST_F(VerifierSlashing, AFalseReportCostsItsAuthor) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    ASSERT_NO_FATAL_FAILURE(join_as_verifier());
    Peer& worker = peers_[0];
    const PeerWork work = train(worker);
    ASSERT_TRUE(upload(worker, work).ok());
    ASSERT_TRUE(worker.coordinator->submit_commitment(work.submission).ok());
    ASSERT_NO_FATAL_FAILURE(accuse(work));
    const auto log = [&] { return text_of(folder() / "coordinator.log"); };
    // The referee runs the unit, and the coordinator opens a game about the report.
    ASSERT_TRUE(eventually([&] { return holding().locks == 1; })) << log();
    EXPECT_EQ(unit(worker).reason_code, "false_report");
    EXPECT_EQ(holding().active, Amount(kStake));
    // True answers would prove it wrong; it gives none.
    const game::DisputeParams terms;
    anvil_.rpc("evm_increaseTime", "[" + std::to_string(terms.clock_s + 1) + "]");
    ASSERT_TRUE(eventually([&] {
        return log().find("the asserter's clock ran out") != std::string::npos;
    })) << log();
    // The stake settles that long after the block that ends the game, which may not be there yet.
    bool lost = false;
    for (int i = 0; i < 3 && !lost; ++i) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(terms.settling_s + 1) + "]");
        lost = eventually([&] { return holding().active == Amount(kStake / 2); });
    }
    EXPECT_TRUE(lost) << log();
    EXPECT_EQ(contracts::Stake(deployment_.stake)
                  .stake_of(anvil_.client(), worker.key.address())
                  .value()
                  .locks,
              0U)
        << "the worker is in no game";
}

}  // namespace
}  // namespace gym::testing
