// Stake and disputes on a real chain: what is staked, thawed and taken, and whole games of the
// kinds that need no player: a commitment that contradicts its round, and clocks that run out.

#include <thread>

#include "deployed.hpp"
#include "gym/chain/abi.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/game/state.hpp"
#include "gym/protocol/commitment.hpp"

namespace gym::testing {
namespace {

using game::GameStatus;

class DisputesOnAnvil : public DeployedTest {
  protected:
    static constexpr std::uint32_t kSteps = 3;

    void SetUp() override {
        DeployedTest::SetUp();
        if (HasFatalFailure()) return;
        send(payer_, token().transfer(challenger_.address(), tokens("1000")), "fund");
        send(payer_, token().approve(deployment_.stake, tokens("1000")), "approve/stake");
        send(payer_, stake().stake(owner_.address(), tokens("100")), "stake");
        send(rival_, token().approve(deployment_.dispute_game, tokens("1000")), "approve/game");
    }

    contracts::Stake stake() const { return contracts::Stake(deployment_.stake); }
    contracts::DisputeGame game() const { return contracts::DisputeGame(deployment_.dispute_game); }
    Amount balance(const Address& who) { return token().balance_of(anvil_.client(), who).value(); }
    void pass(std::uint64_t seconds) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(seconds) + "]");
        anvil_.mine(1);
    }
    std::string refusal(Sender& sender, const contracts::ContractCall& call,
                        const std::string& id) {
        const auto done = sender.manager->execute(call.intent(id), kTimeoutMs);
        return done.ok() ? "accepted" : done.error().message;
    }

    /// A posted unit of owner_, whose commitment says `steps`.
    struct Unit {
        Bytes commitment;
        Bytes record;  ///< its head
        Bytes slot;    ///< the terms of its only one
        Digest name;
    };
    Unit post(std::uint32_t steps) {
        protocol::RoundRecord record;
        record.job_id = crypto::keccak256_text("job");
        record.round = 1;
        record.program_root = record.dataset_root = record.trace_root = record.job_id;
        record.base_state_root = record.momentum_root = record.initial_state_root = record.job_id;
        record.evaluate_program_root = record.job_seed = record.job_id;
        record.checkpoint_every = 1;
        record.tokens_per_step = 10;
        record.flops_per_step = 100;
        record.slots = {{0, owner_.address(), kPpm, kSteps}};
        protocol::UnitCommitment says;
        says.round_record = protocol::hash(record);
        says.records_root = says.final_state_root = says.delta_root = record.job_id;
        says.steps = steps;
        says.tokens = std::uint64_t{steps} * record.tokens_per_step;
        says.flops = std::uint64_t{steps} * record.flops_per_step;
        const auto domain =
            protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
        const auto signed_one = protocol::sign(domain, says, owner_);
        send(admin_,
             commitments().post_round(
                 {record.job_id, 1, protocol::encode(protocol::head_of(record)), {}}),
             "round");
        send(admin_,
             commitments().post_epoch(
                 {1, record.job_id, 1, protocol::commitment_leaf(signed_one), 1}),
             "epoch");
        Bytes named(12, 0);  // abi.encode(bytes32, address)
        const Address asserter = owner_.address();
        named.insert(named.end(), asserter.data.begin(), asserter.data.end());
        const Digest digest = protocol::signing_digest(domain, says);
        return {protocol::encode(signed_one), protocol::encode(protocol::head_of(record)),
                protocol::prove_slot(record, 0).terms,
                crypto::keccak256({digest.view(), ByteView(named)})};
    }

    Digest announce(const Unit& unit, const Digest& salt, const std::string& id) {
        const Digest name =
            game().announcement_of(anvil_.client(), challenger_.address(), unit.name, salt).value();
        send(rival_, game().announce(name), "announce/" + id);
        return name;
    }
    static Bytes open_data(const Unit& unit, const Digest& salt) {
        return chain::AbiSignature::parse(
                   "open(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)")
            .value()
            .encode_call({unit.commitment, unit.record,
                          chain::AbiValue::List{unit.slot, chain::AbiValue::List{}},
                          std::uint64_t{0}, chain::AbiValue::List{}, salt})
            .value();
    }
    Digest open(const Unit& unit, const char* name) {
        const Digest salt = crypto::keccak256_text(name);
        const Digest id = announce(unit, salt, name);
        anvil_.mine(2);
        send(rival_, game().open(open_data(unit, salt), escrow_), std::string("open/") + name);
        return id;
    }

    /// Every event of Stake and game so far, in order.
    std::pair<std::vector<contracts::StakeEvent>, std::vector<contracts::DisputeEvent>> events() {
        std::pair<std::vector<contracts::StakeEvent>, std::vector<contracts::DisputeEvent>> out;
        const std::uint64_t head = anvil_.client().block(chain::BlockTag::kLatest).value()->number;
        for (std::uint64_t number = deployment_.start_block; number <= head; ++number) {
            const auto block = anvil_.client().block(number).value();
            const auto logs = anvil_.client().logs(
                block->hash, {{deployment_.stake, deployment_.dispute_game}, {}});
            for (const chain::Log& log : logs.value()) {
                if (const auto event = stake().parse_event(log).value())
                    out.first.push_back(*event);
                if (const auto event = game().parse_event(log).value())
                    out.second.push_back(*event);
            }
        }
        return out;
    }
    template <class Event, class Events>
    static std::vector<Event> only(const Events& events) {
        std::vector<Event> out;
        for (const auto& event : events)
            if (const auto* found = std::get_if<Event>(&event)) out.push_back(*found);
        return out;
    }

    crypto::PrivateKey challenger_ = anvil_.funded_key(2);
    Sender rival_{anvil_, challenger_.clone(), clock_};
    const Amount escrow_ = tokens("1");  // an ether
    const game::DisputeParams params_;
};

TEST_F(DisputesOnAnvil, AreDeployedWithTheirTermsAndKnowEachOther) {
    const auto terms = game().terms(anvil_.client()).value();
    EXPECT_EQ(terms.bond, params_.bond);
    EXPECT_EQ(terms.clock_s, params_.clock_s);
    EXPECT_EQ(terms.settling_s, params_.settling_s);
    EXPECT_EQ(terms.announce_blocks, params_.announce_blocks);
    EXPECT_EQ(terms.open_blocks, params_.open_blocks);
    EXPECT_EQ(terms.escrow_gas, params_.escrow_gas);
    const auto contracts = game().contracts(anvil_.client()).value();
    EXPECT_EQ(contracts.token, deployment_.token);
    EXPECT_EQ(contracts.stake, deployment_.stake);
    const auto opening = game().opening(anvil_.client()).value();
    EXPECT_EQ(opening.commitment_log, deployment_.commitment_log);
    EXPECT_EQ(opening.window_blocks, params_.window_blocks);
    EXPECT_EQ(stake().game(anvil_.client()).value(), deployment_.dispute_game);
    EXPECT_EQ(stake().token(anvil_.client()).value(), deployment_.token);
    EXPECT_EQ(stake().thaw_period_s(anvil_.client()).value(), params_.thaw_period_s);
}

TEST_F(DisputesOnAnvil, StakeThawsBeforeItIsWithdrawn) {
    const auto nonce = token().permit_nonce(anvil_.client(), owner_.address()).value();
    const auto permit =
        token().sign_permit(owner_, deployment_.stake, tokens("20"), nonce, 4'000'000'000);
    send(payer_,
         stake().stake_with_permit(challenger_.address(), tokens("20"), 4'000'000'000, permit),
         "permit");
    EXPECT_EQ(stake().stake_of(anvil_.client(), challenger_.address())->active, tokens("20"));

    send(payer_, stake().thaw(tokens("30")), "thaw");
    auto holding = stake().stake_of(anvil_.client(), owner_.address()).value();
    EXPECT_EQ(holding.active, tokens("70"));
    EXPECT_EQ(holding.thawing, tokens("30"));
    EXPECT_EQ(stake().thaw_count(anvil_.client(), owner_.address()).value(), 1U);
    EXPECT_NE(refusal(payer_, stake().withdraw(), "early").find("NothingThawed(owner="),
              std::string::npos);
    EXPECT_NE(refusal(payer_, stake().thaw(tokens("71")), "much").find("InsufficientStake(owner="),
              std::string::npos);
    const Amount before = balance(owner_.address());
    pass(params_.thaw_period_s + 1);
    send(payer_, stake().withdraw(), "withdraw");
    EXPECT_EQ(balance(owner_.address()), before.plus(tokens("30")).value());

    const auto seen = events().first;
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_EQ(std::get<contracts::Staked>(seen[1]),
              (contracts::Staked{challenger_.address(), owner_.address(), tokens("20")}));
    EXPECT_EQ(std::get<contracts::ThawStarted>(seen[2]).amount, tokens("30"));
    EXPECT_EQ(std::get<contracts::StakeWithdrawn>(seen[3]),
              (contracts::StakeWithdrawn{owner_.address(), tokens("30")}));
}

TEST_F(DisputesOnAnvil, AStakeHasADefenderAndARecipientOfItsOwn) {
    const Address owner = owner_.address(), cold = challenger_.address();
    const auto keys = [&] { return stake().keys_of(anvil_.client(), owner).value(); };
    EXPECT_TRUE(keys().defender.is_zero());
    EXPECT_EQ(keys().recipient, owner);
    send(payer_, stake().set_defender(owner, cold), "defender");
    send(payer_, stake().set_recipient(owner, cold), "recipient");
    EXPECT_EQ(keys().defender, cold);
    EXPECT_EQ(keys().recipient, cold);
    EXPECT_TRUE(keys().next_recipient.is_zero());
    send(payer_, stake().set_recipient(owner, owner), "again");
    EXPECT_EQ(keys().recipient, cold) << "the recipient may refuse";
    EXPECT_EQ(keys().next_recipient, owner);
    EXPECT_GT(keys().next_recipient_at_s, params_.thaw_period_s);
    const Amount before = balance(cold);
    send(rival_, stake().thaw(owner, tokens("30")), "thaw");
    pass(params_.thaw_period_s - 10);
    send(rival_, stake().set_recipient(owner, cold), "refused");
    pass(11);
    EXPECT_TRUE(keys().next_recipient.is_zero());
    send(rival_, stake().withdraw(owner), "withdraw");
    EXPECT_EQ(balance(cold), before.plus(tokens("30")).value());
}

TEST_F(DisputesOnAnvil, ACommitmentThatContradictsItsRoundLosesTheStakeInOneMove) {
    const Unit unit = post(kSteps + 1);
    const Digest id = open(unit, "one");
    const auto ended = game().game_of(anvil_.client(), id).value();
    EXPECT_EQ(ended.status, GameStatus::kFaultProven);
    EXPECT_EQ(ended.unit, unit.name);
    EXPECT_EQ(ended.challenger, challenger_.address());
    EXPECT_EQ(balance(challenger_.address()), tokens("1000")) << "the bond is back";
    EXPECT_EQ(stake().stake_of(anvil_.client(), owner_.address())->locks, 1U);
    EXPECT_NE(refusal(rival_, game().settle(unit.name), "early").find("TooEarly(from="),
              std::string::npos);

    pass(params_.settling_s + 1);
    send(rival_, game().settle(unit.name), "settle");
    EXPECT_TRUE(stake().stake_of(anvil_.client(), owner_.address())->active.is_zero());
    // Half burned, and the tenth of other provers, since there are none.
    EXPECT_EQ(balance(challenger_.address()), tokens("1040"));
    EXPECT_EQ(game().ether_of(anvil_.client(), challenger_.address()).value(), escrow_);
    send(rival_, game().withdraw_ether(), "ether");
    EXPECT_TRUE(game().ether_of(anvil_.client(), challenger_.address())->is_zero());
    const auto settled = game().unit_of(anvil_.client(), unit.name).value();
    EXPECT_TRUE(settled.settled);
    EXPECT_EQ(settled.finder, challenger_.address());
    EXPECT_EQ(settled.asserter, owner_.address());

    const auto [stakes, games] = events();
    const auto opened = only<contracts::Opened>(games);
    ASSERT_EQ(opened.size(), 1U);
    EXPECT_EQ(opened[0].game, id);
    EXPECT_EQ(opened[0].cursor.node, unit.name);
    EXPECT_EQ(opened[0].data, open_data(unit, crypto::keccak256_text("one")));
    ASSERT_EQ(only<contracts::FaultFound>(games).size(), 1U);
    EXPECT_EQ(only<contracts::FaultFound>(games)[0].element, Amount(3)) << "the steps";
    ASSERT_EQ(only<contracts::GameEnded>(games).size(), 1U);
    EXPECT_EQ(only<contracts::GameEnded>(games)[0].status, GameStatus::kFaultProven);
    EXPECT_EQ(only<contracts::UnitSettled>(games).at(0).taken, tokens("100"));
    EXPECT_EQ(only<contracts::Slashed>(stakes).at(0).reward, tokens("40"));
    EXPECT_EQ(only<contracts::Slashed>(stakes).at(0).burned, tokens("60"));
    EXPECT_EQ(only<contracts::EtherWithdrawn>(games).at(0).amount_wei, escrow_);
}

TEST_F(DisputesOnAnvil, AnAsserterThatDoesNotAnswerLosesByItsClock) {
    const Unit unit = post(kSteps);
    const Digest first = open(unit, "first");
    const Digest second = open(unit, "second");
    auto state = game().game_of(anvil_.client(), first).value();
    EXPECT_EQ(state.status, GameStatus::kAsserterMoves);
    EXPECT_EQ(state.escrow_wei, escrow_);
    EXPECT_EQ(state.moves, 1U);
    EXPECT_GT(state.challenger_gas, 100'000U);
    const auto clocks = game().clocks_of(anvil_.client(), first).value();
    EXPECT_EQ(clocks.challenger_s, params_.clock_s);
    EXPECT_LE(clocks.asserter_s, params_.clock_s);
    EXPECT_NE(refusal(rival_, game().timeout(first), "early").find("ClockRuns(game="),
              std::string::npos);
    EXPECT_NE(refusal(rival_, game().close(second), "close/early").find("NotFaulty(unit="),
              std::string::npos);
    const Bytes answer =
        chain::AbiSignature::parse(
            "answer(bytes32,(uint8,bool,uint8,uint64,uint64,bytes32,bytes32,"
            "bytes32),bytes32[])")
            .value()
            .encode_call(
                {first,
                 chain::AbiValue::List{std::uint64_t{1}, false, std::uint64_t{0}, std::uint64_t{0},
                                       std::uint64_t{0}, unit.name, Digest{}, Digest{}},
                 chain::AbiValue::List{}})
            .value();
    EXPECT_NE(refusal(rival_, game().move(answer, "answer"), "other").find("NotYourTurn(game="),
              std::string::npos);
    EXPECT_NE(refusal(payer_, game().move(answer, "answer"), "wrong").find("WrongCursor(given="),
              std::string::npos);

    pass(params_.clock_s + 1);
    send(rival_, game().timeout(first), "timeout");
    send(rival_, game().close(second), "close");
    EXPECT_EQ(game().game_of(anvil_.client(), first)->status, GameStatus::kFaultByClock);
    EXPECT_EQ(game().game_of(anvil_.client(), second)->status, GameStatus::kMoot);
    EXPECT_EQ(balance(challenger_.address()), tokens("1000")) << "both bonds are back";
    EXPECT_EQ(only<contracts::UnitFaulty>(events().second).at(0).asserter, owner_.address());
}

TEST_F(DisputesOnAnvil, AnAnnouncementThatIsNotOpenedIsReclaimedOrBurned) {
    const Unit unit = post(kSteps + 1);
    const Digest kept = crypto::keccak256_text("kept");
    const Digest name = announce(unit, kept, "kept");
    EXPECT_EQ(game().announced(anvil_.client(), name)->order, 1U);
    EXPECT_NE(refusal(rival_, game().announce(name), "twice").find("AlreadyAnnounced("),
              std::string::npos);
    EXPECT_NE(refusal(rival_, game().reclaim(unit.name, kept), "early").find("NotFaulty(unit="),
              std::string::npos);
    open(unit, "one");
    send(rival_, game().reclaim(unit.name, kept), "reclaim");
    EXPECT_EQ(game().announced(anvil_.client(), name)->order, 0U);

    const Digest late = announce(unit, crypto::keccak256_text("late"), "late");
    EXPECT_NE(refusal(payer_, game().forfeit(late), "soon").find("WrongBlock(from="),
              std::string::npos);
    anvil_.mine(params_.announce_blocks + params_.open_blocks + 1);
    send(payer_, game().forfeit(late), "forfeit");
    EXPECT_EQ(balance(challenger_.address()), tokens("990"));
    const auto ends = only<contracts::AnnouncementEnded>(events().second);
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_TRUE(ends[0].returned);
    EXPECT_FALSE(ends[1].returned);
}

/// The deployer's key sends something else between Stake and the game that Stake names by a nonce.
TEST(DeploymentOnAnvil, GoesOnWhereTheNonceThatStakeCountedOnIsGone) {
    chain::AnvilOptions options;
    options.block_time_ms = 100;
    TestAnvil anvil(options);
    SystemClock clock;
    const crypto::PrivateKey key = anvil.funded_key(0);
    Sender sender(anvil, key.clone(), clock);
    const auto artifacts = contracts::find_artifacts().value();
    contracts::DeployParams params;
    params.token_holder = params.settler = params.guardian = params.coordinator = key.address();
    params.token_supply = params.growth_limit = params.release_cap = tokens("1000");
    bool asked = false;
    for (int i = 0; i < 2'000 && !asked; ++i) {
        const auto cut_off =
            contracts::deploy(*sender.manager, anvil.client(), artifacts, params, 1);
        ASSERT_FALSE(cut_off.ok()) << "not cut off before the end";
        asked = sender.manager->find("deploy/Stake").ok();
    }
    ASSERT_TRUE(asked);
    ASSERT_TRUE(sender.manager->wait_mined("deploy/Stake", 20'000).ok());
    ASSERT_FALSE(sender.manager->find("deploy/DisputeGame").ok());
    chain::IntentRequest other;
    other.id = "other";
    other.to = key.address();
    ASSERT_TRUE(sender.manager->execute(other, 20'000).ok());

    const auto deployed =
        contracts::deploy(*sender.manager, anvil.client(), artifacts, params, 20'000);
    ASSERT_TRUE(deployed.ok()) << deployed.error().message;
    EXPECT_EQ(contracts::Stake(deployed->stake).game(anvil.client()).value(),
              deployed->dispute_game);
    EXPECT_EQ(contracts::DisputeGame(deployed->dispute_game).contracts(anvil.client())->stake,
              deployed->stake);
    EXPECT_TRUE(sender.manager->find("deploy/Stake/2").ok());
    EXPECT_EQ(contracts::deploy(*sender.manager, anvil.client(), artifacts, params, 20'000).value(),
              *deployed);
}

}  // namespace
}  // namespace gym::testing
