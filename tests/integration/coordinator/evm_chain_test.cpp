// The chain port over a real node and the real contract.
#include "gym/coordinator/adapters/evm_chain.hpp"
#include "gym/coordinator/adapters/evm_stake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "anvil.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/game/evidence.hpp"
#include "log_storage.hpp"
#include "manual_clock.hpp"

namespace gym::testing {
namespace {

Digest digest(std::string_view text) {
    return commit::sha256(as_bytes(text));
}

/// The contracts on a private chain with a block every 100 ms that survives a stop; one key holds
/// every role.
class EvmChainTest : public ::testing::Test {
  protected:
    static chain::AnvilOptions options() {
        chain::AnvilOptions out;
        out.block_time_ms = 100;
        out.persist = true;
        return out;
    }
    void SetUp() override {
        contracts::DeployParams params;
        params.token_holder = key_.address();
        params.token_supply = params.growth_limit = params.release_cap = Amount(1'000);
        params.settler = params.guardian = params.coordinator = key_.address();
        params.dispute.bond = Amount(10);
        const auto deployed = contracts::deploy(
            manager_, anvil_.client(), contracts::find_artifacts().value(), params, 20'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        deployment = *deployed;
        port = coordinator::make_evm_chain(anvil_.client(), manager_,
                                           {deployed->commitment_log, {}}, 1);
    }
    /// Ticks until `ask` has an answer; the chain makes a block every 100 ms.
    template <class F>
    auto wait_for(F&& ask) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        for (;;) {
            const Status ticked = port->tick();
            EXPECT_TRUE(ticked.ok()) << ticked.error().message;
            auto answer = ask();
            if (answer || std::chrono::steady_clock::now() > deadline) return answer;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }

    protocol::RoundRecord record_of(std::uint64_t round) const {
        protocol::RoundRecord out;
        out.job_id = job;
        out.round = round;
        out.base_state_root = digest("base");
        out.momentum_root = digest("momentum");
        return out;
    }
    static coordinator::RoundPost post_of(const protocol::RoundRecord& record, Bytes origin) {
        return {record.job_id, record.round, protocol::hash(record),
                protocol::encode(protocol::head_of(record)), std::move(origin)};
    }
    coordinator::RoundPost first_round() const { return post_of(record_of(1), {}); }
    /// The coordinator's to an aggregate of the round.
    protocol::SignedCommitment aggregate_of(const protocol::RoundRecord& record,
                                            const Digest& base) const {
        protocol::UnitCommitment made;
        made.kind = protocol::UnitKind::kAggregate;
        made.round_record = protocol::hash(record);
        made.slot = protocol::kAggregateSlot;
        made.records_root = digest("records");
        made.final_state_root = base;
        made.delta_root = digest("next momentum");
        made.steps = 1;
        return protocol::sign(domain(), made, key_);
    }
    /// The round behind `before`, made from one delta by the aggregate.
    static protocol::RoundRecord next_of(const protocol::RoundRecord& before,
                                         const protocol::SignedCommitment& aggregate) {
        protocol::RoundRecord out = before;
        out.round += 1;
        out.previous_record = protocol::hash(before);
        out.base_state_root = aggregate.commitment.final_state_root;
        out.momentum_root = aggregate.commitment.delta_root;
        out.included = {{0, before.job_id, before.job_id}};
        return out;
    }
    void post(const coordinator::RoundPost& record) {
        ASSERT_TRUE(port->post_round(record).ok());
        ASSERT_TRUE(wait_for([&] {
            return port->round_posted(record.job_id, record.round, record.record_hash).value();
        }));
    }
    /// What the contract says of a round that a coordinator tries to post.
    std::string refusal_of(const coordinator::RoundPost& record) {
        const contracts::CommitmentLog log(deployment.commitment_log);
        const auto call = log.post_round({record.job_id, record.round, record.head, record.origin});
        const auto done =
            manager_.execute(call.intent("refused " + std::to_string(++calls_)), 20'000);
        return done.ok() ? "posted" : done.error().message;
    }

    void execute(const contracts::ContractCall& call) {
        const auto done = manager_.execute(call.intent("call " + std::to_string(++calls_)), 20'000);
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    /// A commitment of `worker` in a round and an epoch of its own that are on chain. It says one
    /// step more than the round has if it is `wrong`.
    game::Evidence post_unit(std::uint64_t round, const crypto::PrivateKey& worker, bool wrong) {
        game::Evidence out;
        protocol::RoundRecord record;
        record.job_id = job;
        record.round = round;
        record.program_root = record.dataset_root = record.trace_root = job;
        record.base_state_root = record.momentum_root = record.initial_state_root = job;
        record.evaluate_program_root = record.job_seed = job;
        record.checkpoint_every = 1;
        record.tokens_per_step = 10;
        record.flops_per_step = 100;
        record.slots = {{0, worker.address(), kPpm, 3}};
        protocol::UnitCommitment says;
        says.round_record = protocol::hash(record);
        says.records_root = says.final_state_root = says.delta_root = job;
        says.steps = record.slots[0].steps + (wrong ? 1 : 0);
        says.tokens = says.steps * record.tokens_per_step;
        says.flops = says.steps * record.flops_per_step;
        out.commitment = protocol::sign(domain(), says, worker);
        out.record = protocol::unit_record(record, 0);
        const contracts::CommitmentLog log(deployment.commitment_log);
        put_round(anvil_, log.address(), record);
        execute(log.post_epoch({round, job, round, protocol::commitment_leaf(out.commitment), 1}));
        return out;
    }
    Digest open_game(const game::Evidence& evidence) {
        const contracts::DisputeGame contract(deployment.dispute_game);
        const Digest unit = game::unit_of(domain(), evidence.commitment).value();
        const Digest salt = digest("salt");
        execute(contract.announce(game::announcement_of(deployment.chain_id, contract.address(),
                                                        key_.address(), unit, salt)));
        anvil_.mine(2);
        execute(
            contract.open(game::encode_open(evidence, salt), Amount::parse_tokens("1").value()));
        return unit;
    }
    /// The network has a dispute game, in which the worker's stake is locked and games are opened.
    void play_games() {
        port = coordinator::make_evm_chain(anvil_.client(), manager_,
                                           {deployment.commitment_log, deployment.dispute_game}, 1);
        const Address worker = chain::private_chain_key(5).address();
        const contracts::GymToken token(deployment.chain_id, deployment.token);
        execute(token.approve(deployment.stake, Amount(70)));
        execute(contracts::Stake(deployment.stake).stake(worker, Amount(70)));
        execute(token.approve(deployment.dispute_game, Amount(100)));
    }
    std::uint64_t head() { return anvil_.client().block(chain::BlockTag::kLatest).value()->number; }
    /// The news behind `seen`, once there is a block behind it.
    coordinator::GameNews look(std::uint64_t seen, const std::vector<Digest>& open) {
        for (int i = 0; i < 1'000; ++i) {
            const auto news = port->games_since(seen, open);
            EXPECT_TRUE(news.ok()) << news.error().message;
            if (!news.ok() || *news) return news.ok() ? **news : coordinator::GameNews();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        ADD_FAILURE() << "no block came";
        return {};
    }
    crypto::Eip712Domain domain() const {
        return protocol::signing_domain(deployment.chain_id, deployment.commitment_log);
    }

    TestAnvil anvil_{options()};
    SystemClock clock_;
    crypto::PrivateKey key_ = anvil_.funded_key(0);
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<chain::IntentStore> intents_ =
        file_->intents(anvil_.chain_id(), key_.address());
    chain::TxManager manager_{
        anvil_.client(),           *intents_, key_.clone(), clock_, test_policy(anvil_.chain_id()),
        contracts::describe_revert};
    const Digest job = digest("job");
    int calls_ = 0;
    contracts::Deployment deployment;
    std::unique_ptr<coordinator::ChainPort> port;
};

TEST_F(EvmChainTest, PostsRoundsAndEpochsOnceAndReadsTheBeacon) {
    const coordinator::RoundPost record = first_round();
    EXPECT_FALSE(port->round_posted(job, 1, record.record_hash).value());
    ASSERT_TRUE(port->post_round(record).ok());
    ASSERT_TRUE(port->post_round(record).ok()) << "repeating it succeeds";
    ASSERT_TRUE(wait_for([&] { return port->round_posted(job, 1, record.record_hash).value(); }));
    EXPECT_EQ(port->round_posted(job, 1, digest("another")).error().code, ErrorCode::kConflict);

    const coordinator::EpochPost epoch{1, job, 1, digest("root"), 3};
    EXPECT_FALSE(port->epoch_block(epoch).value().has_value());
    ASSERT_TRUE(port->post_epoch(epoch).ok());
    const auto block = wait_for([&] { return port->epoch_block(epoch).value(); });
    ASSERT_TRUE(block.has_value());
    coordinator::EpochPost other = epoch;
    other.count = 4;
    EXPECT_EQ(port->epoch_block(other).error().code, ErrorCode::kConflict);

    const auto beacon = wait_for([&] { return port->randomness(*block + 2).value(); });
    ASSERT_TRUE(beacon.has_value());
    EXPECT_EQ(*beacon, anvil_.client().block(*block + 2).value()->prevrandao);
    EXPECT_FALSE(port->randomness(*block + 100'000).value().has_value());
}

TEST_F(EvmChainTest, ARoundBringsTheAggregateThatMadeItsBase) {
    const protocol::RoundRecord first = record_of(1);
    post(post_of(first, {}));
    const auto aggregate = aggregate_of(first, digest("next base"));
    coordinator::AggregatePost own{job, 1, game::unit_of(domain(), aggregate).value(),
                                   protocol::encode(aggregate)};
    EXPECT_FALSE(port->aggregate_block(own).value().has_value());
    const protocol::RoundRecord second = next_of(first, aggregate);
    post(post_of(second, own.commitment));
    const auto block = wait_for([&] { return port->aggregate_block(own).value(); });
    ASSERT_TRUE(block.has_value());
    EXPECT_GT(*block, 0U);
    own.unit = digest("another aggregate");
    EXPECT_EQ(port->aggregate_block(own).error().code, ErrorCode::kConflict);

    // The last one of a job, which no other round follows.
    const auto final_one = aggregate_of(second, digest("last base"));
    const coordinator::AggregatePost last{job, 2, game::unit_of(domain(), final_one).value(),
                                          protocol::encode(final_one)};
    ASSERT_TRUE(port->post_aggregate(last).ok());
    ASSERT_TRUE(port->post_aggregate(last).ok()) << "repeating it succeeds";
    EXPECT_TRUE(wait_for([&] { return port->aggregate_block(last).value(); }));
}

/// A coordinator that begins a round with a state of its own choice.
TEST_F(EvmChainTest, ARoundWithABaseThatNoAggregateMadeIsRefused) {
    const protocol::RoundRecord first = record_of(1);
    post(post_of(first, {}));
    const auto aggregate = aggregate_of(first, digest("next base"));
    const Bytes signed_one = protocol::encode(aggregate);
    protocol::RoundRecord other = next_of(first, aggregate);
    other.base_state_root = digest("a base of its own choice");
    EXPECT_NE(refusal_of(post_of(other, signed_one)).find("WrongBase"), std::string::npos);
    // It names no aggregate, or says that nothing went in.
    EXPECT_NE(refusal_of(post_of(other, {})).find("WrongDeltas"), std::string::npos);
    other.included.clear();
    const Bytes head = protocol::encode(protocol::head_of(first));
    EXPECT_NE(refusal_of(post_of(other, head)).find("WrongBase"), std::string::npos);
    // Its aggregate is nobody's whose stake answers for it.
    const auto strangers = protocol::sign(domain(), aggregate.commitment, anvil_.funded_key(3));
    EXPECT_NE(refusal_of(post_of(next_of(first, aggregate), protocol::encode(strangers)))
                  .find("NotACoordinator"),
              std::string::npos);
    EXPECT_FALSE(port->round_posted(job, 2, protocol::hash(other)).value());
    // Without deltas the base stays.
    other.base_state_root = first.base_state_root;
    other.momentum_root = first.momentum_root;
    post(post_of(other, head));
}

TEST_F(EvmChainTest, ANodeThatIsAwayIsUnavailableAndThenGoesOn) {
    const coordinator::RoundPost record = first_round();
    ASSERT_TRUE(port->post_round(record).ok());
    anvil_.stop(false);
    EXPECT_FALSE(port->round_posted(job, 1, record.record_hash).ok());
    anvil_.start();
    EXPECT_TRUE(
        wait_for([&] { return port->round_posted(job, 1, record.record_hash).value_or(false); }));
}

TEST_F(EvmChainTest, GamesAreReadOnceForAllUnitsAndAgainAfterARestart) {
    EXPECT_FALSE(port->dispute_game()) << "a network without games";
    play_games();
    EXPECT_EQ(port->dispute_game(), deployment.dispute_game);
    const crypto::PrivateKey worker = chain::private_chain_key(5);

    const auto start = port->games_since({}, {}).value();
    ASSERT_TRUE(start);
    EXPECT_TRUE(start->units.empty());
    EXPECT_EQ(start->window_blocks, game::DisputeParams().window_blocks);
    const Digest right = open_game(post_unit(1, worker, false));
    const Digest wrong = open_game(post_unit(2, worker, true));
    const auto both_at = [&](const auto& news) {
        std::map<Digest, registry::DisputedUnit> out;
        for (const registry::DisputedUnit& unit : news->units)
            out.emplace(unit.name, unit);
        return out;
    };
    std::uint64_t seen = start->seen_block;
    const auto news = wait_for([&] {
        auto now = port->games_since(start->seen_block, {}).value();
        return now && now->units.size() == 2 && both_at(now).at(wrong).faulty ? now : std::nullopt;
    });
    ASSERT_TRUE(news);
    EXPECT_GT(news->seen_block, seen);
    registry::DisputedUnit open = both_at(news).at(right);
    ASSERT_TRUE(open.opened_block);
    EXPECT_GT(*open.opened_block, seen);
    EXPECT_LE(*open.opened_block, news->seen_block);
    EXPECT_EQ(open, (registry::DisputedUnit{right, worker.address(), 1, false, open.opened_block}));
    const registry::DisputedUnit ended = both_at(news).at(wrong);
    EXPECT_EQ(ended,
              (registry::DisputedUnit{wrong, worker.address(), 0, true, ended.opened_block}));
    EXPECT_GT(ended.opened_block, open.opened_block) << "it was opened later";

    seen = news->seen_block;
    EXPECT_FALSE(port->games_since(seen + 1'000, {right}).value()) << "the chain is not there yet";
    // The last blocks are looked at again: a reorganisation may have changed them.
    const auto again = wait_for([&] { return port->games_since(seen, {}).value(); });
    EXPECT_EQ(again->units.size(), 2U);
    // An open game is asked for, however long ago it began.
    anvil_.mine(100);
    seen = anvil_.client().block(chain::BlockTag::kLatest).value()->number;
    const auto later = wait_for([&] { return port->games_since(seen, {right}).value(); });
    open.opened_block.reset();  // not among what is new: what was stored stays
    EXPECT_EQ(both_at(later).at(right), open);
}

TEST_F(EvmChainTest, WhatIsOpenForLongIsAskedForInTurnsAndWhatHasALogAtOnce) {
    play_games();
    const Digest unit = open_game(post_unit(1, chain::private_chain_key(5), false));
    std::vector<Digest> open;
    for (int i = 0; i < 30; ++i)
        open.push_back(digest("game " + std::to_string(i)));
    std::set<Digest> asked;
    std::uint64_t seen = head();
    for (int looks = 0; looks < 4; ++looks) {
        anvil_.mine(1);
        const auto news = look(seen, open);
        EXPECT_LE(news.units.size(), 9U);
        for (const registry::DisputedUnit& now : news.units)
            asked.insert(now.name);
        EXPECT_TRUE(std::ranges::any_of(news.units, [&](const auto& now) {
            return now.name == unit && now.open_games == 1;
        })) << "its opening is new";
        seen = news.seen_block;
    }
    EXPECT_EQ(asked.size(), open.size() + 1);
}

TEST_F(EvmChainTest, AVerdictThatAReorganisationTookIsTakenBack) {
    play_games();
    anvil_.mine(100);
    const std::uint64_t start = head();
    const game::Evidence wrong = post_unit(1, chain::private_chain_key(5), true);
    const std::string before = anvil_.rpc("evm_snapshot", "[]");
    const Digest unit = open_game(wrong);
    anvil_.mine(1);
    const auto proven = look(start, {});
    ASSERT_EQ(proven.units.size(), 1U);
    EXPECT_TRUE(proven.units[0].faulty);
    anvil_.rpc("evm_revert", "[" + before + "]");
    anvil_.mine(100);
    const auto gone = look(proven.seen_block, {});
    ASSERT_EQ(gone.units.size(), 1U) << "no log speaks of it any more";
    EXPECT_EQ(gone.units[0], (registry::DisputedUnit{unit, Address(), 0, false, {}}));
    EXPECT_TRUE(look(gone.seen_block, {}).units.empty()) << "not for ever";
}

TEST_F(EvmChainTest, GamesOfAnotherLogAreNoneOfOurs) {
    const Address elsewhere = chain::private_chain_key(7).address();
    port = coordinator::make_evm_chain(anvil_.client(), manager_,
                                       {elsewhere, deployment.dispute_game}, 0);
    EXPECT_EQ(port->games_since({}, {}).error().code, ErrorCode::kConflict);
}

TEST_F(EvmChainTest, StakesAreThoseOfTheContractAndAskedForAgainAfterAWhile) {
    testing::ManualClock clock(1'000);
    const auto stakes =
        coordinator::make_evm_stake(anvil_.client(), deployment.stake, clock, 10'000);
    const Address worker = chain::private_chain_key(5).address();
    EXPECT_TRUE(stakes->active_stake(worker)->is_zero());
    const contracts::Stake contract(deployment.stake);
    const contracts::GymToken token(deployment.chain_id, deployment.token);
    for (const auto& [id, call] :
         {std::pair{"approve", token.approve(deployment.stake, Amount(1'000))},
          std::pair{"stake", contract.stake(worker, Amount(70))}}) {
        const auto done = manager_.execute(call.intent(id), 20'000);
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    clock.advance_ms(9'999);
    EXPECT_TRUE(stakes->active_stake(worker)->is_zero()) << "kept";
    clock.advance_ms(1);
    EXPECT_EQ(stakes->active_stake(worker).value(), Amount(70));
    // More than one batch takes, the known one among them.
    std::vector<Address> many(2 * chain::ChainClient::kCallsPerBatchMax + 50);
    for (std::size_t i = 0; i < many.size(); ++i) {
        many[i].data[0] = static_cast<std::uint8_t>(i);
        many[i].data[1] = static_cast<std::uint8_t>(1 + i / 256);
    }
    many.push_back(worker);
    clock.advance_ms(10'000);
    const auto all = stakes->active_stakes(many);
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_EQ(all->size(), many.size());
    EXPECT_EQ(all->at(worker), Amount(70));
    EXPECT_TRUE(all->at(many[150]).is_zero());
    const auto nowhere = coordinator::make_evm_stake(anvil_.client(), worker, clock, 10'000);
    EXPECT_EQ(nowhere->active_stake(worker).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::testing
