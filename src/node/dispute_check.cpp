#include "dispute_check.hpp"

#include <algorithm>

#include "gym/chain/client.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/key.hpp"

namespace gym::node {
namespace {

constexpr const char* kWhere = ": its address is in the network's published deployment.json";
// A check: whoever asks comes back, and a start must not wait long for a dead chain.
constexpr chain::HttpOptions kCheckHttp{.timeout_ms = 5'000, .attempts = 2};

/// A node whose newest block is older than this is behind: what it does not know yet may be there.
constexpr std::int64_t kBehindS = 600;

/// That the contract is not what it should be. The last word only of a node that has the chain's
/// head: one that is still syncing knows no new contract, nor what was set in it since. A head
/// that is ahead of this clock, as on private chains, is new.
Error wrong_contract(chain::ChainClient& client, const std::string& what) {
    const auto head = client.block(chain::BlockTag::kLatest);
    if (!head.ok()) return head.error();
    if (!*head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    const std::int64_t age_s =
        SystemClock().now_ms() / 1'000 - static_cast<std::int64_t>((*head)->timestamp_s);
    if (age_s <= kBehindS) return fail(ErrorCode::kInvalidArgument, what + kWhere);
    return fail(ErrorCode::kUnavailable, what + ", but block " + std::to_string((*head)->number) +
                                             ", the newest one of the chain's node, is " +
                                             std::to_string(age_s) +
                                             " s old: the node is behind, and is asked again");
}

Status check_code(chain::ChainClient& client, const std::string& name, const Address& address,
                  std::uint64_t chain_id) {
    GYM_TRY(const Bytes code, client.code(address, chain::BlockTag::kLatest));
    if (!code.empty()) return {};
    return wrong_contract(client, "there is no contract at " + name + " " + address.hex() +
                                      " on chain " + std::to_string(chain_id));
}

/// Another contract than ours answers with a revert, with nothing, or with something that does not
/// decode. What else fails is the endpoint's (a refused key, its own errors), and passes.
Error not_ours(chain::ChainClient& client, const Error& error, const std::string& name,
               const Address& address) {
    constexpr ErrorCode kOfTheContract[] = {ErrorCode::kConflict, ErrorCode::kNotFound,
                                            ErrorCode::kMalformed};
    if (std::ranges::find(kOfTheContract, error.code) == std::end(kOfTheContract)) return error;
    return wrong_contract(client, "the contract at " + name + " " + address.hex() +
                                      " is another one (" + error.message + ")");
}

Status check_stake(chain::ChainClient& client, const Address& game, const Address& stake,
                   const records::NetworkDescription& network) {
    GYM_CHECK(check_code(client, "stake", stake, network.chain_id));
    const auto known = contracts::Stake(stake).game(client);
    if (!known.ok()) return not_ours(client, known.error(), "stake", stake);
    if (*known == game) return {};
    return wrong_contract(client, "the stake contract " + stake.hex() + " is slashed by the game " +
                                      known->hex() + ", not by dispute_game " + game.hex());
}

Status check_same(const char* what, const Address& here, const Address& coordinator) {
    if (coordinator.is_zero() || coordinator == here) return {};
    return fail(ErrorCode::kMismatch, std::string("the coordinator works with the ") + what + " " +
                                          coordinator.hex() + ", this node is set to " +
                                          here.hex());
}

Error needs_game(const std::string& because) {
    return fail(ErrorCode::kInvalidArgument,
                because +
                    ", but dispute_game is not set: a node that answers no dispute loses its stake "
                    "by the clock. Set dispute_game (--dispute-game) to its address in the "
                    "network's published deployment.json, and chain_rpc");
}

/// Stake of `owner` that can be slashed, thawing included; zero where the coordinator names
/// no Stake. @errors as contracts::Stake::stake_of; kInvalidArgument: no code at that address.
Result<Amount> stake_at_risk(chain::ChainClient& client, const Address& owner,
                             const records::NetworkDescription& network) {
    if (network.stake.is_zero()) return Amount();
    GYM_CHECK(check_code(client, "stake", network.stake, network.chain_id));
    GYM_TRY(const auto holding, contracts::Stake(network.stake).stake_of(client, owner));
    return holding.active.plus(holding.thawing);
}

}  // namespace

Result<Address> configured_game(const NodeConfig& config) {
    const auto address = crypto::parse_address(config.dispute_game);
    if (!address.ok())
        return fail(ErrorCode::kInvalidArgument, "dispute_game: " + address.error().message);
    if (config.chain_rpc.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "dispute_game needs chain_rpc (--chain-rpc): games are played on the chain");
    return *address;
}

bool is_lasting(ErrorCode code) noexcept {
    return code == ErrorCode::kInvalidArgument || code == ErrorCode::kMismatch;
}

Result<Address> find_stake(chain::ChainClient& client, const Address& game,
                           const records::NetworkDescription& network) {
    GYM_CHECK(chain::check_chain_id(client, network.chain_id));
    GYM_CHECK(check_code(client, "dispute_game", game, network.chain_id));
    const auto contracts = contracts::DisputeGame(game).contracts(client);
    if (!contracts.ok()) return not_ours(client, contracts.error(), "dispute_game", game);
    GYM_CHECK(check_stake(client, game, contracts->stake, network));
    return contracts->stake;
}

Status check_named(const Address& game, const Address& stake,
                   const records::NetworkDescription& network) {
    GYM_CHECK(check_same("dispute game", game, network.dispute_game));
    return check_same("stake contract", stake, network.stake);
}

Status check_game(chain::ChainClient& client, const Address& game,
                  const records::NetworkDescription& network) {
    GYM_TRY(const Address stake, find_stake(client, game, network));
    return check_named(game, stake, network);
}

Status check_plays_nothing(const NodeConfig& config, const records::NetworkDescription& network,
                           const Address& self) {
    if (!network.minimum_stake.is_zero())
        return needs_game("this network gives units to workers from a stake of " +
                          network.minimum_stake.to_tokens() + " GYM on");
    if (config.chain_rpc.empty()) return {};
    GYM_TRY(const auto client, chain::make_http_client(config.chain_rpc, kCheckHttp));
    const auto staked = stake_at_risk(*client, self, network);
    if (!staked.ok()) return is_lasting(staked.error().code) ? Status(staked.error()) : Status();
    if (staked->is_zero()) return {};
    return needs_game(crypto::to_checksum(self) + " has a stake of " + staked->to_tokens() +
                      " GYM");
}

Status check_defends_no_reports(const records::NetworkDescription& network) {
    if (network.minimum_verifier_stake.is_zero()) return {};
    return needs_game("this network draws verifiers from a stake of " +
                      network.minimum_verifier_stake.to_tokens() + " GYM on");
}

Result<GameMoney> game_money(chain::ChainClient& client, const Address& game,
                             const records::NetworkDescription& network, player::Role role,
                             const Address& self) {
    const contracts::DisputeGame contract(game);
    GYM_TRY(const auto terms, contract.terms(client));
    GYM_TRY(const auto head, client.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    GYM_TRY(const Amount tip, client.suggested_priority_fee());
    GYM_TRY(const Amount twice, head->base_fee_wei.plus(head->base_fee_wei));
    GYM_TRY(const Amount price, twice.plus(tip));
    GameMoney out;
    GYM_TRY(out.ether_needed, price.mul_div(Amount(terms.escrow_gas), Amount(1)));
    GYM_TRY(out.ether, client.balance(self, chain::BlockTag::kLatest));
    if (role == player::Role::kDefend) return out;
    // A challenger pays its own moves and, in advance, the answers.
    GYM_TRY(out.ether_needed, out.ether_needed.plus(out.ether_needed));
    GYM_TRY(const auto contracts, contract.contracts(client));
    GYM_TRY(out.tokens,
            contracts::GymToken(network.chain_id, contracts.token).balance_of(client, self));
    out.bond = terms.bond;
    return out;
}

std::string money_missing(const GameMoney& money, const Address& self) {
    const std::string name = crypto::to_checksum(self);
    if (money.ether < money.ether_needed) {
        const auto missing = money.ether_needed.minus(money.ether);
        return "this node's key has " + money.ether.to_tokens() +
               " ether, the moves of one game may cost " + money.ether_needed.to_tokens() +
               ": send " + missing.value_or(money.ether_needed).to_tokens() + " ether or more to " +
               name;
    }
    if (money.tokens < money.bond)
        return "this node's key has " + money.tokens.to_tokens() +
               " GYM, the bond of one game is " + money.bond.to_tokens() + ": send GYM to " + name;
    return {};
}

}  // namespace gym::node
