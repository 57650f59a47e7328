#pragma once

#include "filled_slots.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/protocol/unit.hpp"
#include "log_storage.hpp"
#include "players.hpp"
#include "players_fixture.hpp"

namespace gym::testing {

/// A unit that a staked worker committed to on a real chain.
class PlayTest : public PlayersTest {
  protected:
    using Fault = game::testing::Fault;
    explicit PlayTest(const dispute::testing::Sample& sample = dispute::testing::kSamples[0])
        : unit_(sample) {}

    /// One side with its own run of the unit.
    struct Side final : Party {
        Result<game::Strategy*> open(const player::Claim& /*claim*/) override {
            ++opened;
            if (failures > 0 && failures-- > 0)
                return fail(ErrorCode::kMismatch, "the device is broken");
            strategy = game::strategy_of(work());
            return strategy.get();
        }
        game::UnitWork& work() { return lie ? *lie : *run; }
        int opened = 0;    ///< so many times its run was asked for
        int failures = 0;  ///< so many times there is no run to play by
        std::unique_ptr<game::RerunWork> run;
        std::unique_ptr<game::UnitWork> lie;  ///< in the place of `run`
        std::unique_ptr<game::Strategy> strategy;
    };
    Party& asserter() override { return worker_; }
    Party& challenger() override { return verifier_; }

    void enter(Side& side, std::string name, std::uint32_t key) {
        side.run = game::testing::rerun(unit_);
        enter_chain(side, std::move(name), key);
    }

    void SetUp() override {
        DeployedTest::SetUp();
        worker_.role = player::Role::kDefend;
        enter(worker_, "worker", 2);
        enter(verifier_, "verifier", 3);
        if (staked_) stake(worker_, "500");
    }

    /// The side computes with a fault from now on.
    void break_device(Side& side, const Fault& fault) {
        const auto& range = unit_.trace.macros.at(fault.op);
        side.lie = std::make_unique<game::testing::FaultyWork>(*side.run, fault, range.leaves);
    }

    /// The worker commits to its run; round and epoch are on chain.
    void commit() {
        sign_unit();
        post_epoch();
        for (Side* side : {&worker_, &verifier_})
            save_claim(*side, side->role);
    }
    /// The round is on chain.
    void sign_unit() {
        record_ = round_record();
        game::UnitWork& work = worker_.work();
        const auto* states = work.states().value();
        protocol::UnitCommitment claim;
        claim.round_record = protocol::hash(record_);
        claim.slot = unit_.spec.slot;
        claim.records_root = engine::records_root(states->records);
        claim.final_state_root = states->state_roots.back();
        claim.delta_codec = record_.delta_codec;
        claim.delta_root = work.delta().value()->root();
        claim.steps = unit_.spec.steps;
        claim.tokens = claim.steps * record_.tokens_per_step;
        claim.flops = claim.steps * record_.flops_per_step;
        if (change_) change_(claim);
        commitment_ = protocol::sign(domain(), claim, worker_.key);
        put_round(anvil_, deployment_.commitment_log, record_);
    }
    void post_epoch() {
        const Digest leaf = protocol::commitment_leaf(commitment_);
        std::uint64_t round = record_.round;
        if (late_) {
            post_epoch(1, round, engine::testing::seed_of("in time"));
            post_next_round();
            ++round;
        }
        epoch_block_ = post_epoch(late_ ? 2 : 1, round, leaf);
    }
    /// @return its block.
    std::uint64_t post_epoch(std::uint64_t number, std::uint64_t round, const Digest& leaf) {
        const auto posted =
            send(admin_, commitments().post_epoch({number, record_.job_id, round, leaf, 1}),
                 "epoch " + std::to_string(number));
        return posted.block_number.value_or(0);
    }
    void post_next_round() {
        put_round(anvil_, deployment_.commitment_log, record_.job_id, record_.round + 1,
                  engine::testing::seed_of("next"));
    }

    [[nodiscard]] player::Claim claim_of(const Party& side, player::Role role) const {
        player::Claim claim;
        claim.role = role;
        if (about_reports()) claim.subject = player::Subject::kReport;
        claim.key = {record_.job_id, record_.round, unit_.spec.slot, 0};
        claim.evidence = {
            commitment_, protocol::unit_record(record_, unit_.spec.slot), 0, {}, late_};
        claim.epoch_block = epoch_block_;
        claim.from_block = epoch_block_;
        if (role == player::Role::kChallenge) claim.salt = engine::testing::seed_of(side.name);
        return claim;
    }
    void save_claim(Side& side, player::Role role) {
        ASSERT_TRUE(side.claims->save(claim_of(side, role)).ok());
    }

    [[nodiscard]] Digest chain_unit() const override {
        return game::unit_of(domain(), commitment_).value();
    }
    Amount stake_of_worker() { return stake_of(worker_).active; }

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
        record.delta_codec = static_cast<std::uint16_t>(unit_.trace.header.delta_codec);
        record.accept_late = accept_late_;
        record.checkpoint_every = unit_.spec.checkpoint_every;
        record.tokens_per_step = 64;
        record.flops_per_step = 1'000'000;
        record.slots = gym::testing::filled_slots(
            {unit_.spec.slot, about_reports() ? verifier_.key.address() : worker_.key.address(),
             kPpm, unit_.spec.steps});
        return record;
    }

    dispute::testing::SampleUnit unit_;
    Side worker_, verifier_;
    bool staked_ = true;
    bool accept_late_ = false;  ///< of the round's record
    bool late_ = false;         ///< the commitment is in the next round's epoch
    protocol::RoundRecord record_;
    std::function<void(protocol::UnitCommitment&)> change_;  ///< before it is signed
    protocol::SignedCommitment commitment_;
    std::uint64_t epoch_block_ = 0;
};

}  // namespace gym::testing
