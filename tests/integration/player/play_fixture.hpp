#pragma once

#include "deployed.hpp"
#include "gym/chain/dispute_contracts.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/player/game_log.hpp"
#include "gym/player/player.hpp"
#include "gym/protocol/unit.hpp"
#include "players.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {

/// A unit that a staked worker committed to on a real chain, and the players of both sides. A
/// player's process is an object: it is killed and made again by leaving and entering a scope.
class PlayTest : public DeployedTest {
  protected:
    using Fault = game::testing::Fault;

    [[nodiscard]] chain::DisputeParams dispute_terms() const override {
        chain::DisputeParams terms;
        terms.window_blocks = 400;  // 40 s, and nobody waits for them
        return terms;
    }

    /// One side: its claims on disk, its transactions, its own run of the unit.
    struct Side final : player::UnitSource {
        Result<game::UnitWork*> open(const player::Claim& /*claim*/) override {
            return lie ? lie.get() : static_cast<game::UnitWork*>(run.get());
        }
        std::string name;
        std::unique_ptr<game::RerunWork> run;
        std::unique_ptr<game::UnitWork> lie;  ///< in the place of `run`
        std::unique_ptr<player::ClaimStore> claims;
        std::unique_ptr<Sender> sender;
        crypto::PrivateKey key = crypto::PrivateKey::generate();
        std::vector<std::string> events;
    };

    void enter(Side& side, std::string name, std::uint32_t key) {
        side.name = std::move(name);
        side.key = anvil_.funded_key(key);
        side.run = game::testing::rerun(unit_);
        side.claims = player::ClaimStore::open(folder_.path() / side.name).value();
        side.sender = std::make_unique<Sender>(anvil_, side.key.clone(), clock_);
        send(payer_, token().transfer(side.key.address(), tokens("1000")), side.name);
    }

    void SetUp() override {
        DeployedTest::SetUp();
        enter(worker_, "worker", 2);
        enter(verifier_, "verifier", 3);
        const chain::Stake stake(deployment_.stake);
        send(*worker_.sender, token().approve(stake.address(), tokens("500")), "approve");
        send(*worker_.sender, stake.stake(worker_.key.address(), tokens("500")), "stake");
    }

    /// The side computes with a fault from now on.
    void break_device(Side& side, const Fault& fault) {
        const auto& range = unit_.trace.macros.at(fault.op);
        side.lie = std::make_unique<game::testing::FaultyWork>(*side.run, fault, range.leaves);
    }

    /// The worker commits to its run; round and epoch are on chain.
    void commit() {
        record_ = round_record();
        game::UnitWork& work = *worker_.open({}).value();
        const auto* states = work.states().value();
        protocol::UnitCommitment claim;
        claim.round_record = protocol::hash(record_);
        claim.slot = unit_.spec.slot;
        claim.records_root = engine::records_root(states->records);
        claim.final_state_root = states->state_roots.back();
        claim.delta_root = work.delta().value()->root();
        claim.steps = record_.steps;
        claim.tokens = record_.steps * record_.tokens_per_step;
        claim.flops = record_.steps * record_.flops_per_step;
        if (change_) change_(claim);
        commitment_ = protocol::sign(domain(), claim, worker_.key);
        const Digest leaf = protocol::commitment_leaf(commitment_);
        send(admin_, commitments().post_round(record_.job_id, record_.round, claim.round_record),
             "round");
        const auto posted = send(
            admin_, commitments().post_epoch({1, record_.job_id, record_.round, leaf, 1}), "epoch");
        epoch_block_ = posted.block_number.value_or(0);
        save_claim(worker_, player::Role::kDefend);
        save_claim(verifier_, player::Role::kChallenge);
    }

    void save_claim(Side& side, player::Role role) {
        player::Claim claim;
        claim.role = role;
        claim.key = {record_.job_id, record_.round, unit_.spec.slot, 0};
        claim.evidence = {commitment_, record_, 0, {}};
        claim.epoch_block = epoch_block_;
        claim.from_block = epoch_block_;
        if (role == player::Role::kChallenge) claim.salt = engine::testing::seed_of(side.name);
        ASSERT_TRUE(side.claims->save(claim).ok());
    }

    std::unique_ptr<player::Player> player_of(Side& side) {
        player::PlayerSetup setup{anvil_.client(),
                                  *side.sender->manager,
                                  contract(),
                                  domain(),
                                  *side.claims,
                                  side,
                                  [&side](const player::PlayerEvent& event) {
                                      side.events.push_back(event.name + ": " + event.detail);
                                  }};
        return &side == &worker_ ? player::make_defender(std::move(setup))
                                 : player::make_challenger(std::move(setup));
    }

    /// Ticks both sides until `done`. Each tick is the first one of a new process.
    void play_until(const std::function<bool()>& done, bool worker_plays = true,
                    bool verifier_plays = true) {
        for (int ticks = 0; ticks < 600 && !done(); ++ticks) {
            if (worker_plays) tick(worker_);
            if (verifier_plays) tick(verifier_);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        std::string story;
        for (const Side* side : {&worker_, &verifier_})
            for (const std::string& event : side->events)
                story += side->name + " " + event + "\n";
        ASSERT_TRUE(done()) << story;
    }
    void tick(Side& side) {
        const Status done = player_of(side)->tick();
        EXPECT_TRUE(done.ok()) << done.error().message;
    }
    /// Moves the chain's clock.
    void pass(std::uint64_t seconds) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(seconds) + "]");
        anvil_.mine(1);
    }

    [[nodiscard]] chain::DisputeGame contract() const {
        return chain::DisputeGame(deployment_.dispute_game);
    }
    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
    }
    [[nodiscard]] Digest chain_unit() const { return game::unit_of(domain(), commitment_).value(); }
    chain::DisputeGame::Unit on_chain() {
        return contract().unit_of(anvil_.client(), chain_unit()).value();
    }
    Amount stake_of_worker() {
        return chain::Stake(deployment_.stake)
            .stake_of(anvil_.client(), worker_.key.address())
            .value()
            .active;
    }
    Amount balance(const Side& side) {
        return token().balance_of(anvil_.client(), side.key.address()).value();
    }
    std::vector<player::GameRecord> games() {
        const auto head = anvil_.client().block(chain::BlockTag::kLatest).value()->number;
        const auto events =
            player::unit_events(anvil_.client(), contract(), chain_unit(), {0, head}).value();
        return player::replay(events).games;
    }

    protocol::RoundRecord round_record() const {
        protocol::RoundRecord record;
        record.job_id = engine::testing::seed_of("job");
        record.round = unit_.spec.round;
        record.previous_record = engine::testing::seed_of("the round before");
        record.base_state_root = unit_.spec.base_state_root;
        record.momentum_root = engine::testing::seed_of("momentum");
        record.program_root = unit_.spec.program_root;
        record.aggregate_program_root = engine::testing::seed_of("aggregate");
        record.evaluate_program_root = engine::testing::seed_of("evaluate");
        record.dataset_root = unit_.spec.dataset_root;
        record.job_seed = unit_.spec.job_seed;
        record.trace_root = dispute::trace_root(unit_.trace.header);
        record.initial_state_root =
            dispute::round_roots(unit_.program, unit_.base).value().initial_state_root;
        record.steps = unit_.spec.steps;
        record.checkpoint_every = unit_.spec.checkpoint_every;
        record.tokens_per_step = 64;
        record.flops_per_step = 1'000'000;
        record.slots = {{unit_.spec.slot, worker_.key.address(), protocol::kPpm}};
        return record;
    }

    dispute::testing::SampleUnit unit_{dispute::testing::kSamples[0]};
    TemporaryFolder folder_;
    Side worker_, verifier_;
    protocol::RoundRecord record_;
    std::function<void(protocol::UnitCommitment&)> change_;  ///< before it is signed
    protocol::SignedCommitment commitment_;
    std::uint64_t epoch_block_ = 0;
};

}  // namespace gym::testing
