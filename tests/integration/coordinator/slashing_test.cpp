// A worker that signs two commitments for one unit, from the second signature to its empty stake:
// the real coordinator has the evidence, opens the game that is won by it, and has the stake taken.
#include <csignal>

#include "coordinator_peers.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/game/dispute_params.hpp"

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

}  // namespace
}  // namespace gym::testing
