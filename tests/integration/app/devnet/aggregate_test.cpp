// Games about aggregates, with the real coordinator at the other side. One that aggregates wrongly
// has no answer when the verifier's process opens a game: it loses its stake, and the job waits for
// its owner. One that is right answers, and whoever opened the game loses the bond.

#include "devnet_fixture.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/state.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

namespace gym::devnet {
namespace {

constexpr const char* kJob = R"(name: aggregate
dataset: DATASET
rounds: 3
slots: 2
workers_min: 2
steps_per_round: 6
checkpoint_every: 3
evaluate_windows: 4
price_per_pflop: "10"
budget: "100"
max_data_price: "0.1"
)";

class AggregateOnDevnet : public testing::DevnetTest {
  protected:
    [[nodiscard]] std::string job_text() const override {
        return std::string(kJob) + testing::kTinyModel;
    }
    void prepare(DemoOptions& options) override { options.network.dispute_clock_s = 20; }
    template <class F>
    static bool eventually(F&& holds) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        while (std::chrono::steady_clock::now() < deadline) {
            if (holds()) return true;
            std::this_thread::sleep_for(testing::kPoll);
        }
        return false;
    }
};

class WrongAggregateOnDevnet : public AggregateOnDevnet {
    void prepare(DemoOptions& options) override {
        AggregateOnDevnet::prepare(options);
        options.network.programs.instead = {{"gym-coordinator", "gym-faulty-coordinator"}};
    }
};

TEST_F(WrongAggregateOnDevnet, ACoordinatorThatAggregatesWronglyLosesItsStake) {
    const auto ran = run_demo(options_, [](const std::string&) {});
    ASSERT_FALSE(ran.ok()) << "a job whose model is wrong does not go on";
    const std::string why =
        "a game on chain proved the aggregate unit of round 1 wrong: the model from round 2 on is "
        "not to be trusted";
    EXPECT_NE(ran.error().message.find(why), std::string::npos) << ran.error().message;

    const auto database = this->database();
    const auto jobs = database->transact(
        [](db::Transaction& tx) { return registry::list_jobs(tx, {}); }, {.read_only = true});
    ASSERT_TRUE(jobs.ok() && jobs->size() == 1);
    const Digest& job = jobs->front().id;
    EXPECT_EQ(jobs->front().status, registry::JobStatus::kPaused);
    const auto unit = database->transact(
        [&](db::Transaction& tx) {
            return registry::get_unit(tx, protocol::unit_id({job, 1, protocol::kAggregateSlot, 0}));
        },
        {.read_only = true});
    ASSERT_TRUE(unit.ok());
    EXPECT_EQ(unit->status.state, protocol::UnitState::kSlashed) << unit->reason;

    const auto deployment = contracts::load_deployment(layout_.deployment()).value();
    const auto client = chain::make_http_client(layout_.chain_url()).value();
    const Address coordinator = holder_address(layout_, kCoordinator).value();
    const contracts::Stake stake(deployment.stake);
    // Everybody staked the same. It has no legal answer, so its clock may decide.
    const Amount half = Amount::parse_tokens(kStakeTokens)->mul_div(Amount(1), Amount(2)).value();
    EXPECT_TRUE(eventually([&] {
        const auto holding = stake.stake_of(*client, coordinator);
        return holding.ok() && holding->active <= half;
    }));
    for (const std::string& worker : layout_.worker_names())
        EXPECT_GT(stake.stake_of(*client, holder_address(layout_, worker).value())->active, half);
}

/// Opens a game about the aggregate of round 1 and never moves in it. @return the game.
Digest challenge_wrongly(const Layout& layout, db::Database& database,
                         const contracts::Deployment& deployment) {
    game::Evidence evidence;
    const Status read = database.transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(const auto jobs, registry::list_jobs(tx, {}));
        GYM_TRY(const auto round, registry::get_round(tx, jobs.at(0).id, 1));
        const Digest unit = protocol::unit_id({jobs[0].id, 1, protocol::kAggregateSlot, 0});
        GYM_TRY(const auto stored, registry::find_commitment(tx, unit));
        evidence.commitment = stored.value().commitment;
        evidence.record = protocol::unit_record(round.record, protocol::kAggregateSlot);
        return {};
    });
    GYM_ASSERT(read.ok(), read.ok() ? "" : read.error().message);
    // The faucet's key: it has tokens, and nothing else uses it by now.
    const auto account = open_account(layout, kJobOwner).value();
    const auto send = [&](const contracts::ContractCall& call, const char* id) {
        const auto taken = account->manager().submit(call.intent(id));
        GYM_ASSERT(taken.ok(), id);
        const auto mined = account->manager().wait_mined(id, 60'000);
        GYM_ASSERT(mined.ok(), mined.ok() ? "" : mined.error().message);
    };
    const contracts::DisputeGame contract(deployment.dispute_game);
    const auto domain = protocol::signing_domain(deployment.chain_id, deployment.commitment_log);
    const Digest salt = protocol::unit_id({});
    const Digest unit = game::unit_of(domain, evidence.commitment).value();
    const Digest id = game::announcement_of(deployment.chain_id, contract.address(),
                                            account->address(), unit, salt);
    const Amount bond = contract.terms(account->client()).value().bond;
    send(contracts::GymToken(deployment.chain_id, deployment.token)
             .approve(contract.address(), bond),
         "wrong/approve");
    send(contract.announce(id), "wrong/announce");
    send(contract.open(game::encode_open(evidence, salt), Amount::parse_tokens("1").value()),
         "wrong/open");
    return id;
}

TEST_F(AggregateOnDevnet, ARightCoordinatorAnswersAndKeepsItsStake) {
    demo_ = std::async(std::launch::async,
                       [&] { return run_demo(options_, [](const std::string&) {}); });
    ASSERT_TRUE(wait_for(2, "open"));
    const auto deployment = contracts::load_deployment(layout_.deployment()).value();
    const auto client = chain::make_http_client(layout_.chain_url()).value();
    const Digest game = challenge_wrongly(layout_, *database(), deployment);
    const contracts::DisputeGame contract(deployment.dispute_game);
    const auto status = [&] { return contract.game_of(*client, game).value().status; };
    EXPECT_TRUE(eventually([&] { return status() == game::GameStatus::kChallengerMoves; }))
        << "the coordinator declares its outer step";
    EXPECT_TRUE(eventually([&] { return status() == game::GameStatus::kUpheld; }));
    const auto report = demo_.get();
    ASSERT_TRUE(report.ok()) << report.error().message;
    const Address coordinator = holder_address(layout_, kCoordinator).value();
    EXPECT_FALSE(
        contracts::Stake(deployment.stake).stake_of(*client, coordinator)->active.is_zero());
    const auto unit = database()->transact(
        [&](db::Transaction& tx) -> Result<registry::Unit> {
            GYM_TRY(const auto jobs, registry::list_jobs(tx, {}));
            return registry::get_unit(
                tx, protocol::unit_id({jobs.at(0).id, 1, protocol::kAggregateSlot, 0}));
        },
        {.read_only = true});
    ASSERT_TRUE(unit.ok());
    EXPECT_EQ(unit->status.state, protocol::UnitState::kFinal) << unit->reason;
}

}  // namespace
}  // namespace gym::devnet
