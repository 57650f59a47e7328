#include "contract_chain.hpp"

#include <algorithm>

#include "filled_slots.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/game/calldata.hpp"
#include "log_storage.hpp"
#include "must.hpp"

namespace gym::game::testing {
namespace {

constexpr std::uint32_t kTimeoutMs = 60'000;

using gym::testing::must;

template <class T>
void compare(std::string& out, const char* what, const T& on_chain, const T& expected) {
    if (!(on_chain == expected)) out += std::string(what) + " ";
}

}  // namespace

ContractChain::ContractChain(const DisputeParams& terms) : admin_(anvil_.funded_key(0)) {
    file_ = must(chain_store::SqliteChainStore::open(":memory:"), "store");
    store_ = file_->intents(anvil_.chain_id(), admin_.address());
    chain::TxManager manager(anvil_.client(), *store_, admin_.clone(), clock_,
                             gym::testing::test_policy(anvil_.chain_id()),
                             contracts::describe_revert);
    contracts::DeployParams params;
    params.token_holder = params.settler = params.guardian = params.coordinator = admin_.address();
    params.token_supply = params.growth_limit = params.release_cap = Amount(100 * kTokens);
    params.dispute = terms;
    deployment_ =
        must(contracts::deploy(manager, anvil_.client(),
                               must(contracts::find_artifacts(), "artifacts"), params, kTimeoutMs),
             "deployment");
    anvil_.rpc("anvil_autoImpersonateAccount", "[true]");
    const contracts::GymToken token(deployment_.chain_id, deployment_.token);
    std::uint64_t time = now();
    for (std::uint32_t i = 0; i < kAccounts; ++i) {
        keys_.push_back(anvil_.funded_key(1 + i));
        accounts_.push_back(keys_.back().address());
        must_send(admin_.address(), token.transfer(accounts_[i], Amount(kTokens)), ++time);
        must_send(accounts_[i], token.approve(deployment_.stake, Amount(kTokens)), ++time);
        must_send(accounts_[i], token.approve(deployment_.dispute_game, Amount(kTokens)), ++time);
        must_send(accounts_[i],
                  contracts::Stake(deployment_.stake).stake(accounts_[i], Amount(kStake)), ++time);
    }
}

std::uint64_t ContractChain::now() {
    const auto block = must(anvil_.client().block(chain::BlockTag::kLatest), "block");
    GYM_ASSERT(block.has_value(), "a chain has a latest block");
    return block->timestamp_s;
}

chain::Receipt ContractChain::send(const TxContext& tx, const Address& to, const Bytes& data) {
    anvil_.rpc("evm_setNextBlockTimestamp", "[" + std::to_string(tx.time) + "]");
    anvil_.rpc("anvil_setNextBlockBaseFeePerGas",
               "[\"" + gym::testing::quantity(Amount(tx.base_fee)) + "\"]");
    return anvil_.transact({.from = tx.sender,
                            .to = to,
                            .data = data,
                            .value_wei = tx.value,
                            .gas_price_wei = Amount(tx.gas_price)});
}

void ContractChain::must_send(const Address& from, const contracts::ContractCall& call,
                              std::uint64_t time) {
    TxContext tx;
    tx.sender = from;
    tx.time = time;
    tx.base_fee = tx.gas_price = 1;
    if (!send(tx, call.to, call.data).success)
        assertion_failed(call.label, "reverted", __FILE__, __LINE__);
}

ChainUnit ContractChain::post(std::uint32_t asserter, const Facts& facts, bool contradicts,
                              std::uint64_t time) {
    const Digest name = crypto::keccak256_text("job " + std::to_string(epochs_));
    ChainUnit unit;
    protocol::RoundRecord record;
    record.job_id = record.base_state_root = record.momentum_root = record.program_root = name;
    record.previous_record = record.aggregate_program_root = record.evaluate_program_root = name;
    record.round = facts.round;
    record.dataset_root = facts.dataset_root;
    record.trace_root = facts.trace_root;
    record.initial_state_root = facts.initial_state_root;
    record.job_seed = facts.job_seed;
    record.checkpoint_every = facts.checkpoint_every;
    record.tokens_per_step = record.flops_per_step = 64;
    record.slots = gym::testing::filled_slots({facts.slot, accounts_[asserter], kPpm, facts.steps});
    protocol::UnitCommitment says;
    says.round_record = protocol::hash(record);
    says.slot = facts.slot;
    says.records_root = facts.records_root;
    says.final_state_root = facts.final_state_root;
    says.delta_root = facts.delta_root;
    says.steps = facts.steps;
    says.tokens = 64 * facts.steps + (contradicts ? 1 : 0);
    says.flops = 64 * facts.steps;
    unit.evidence.commitment = protocol::sign(domain(), says, keys_[asserter]);
    unit.evidence.record = protocol::unit_record(record, says.slot);
    post_round(record, {protocol::commitment_leaf(unit.evidence.commitment), 1}, time);
    unit.opening.unit = must(unit_of(domain(), unit.evidence.commitment), "unit");
    unit.opening.asserter = accounts_[asserter];
    unit.opening.facts = facts_of(says, unit.evidence.record);
    unit.opening.fault =
        must(contradiction(says, unit.evidence.record, accounts_[asserter]), "contradiction");
    unit.opening.epoch_block = block();
    return unit;
}

std::uint64_t ContractChain::block() {
    return must(anvil_.client().block(chain::BlockTag::kLatest), "block")->number;
}

void ContractChain::post_round(const protocol::RoundRecord& record, const EpochRoot& epoch,
                               std::uint64_t time) {
    const contracts::CommitmentLog log(deployment_.commitment_log);
    gym::testing::put_round(anvil_, log.address(), record);
    if (epoch.leaves == 0) return;
    must_send(admin_.address(),
              log.post_epoch({++epochs_, record.job_id, record.round, epoch.root, epoch.leaves}),
              time + 1);
}

ChainUnit ContractChain::post_aggregate(std::uint32_t asserter, const SampleOuter& sample,
                                        OuterWork& run, bool contradicts, std::uint64_t time) {
    const protocol::RoundRecord& record = sample.record;
    protocol::UnitCommitment says = sample.outcome(run);
    says.tokens = contradicts ? 1 : 0;
    const EpochRoots epochs = sample.epoch_roots();
    post_round(sample.previous, epochs.previous, time);
    post_round(record, epochs.own, time + 2);
    ChainUnit unit;
    unit.evidence = {protocol::sign(domain(), says, keys_[asserter]),
                     protocol::unit_record(record, says.slot),
                     0,
                     {}};
    unit.opening.unit = must(unit_of(domain(), unit.evidence.commitment), "unit");
    unit.opening.asserter = accounts_[asserter];
    unit.opening.facts = outer_facts_of(says, record, epochs);
    unit.opening.fault =
        must(contradiction(says, unit.evidence.record, accounts_[asserter]), "contradiction");
    gym::testing::let_sign(anvil_, deployment_.commitment_log, accounts_[asserter]);
    const contracts::CommitmentLog log(deployment_.commitment_log);
    must_send(
        admin_.address(),
        log.post_aggregate(record.job_id, record.round, protocol::encode(unit.evidence.commitment)),
        time + 4);
    unit.opening.epoch_block = block();
    unit.conflict = Conflict{unit.evidence.commitment, protocol::head_of(record), {}};
    std::optional<std::uint64_t> window = unit.opening.epoch_block;
    if (contradicts) {
        protocol::RoundRecord next = record;
        next.round += 1;
        next.previous_record = says.round_record;
        next.base_state_root = record.momentum_root;
        post_round(next, {}, time + 5);
        unit.conflict->other = protocol::encode(protocol::head_of(next));
        window.reset();
    } else {
        says.flops += 1;
        unit.conflict->other = protocol::encode(protocol::sign(domain(), says, keys_[asserter]));
    }
    unit.conflict_opening =
        ConflictOpening{must(decide_conflict(domain(), *unit.conflict), "conflict"), window};
    return unit;
}

contracts::ContractCall ContractChain::call_of(const sim::Call& call,
                                               const std::vector<ChainUnit>& units) {
    const contracts::DisputeGame game(deployment_.dispute_game);
    const contracts::Stake stake(deployment_.stake);
    struct Visitor {
        const contracts::DisputeGame& game;
        const contracts::Stake& stake;
        const std::vector<ChainUnit>& units;
        using Out = contracts::ContractCall;
        Out operator()(const sim::AnnounceCall& c) { return game.announce(c.announcement); }
        Out operator()(const sim::OpenCall& c) {
            const auto unit = std::ranges::find(
                units, c.opening.unit, [](const ChainUnit& one) { return one.opening.unit; });
            return game.open(encode_open(unit->evidence, c.salt), {});
        }
        Out operator()(const sim::ConflictCall& c) {
            const Digest& name = c.opening.finding.unit;
            const auto unit = std::ranges::find_if(units, [&](const ChainUnit& one) {
                return one.conflict_opening && one.conflict_opening->finding.unit == name;
            });
            return game.open(encode_conflict(*unit->conflict, c.salt), {});
        }
        Out operator()(const sim::PlayCall& c) { return game.move(encode_call(*c.sent), "move"); }
        Out operator()(const sim::ReclaimCall& c) { return game.reclaim(c.unit, c.salt); }
        Out operator()(const sim::ForfeitCall& c) { return game.forfeit(c.announcement); }
        Out operator()(const sim::TimeoutCall& c) { return game.timeout(c.game); }
        Out operator()(const sim::CloseCall& c) { return game.close(c.game); }
        Out operator()(const sim::SettleCall& c) { return game.settle(c.unit); }
        Out operator()(const sim::CompensateCall& c) { return stake.compensate(c.order); }
        Out operator()(const sim::ThawCall& c) { return stake.thaw(c.amount); }
        Out operator()(const sim::WithdrawCall&) { return stake.withdraw(); }
        Out operator()(const sim::WithdrawEtherCall&) { return game.withdraw_ether(); }
    };
    return std::visit(Visitor{game, stake, units}, call);
}

ContractChain::Mined ContractChain::execute(const TxContext& tx, const sim::Call& call,
                                            const std::vector<ChainUnit>& units) {
    const contracts::ContractCall what = call_of(call, units);
    const chain::Receipt receipt = send(tx, what.to, what.data);
    Mined mined{receipt.success, receipt.block_number, 0};
    const auto* played = std::get_if<sim::PlayCall>(&call);
    if (played == nullptr) return mined;
    const auto game = must(contracts::DisputeGame(deployment_.dispute_game)
                               .game_of(anvil_.client(), played->sent->game),
                           "game");
    std::uint64_t& before = gas_[played->sent->game];
    mined.gas = game.asserter_gas - before;
    before = game.asserter_gas;
    return mined;
}

std::string ContractChain::game_difference(const Digest& id, const GameState& expected) {
    const auto game =
        must(contracts::DisputeGame(deployment_.dispute_game).game_of(anvil_.client(), id), "game");
    std::string out;
    compare(out, "unit", game.unit, expected.unit);
    compare(out, "position", game.position, expected.position);
    compare(out, "challenger", game.challenger, expected.challenger);
    compare(out, "since", game.since_s, expected.since_s);
    compare(out, "challenger's clock", game.challenger_clock_s, expected.challenger_clock_s);
    compare(out, "asserter's clock", game.asserter_clock_s, expected.asserter_clock_s);
    compare(out, "status", game.status, expected.status);
    compare(out, "order", game.order, expected.order);
    compare(out, "stage", game.stage, expected.stage);
    compare(out, "height", game.height, expected.height);
    compare(out, "moves", game.moves, expected.moves);
    compare(out, "escrow", game.escrow_wei, expected.escrow_wei);
    return out.empty() ? out : "game " + id.hex() + ": " + out;
}

std::string ContractChain::unit_difference(const Digest& id, const UnitState& expected) {
    const auto unit =
        must(contracts::DisputeGame(deployment_.dispute_game).unit_of(anvil_.client(), id), "unit");
    std::string out;
    compare(out, "asserter", unit.asserter, expected.asserter);
    compare(out, "proven at", unit.proven_at_s, expected.proven_at_s);
    compare(out, "games", unit.games, expected.games);
    compare(out, "locked", unit.locked, expected.locked);
    compare(out, "settled", unit.settled, expected.settled);
    compare(out, "finder", unit.finder, expected.finder);
    compare(out, "order", unit.order, expected.order);
    compare(out, "last order", unit.last_order, expected.last_order);
    compare(out, "by clock", unit.by_clock, expected.by_clock);
    return out.empty() ? out : "unit " + id.hex() + ": " + out;
}

std::string ContractChain::account_difference(const DisputeSimulator& simulator,
                                              const Address& who) {
    const contracts::GymToken token(deployment_.chain_id, deployment_.token);
    const auto stake =
        must(contracts::Stake(deployment_.stake).stake_of(anvil_.client(), who), "stake");
    std::string out;
    compare(out, "tokens", must(token.balance_of(anvil_.client(), who), "tokens"),
            simulator.tokens_of(who));
    compare(out, "stake", stake.active.plus(stake.thawing).value(), simulator.staked_by(who));
    compare(out, "locks", std::uint64_t{stake.locks}, simulator.locks_of(who));
    compare(out, "ether",
            must(contracts::DisputeGame(deployment_.dispute_game).ether_of(anvil_.client(), who),
                 "ether"),
            simulator.ether_of(who));
    return out.empty() ? out : "account " + who.hex() + ": " + out;
}

std::string ContractChain::difference(const DisputeSimulator& simulator,
                                      const std::vector<Digest>& announcements) {
    std::string out;
    for (const auto& [id, game] : simulator.games()) {
        if (over_.contains(id)) continue;
        out += game_difference(id, game);
        if (!is_open(game.status)) over_.insert(id);
    }
    for (const auto& [id, unit] : simulator.units())
        out += unit_difference(id, unit);
    for (const Address& account : accounts_)
        out += account_difference(simulator, account);
    for (const Digest& id : announcements) {
        const auto there =
            must(contracts::DisputeGame(deployment_.dispute_game).announced(anvil_.client(), id),
                 "order");
        if ((there.order != 0) != simulator.is_announced(id)) out += "announcement " + id.hex();
    }
    return out;
}

}  // namespace gym::game::testing
