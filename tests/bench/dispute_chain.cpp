#include "dispute_chain.hpp"

#include "bench_support.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/game/calldata.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/state.hpp"
#include "gym/game/strategy.hpp"
#include "log_storage.hpp"
#include "must.hpp"

namespace gym::bench {
namespace {

constexpr std::uint32_t kTimeoutMs = 120'000;
constexpr std::size_t kMovesMax = 60;
/// Units of an epoch and workers of a round: what opening evidence grows with.
constexpr std::uint32_t kUnits = 4;

using testing::must;

Amount tokens(const char* text) {
    return must(Amount::parse_tokens(text), text);
}

}  // namespace

DisputeChain::DisputeChain()
    : admin_(anvil_.funded_key(0)),
      worker_(anvil_.funded_key(1)),
      challenger_(anvil_.funded_key(2)),
      file_(must(chain_store::SqliteChainStore::open(":memory:"), "store")),
      store_(file_->intents(anvil_.chain_id(), admin_.address())) {
    chain::TxManager manager(anvil_.client(), *store_, admin_.clone(), clock_,
                             testing::test_policy(anvil_.chain_id()), contracts::describe_revert);
    contracts::DeployParams params;
    params.token_holder = params.settler = params.guardian = params.coordinator = admin_.address();
    params.token_supply = params.growth_limit = params.release_cap = tokens("1000000");
    deployment_ =
        must(contracts::deploy(manager, anvil_.client(),
                               must(contracts::find_artifacts(), "artifacts"), params, kTimeoutMs),
             "deployment");
    anvil_.rpc("anvil_autoImpersonateAccount", "[true]");
    const contracts::GymToken token(deployment_.chain_id, deployment_.token);
    const Amount much = tokens("100000");
    send(admin_.address(), token.transfer(worker_.address(), much));
    send(admin_.address(), token.transfer(challenger_.address(), much));
    send(worker_.address(), token.approve(deployment_.stake, much));
    send(worker_.address(),
         contracts::Stake(deployment_.stake).stake(worker_.address(), tokens("1000")));
    send(challenger_.address(), token.approve(deployment_.dispute_game, much));
}

std::uint64_t DisputeChain::send(const Address& from, const Address& to, const Bytes& data,
                                 const Amount& value, const std::string& what) {
    const chain::Receipt receipt =
        anvil_.transact({.from = from, .to = to, .data = data, .value_wei = value});
    if (!receipt.success) assertion_failed(what, "reverted", __FILE__, __LINE__);
    return receipt.gas_used;
}

void DisputeChain::send(const Address& from, const contracts::ContractCall& call) {
    send(from, call.to, call.data, Amount(), call.label);
}

/// Puts the unit on chain. @return call data that opens a game about it.
Bytes DisputeChain::post(const Sides& sides, const Digest& salt, Digest& unit) {
    const game::Facts& facts = sides.facts;
    protocol::RoundRecord record;
    record.job_id = salt;
    record.round = facts.round;
    record.program_root = sides.program_root;
    record.base_state_root = sides.base_state_root;
    record.dataset_root = facts.dataset_root;
    record.trace_root = facts.trace_root;
    record.initial_state_root = facts.initial_state_root;
    record.job_seed = facts.job_seed;
    record.momentum_root = record.evaluate_program_root = record.previous_record =
        record.aggregate_program_root = salt;
    record.checkpoint_every = facts.checkpoint_every;
    record.tokens_per_step = 1024;
    record.flops_per_step = 1'000'000;
    for (std::uint32_t slot = 0; slot < kUnits; ++slot)
        record.slots.push_back({slot,
                                slot == facts.slot ? worker_.address()
                                                   : chain::private_chain_key(100 + slot).address(),
                                kPpm, facts.steps});
    game::Evidence evidence;
    protocol::UnitCommitment& says = evidence.commitment.commitment;
    says.round_record = protocol::hash(record);
    says.slot = facts.slot;
    says.records_root = facts.records_root;
    says.final_state_root = facts.final_state_root;
    says.delta_root = facts.delta_root;
    says.steps = facts.steps;
    says.tokens = record.tokens_per_step * facts.steps;
    says.flops = record.flops_per_step * facts.steps;
    const auto domain = protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
    evidence.commitment = protocol::sign(domain, says, worker_);
    std::vector<Digest> leaves(kUnits, salt);
    leaves[facts.slot] = protocol::commitment_leaf(evidence.commitment);
    evidence.index = facts.slot;
    evidence.path = must(commit::merkle_prove(leaves, facts.slot), "path");
    evidence.record = protocol::unit_record(record, facts.slot);
    const contracts::CommitmentLog log(deployment_.commitment_log);
    gym::testing::put_round(anvil_, log.address(), record);
    send(admin_.address(), log.post_epoch({games_, record.job_id, record.round,
                                           commit::merkle_root(leaves), kUnits}));
    unit = must(game::unit_of(domain, evidence.commitment), "unit");
    return game::encode_open(evidence, salt);
}

PlayedGame DisputeChain::play(const Sides& sides) {
    const Digest salt = crypto::keccak256_text("game " + std::to_string(++games_));
    Digest unit;
    const Bytes opening = post(sides, salt, unit);
    const Address& table = deployment_.dispute_game;
    PlayedGame played;
    const auto transact = [&](Spent& spent, const Address& from, const Bytes& data,
                              const Amount& value, std::string_view what) {
        const std::uint64_t gas = send(from, table, data, value, std::string(what));
        ++spent.transactions;
        spent.gas += gas;
        spent.bytes += data.size();
        played.gas.emplace_back(what, gas);
        return gas;
    };
    const double start = seconds_now();
    const Address challenger = challenger_.address();
    const Digest id = game::announcement_of(deployment_.chain_id, table, challenger, unit, salt);
    transact(played.challenger, challenger, contracts::DisputeGame(table).announce(id).data,
             Amount(), "announce");
    anvil_.mine(2);
    transact(played.challenger, challenger, opening, tokens("1"), "open");
    game::GameTranscript transcript(sides.facts, game::start_of(unit, sides.facts));
    for (std::size_t moves = 0; moves < kMovesMax; ++moves) {
        const bool challenges = transcript.at().answered;
        const game::Move move =
            challenges ? must(game::plan_challenge(sides.challenger, transcript), "challenge")
                       : must(game::plan_answer(sides.worker, transcript), "answer");
        const Bytes data = game::encode_call({id, transcript.at(), move});
        const std::uint64_t gas = transact(challenges ? played.challenger : played.worker,
                                           challenges ? challenger : worker_.address(), data,
                                           Amount(), game::name_of(move));
        if (game::is_proof(move)) {
            played.proof_gas = gas;
            played.proof = game::name_of(move);
            break;
        }
        const Status status = transcript.play(move);
        if (!status.ok()) assertion_failed("move", status.error().message, __FILE__, __LINE__);
    }
    played.seconds = seconds_now() - start;
    const auto ended = must(contracts::DisputeGame(table).game_of(anvil_.client(), id), "game");
    GYM_ASSERT(ended.status == game::GameStatus::kFaultProven, "the fault is proven");
    return played;
}

}  // namespace gym::bench
