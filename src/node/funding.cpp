#include "gym/node/funding.hpp"

#include "dispute_check.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/key.hpp"

namespace gym::node {
namespace {

// Somebody waits.
constexpr chain::HttpOptions kAdviceHttp{.timeout_ms = 5'000, .attempts = 1};
constexpr std::uint64_t kStakeGas = 250'000;  // more than stakeWithPermit takes
const Amount kEtherStep(1'000'000'000'000);   // six decimals

/// What `wanted` is above `held`.
Amount lacking(const Amount& wanted, const Amount& held) {
    return wanted.minus(held).value_or(Amount());
}

Amount rounded_up(const Amount& ether) {
    const Amount one_less = kEtherStep.minus(Amount(1)).value_or(Amount());
    const auto raised = ether.plus(one_less);
    const auto steps = raised.ok() ? raised->mul_div(Amount(1), kEtherStep) : raised;
    const auto out = steps.ok() ? steps->mul_div(kEtherStep, Amount(1)) : steps;
    return out.value_or(ether);
}

/// Gas for one `gym stake add`, at twice the base fee of now, and a tip.
Result<Amount> stake_cost(chain::ChainClient& client) {
    GYM_TRY(const auto head, client.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    GYM_TRY(const Amount tip, client.suggested_priority_fee());
    GYM_TRY(const Amount twice, head->base_fee_wei.plus(head->base_fee_wei));
    GYM_TRY(const Amount price, twice.plus(tip));
    return price.mul_div(Amount(kStakeGas), Amount(1));
}

/// The most that the node spends on gas before its first pay.
Result<Amount> ether_needed(chain::ChainClient& client, const NodeConfig& config,
                            const records::NetworkDescription& network, const Funding& funding) {
    Amount out;
    if (!funding.stake.is_zero()) {
        GYM_TRY(out, stake_cost(client));
    }
    Address game = network.dispute_game;
    if (!config.dispute_game.empty()) {
        GYM_TRY(game, configured_game(config));
    }
    if (game.is_zero()) return out;
    GYM_TRY(const GameMoney money,
            game_money(client, game, network, player::Role::kDefend, funding.address));
    return out.plus(money.ether_needed);
}

}  // namespace

Result<Funding> find_funding(chain::ChainClient& client, const NodeConfig& config,
                             const records::NetworkDescription& network, const Address& self) {
    Funding out{
        .address = self, .chain_id = network.chain_id, .stake = {}, .tokens = {}, .ether = {}};
    if (network.stake.is_zero()) return out;
    const contracts::Stake stake(network.stake);
    GYM_TRY(const auto holding, stake.stake_of(client, self));
    out.stake = lacking(network.minimum_stake, holding.active);
    if (out.stake.is_zero() && holding.active.is_zero() && holding.thawing.is_zero()) return out;
    if (!out.stake.is_zero()) {
        GYM_TRY(const Address token, stake.token(client));
        GYM_TRY(const Amount held,
                contracts::GymToken(network.chain_id, token).balance_of(client, self));
        out.tokens = lacking(out.stake, held);
    }
    GYM_TRY(const Amount needed, ether_needed(client, config, network, out));
    GYM_TRY(const Amount ether, client.balance(self, chain::BlockTag::kLatest));
    out.ether = rounded_up(lacking(needed, ether));
    return out;
}

std::string describe(const Funding& funding, const std::string& options) {
    if (funding.is_complete()) return {};
    const std::string address = crypto::to_checksum(funding.address);
    std::string send;
    if (!funding.tokens.is_zero()) send = funding.tokens.to_tokens() + " GYM";
    if (!funding.ether.is_zero())
        send += (send.empty() ? "" : " and ") + funding.ether.to_tokens() + " ether";
    if (!send.empty())
        send = "send at least " + send + " to " + address + " on chain " +
               std::to_string(funding.chain_id);
    if (funding.stake.is_zero()) return send + ": one dispute may cost that much gas";
    const std::string add = "`gym stake add " + funding.stake.to_tokens() + options + "`";
    return send.empty() ? "the tokens are in the wallet of " + address + ": run " + add
                        : send + "; then " + add;
}

std::string funding_advice(const NodeConfig& config, const records::NetworkDescription& network,
                           const Address& self) {
    if (config.chain_rpc.empty())
        return network.minimum_stake.is_zero()
                   ? ""
                   : "this network gives units from a stake of " +
                         network.minimum_stake.to_tokens() +
                         " GYM on; name its chain (--chain-rpc) to see what " +
                         crypto::to_checksum(self) + " lacks";
    const auto client = chain::make_http_client(config.chain_rpc, kAdviceHttp);
    const auto funding = client.ok() ? find_funding(**client, config, network, self)
                                     : Result<Funding>(client.error());
    if (!funding.ok())
        return "whether stake and gas suffice is not known: " + funding.error().message;
    const bool usual = config.data_dir == default_data_dir();
    return describe(*funding, (usual ? "" : " --data-dir " + config.data_dir.string()) +
                                  (config.keystore_file == "key.json"
                                       ? ""
                                       : " --keystore " + config.keystore_file.string()));
}

}  // namespace gym::node
