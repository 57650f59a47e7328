#include <CLI/CLI.hpp>
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "api_request.hpp"
#include "chain_sender.hpp"
#include "cli_context.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/crypto/secret.hpp"
#include "job_print.hpp"
#include "network_options.hpp"
#include "statement_command.hpp"
#include "withdraw_command.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct WalletOptions {
    KeyOptions keys;
    ApiOptions api;
    ChainOptions chain;
    std::string address;
    std::string owner;
    std::string amount;
};

Status make(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const node::NodeConfig config, options.keys.config());
    GYM_TRY(const crypto::SecretBytes passphrase, node::read_passphrase(config, true));
    const auto key = crypto::PrivateKey::generate();
    std::error_code error;
    std::filesystem::create_directories(config.keystore_path().parent_path(), error);
    GYM_CHECK(crypto::save_keystore(config.keystore_path(), key, passphrase));
    if (context.json)
        context.print_json({{"address", crypto::to_checksum(key.address())},
                            {"keystore", config.keystore_path().string()}});
    else
        std::printf("address            %s\nkeystore           %s\n",
                    crypto::to_checksum(key.address()).c_str(), config.keystore_path().c_str());
    return {};
}

Status show(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const Address address, options.keys.address());
    if (context.json)
        context.print_json({{"address", crypto::to_checksum(address)}});
    else
        std::printf("%s\n", crypto::to_checksum(address).c_str());
    return {};
}

/// What the address holds itself, outside of our contracts.
Status add_chain_balances(const ChainOptions& options, const Address& address, json::object& out) {
    GYM_TRY(const contracts::Deployment contracts, options.contracts());
    GYM_TRY(const std::string url, options.rpc_url());
    GYM_TRY(const auto client, chain::make_http_client(url));
    const contracts::GymToken token(contracts.chain_id, contracts.token);
    GYM_TRY(const Amount tokens, token.balance_of(*client, address));
    GYM_TRY(const Amount ether, client->balance(address, chain::BlockTag::kLatest));
    GYM_TRY(const auto stake, contracts::Stake(contracts.stake).stake_of(*client, address));
    out["wallet_wei"] = tokens.to_string();
    out["stake_active_wei"] = stake.active.to_string();
    out["stake_thawing_wei"] = stake.thawing.to_string();
    out["gas_wei"] = ether.to_string();
    return {};
}

Status balance(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const Address address, asked_address(options.address, options.keys));
    GYM_TRY(const json::value answer,
            api_get(options.api.base_url(), "/v1/accounts/" + address.hex()));
    json::object out = answer.as_object();
    const bool with_chain = options.chain.contracts().ok();
    if (with_chain) GYM_CHECK(add_chain_balances(options.chain, address, out));
    if (context.json) {
        context.print_json(out);
        return {};
    }
    std::printf("address            %s\n", crypto::to_checksum(address).c_str());
    for (const auto& [label, key] : {std::pair{"available", "available_wei"},
                                     {"in own jobs", "escrowed_wei"},
                                     {"withdrawing", "withdrawing_wei"},
                                     {"pending rewards", "pending_wei"},
                                     {"earned", "earned_wei"},
                                     {"payable, ever", "payable_wei"},
                                     {"claimed, ever", "claimed_wei"},
                                     {"staked", "stake_active_wei"},
                                     {"stake, thawing", "stake_thawing_wei"},
                                     {"in the wallet", "wallet_wei"}})
        if (out.contains(key))
            std::printf("%-18s %s tokens\n", label, tokens_of(out.at(key)).c_str());
    if (with_chain) std::printf("%-18s %s ETH\n", "for gas", tokens_of(out.at("gas_wei")).c_str());
    return {};
}

Status deposit(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const Amount amount, tokens_argument(options.amount));
    GYM_TRY(const auto credited, address_option("--owner", options.owner));
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain, options.api));
    const Address owner = credited.value_or(sender.account->address());
    GYM_CHECK(check_holds(sender, amount));
    GYM_TRY(const chain::Outcome outcome, sender.account->deposit(sender.contracts, owner, amount));
    const std::string hash =
        outcome.transaction_hash ? outcome.transaction_hash->hex() : std::string("-");
    if (context.json)
        context.print_json({{"owner", owner.hex()},
                            {"amount_wei", amount.to_string()},
                            {"transaction", hash},
                            {"gas_used", outcome.gas_used}});
    else
        std::printf("deposited          %s tokens for %s\ntransaction        %s (final)\n",
                    amount.to_tokens().c_str(), crypto::to_checksum(owner).c_str(), hash.c_str());
    return {};
}

}  // namespace

void add_wallet_commands(CLI::App& app, CliContext& context) {
    CLI::App* wallet = app.add_subcommand("wallet", "A key and its money");
    wallet->require_subcommand(1);
    auto options = std::make_shared<WalletOptions>();
    const auto add = [&](const char* name, const char* about, bool signs, auto run) {
        CLI::App* command = wallet->add_subcommand(name, about);
        options->keys.add_to(*command, signs);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    add("new", "Make a key in an encrypted keystore", true, make);
    add("show", "Print the address", false, show);
    CLI::App* balance_command = add("balance", "What the address has, and where", false, balance);
    balance_command->add_option("--address", options->address, "Another address than the key's")
        ->check(not_empty());
    options->api.add_to(*balance_command, false);
    options->chain.add_to(*balance_command);
    CLI::App* deposit_command =
        add("deposit", "Move tokens into the job escrow, to pay for jobs", true, deposit);
    deposit_command->add_option("amount", options->amount, "Tokens, like 12.5")->required();
    deposit_command->add_option("--owner", options->owner, "Credit another address")
        ->check(not_empty());
    options->api.add_to(*deposit_command, false);
    options->chain.add_to(*deposit_command);
    add_withdraw_command(*wallet, context);
    add_statement_command(*wallet, context);
}

}  // namespace gym::app
