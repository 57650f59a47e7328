#include <CLI/CLI.hpp>
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/crypto/secret.hpp"
#include "wallet/deposit_credit.hpp"
#include "wallet/leave_command.hpp"
#include "wallet/statement_command.hpp"
#include "wallet/withdraw_command.hpp"

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
    bool lock = false;
    std::uint64_t wait_s = 60;  // services read a final deposit within seconds
};

/// "yes", or what the owner does instead of submitting a job at once.
const char* credit_text(const std::optional<bool>& credited) {
    if (!credited) return "not compared; `gym wallet balance` shows what jobs can use";
    return *credited ? "yes: jobs can use it now"
                     : "not yet; `gym wallet balance` shows when jobs can use it";
}

Status make(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const node::NodeConfig config, options.keys.config());
    GYM_TRY(const crypto::SecretBytes passphrase, node::read_passphrase(config, true));
    const auto key = crypto::PrivateKey::generate();
    std::error_code error;
    std::filesystem::create_directories(config.keystore_path().parent_path(), error);
    GYM_CHECK(crypto::save_keystore(config.keystore_path(), key, passphrase));
    if (context.json) {
        context.print_json({{"address", crypto::to_checksum(key.address())},
                            {"keystore", config.keystore_path().string()}});
        return {};
    }
    print_row("address", "{}", crypto::to_checksum(key.address()));
    print_row("keystore", "{}", config.keystore_path().string());
    return {};
}

Status show_wallet(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const Address address, options.keys.address());
    if (context.json)
        context.print_json({{"address", crypto::to_checksum(address)}});
    else
        print_line("{}", crypto::to_checksum(address));
    return {};
}

/// The address's own holdings, outside of the ledger.
struct ChainBalances {
    Amount tokens, stake_active, stake_thawing, ether;
};

Result<ChainBalances> chain_balances(const ChainOptions& options, const Address& address) {
    GYM_TRY(const contracts::Deployment contracts, options.contracts());
    GYM_TRY(const std::string url, options.rpc_url());
    GYM_TRY(const auto client, chain::make_http_client(url));
    const contracts::GymToken token(contracts.chain_id, contracts.token);
    GYM_TRY(const Amount tokens, token.balance_of(*client, address));
    GYM_TRY(const Amount ether, client->balance(address, chain::BlockTag::kLatest));
    GYM_TRY(const auto stake, contracts::Stake(contracts.stake).stake_of(*client, address));
    return ChainBalances{tokens, stake.active, stake.thawing, ether};
}

void print_balance(const Address& address, const client::Account& account,
                   const std::optional<ChainBalances>& chain) {
    const auto row = [](const char* label, const Amount& amount) {
        print_row(label, "{} GYM", amount.to_tokens());
    };
    print_row("address", "{}", crypto::to_checksum(address));
    row("available", account.available);
    row("in own jobs", account.escrowed);
    row("withdrawing", account.withdrawing);
    row("pending rewards", account.pending);
    row("earned", account.earned);
    row("payable, ever", account.payable);
    row("claimed, ever", account.claimed);
    if (!chain) return;
    row("staked", chain->stake_active);
    row("stake, thawing", chain->stake_thawing);
    row("in the wallet", chain->tokens);
    print_row("for gas", "{} ETH", chain->ether.to_tokens());
}

Status balance(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const Address address, asked_address(options.address, options.keys));
    GYM_TRY(const auto account, options.api.client().account(address));
    std::optional<ChainBalances> chain;
    if (options.chain.contracts().ok()) {
        GYM_TRY(chain, chain_balances(options.chain, address));
    }
    if (!context.json) {
        print_balance(address, *account, chain);
        return {};
    }
    json::object out = account.json;
    if (chain) {
        out["wallet_wei"] = chain->tokens.to_string();
        out["stake_active_wei"] = chain->stake_active.to_string();
        out["stake_thawing_wei"] = chain->stake_thawing.to_string();
        out["gas_wei"] = chain->ether.to_string();
    }
    context.print_json(out);
    return {};
}

Status deposit(const CliContext& context, const WalletOptions& options) {
    GYM_TRY(const Amount amount, tokens_argument(options.amount));
    GYM_TRY(const auto credited, address_option("--owner", options.owner));
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain, options.api));
    const Address owner = credited.value_or(sender.account->address());
    GYM_CHECK(check_holds(sender, amount));
    if (options.lock && owner != sender.account->address())
        return fail(ErrorCode::kInvalidArgument,
                    "--lock and --owner exclude each other: an account locks its own deposit");
    const DepositCredit credit(options.api, owner);
    GYM_TRY(const chain::Outcome outcome, sender.account->deposit(sender.contracts, owner, amount));
    const std::optional<bool> is_credited = credit.wait(amount, options.wait_s);
    if (options.lock)
        GYM_CHECK(sender.account->execute(
            contracts::JobEscrow(sender.contracts.escrow).lock_own(amount)));
    const std::string hash =
        outcome.transaction_hash ? outcome.transaction_hash->hex() : std::string("-");
    if (context.json) {
        context.print_json(
            {{"owner", owner.hex()},
             {"amount_wei", amount.to_string()},
             {"transaction", hash},
             {"gas_used", outcome.gas_used},
             {"locked", options.lock},
             {"credited", is_credited ? json::value(*is_credited) : json::value(nullptr)}});
        return {};
    }
    print_row("deposited", "{} GYM for {}", amount.to_tokens(), crypto::to_checksum(owner));
    print_row("transaction", "{} (final)", hash);
    if (options.lock) print_row("locked", "for emission, until the account leaves");
    print_row("credited", "{}", credit_text(is_credited));
    return {};
}

}  // namespace

void add_wallet_commands(CLI::App& app, CliContext& context) {
    CLI::App* wallet = app.add_subcommand("wallet", "Manage a key and its money");
    wallet->require_subcommand(1);
    auto options = std::make_shared<WalletOptions>();
    const auto add = [&](const char* name, const char* about, bool signs, auto run) {
        CLI::App* command = wallet->add_subcommand(name, about);
        options->keys.add_to(*command, signs);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    add("new", "Make a key in an encrypted keystore", true, make);
    add("show", "Print the address", false, show_wallet);
    CLI::App* balance_command = add("balance", "Show the address's balances", false, balance);
    balance_command
        ->add_option("--address", options->address, "Address to show (default: the key's)")
        ->check(not_empty());
    options->api.add_to(*balance_command, false);
    options->chain.add_to(*balance_command);
    CLI::App* deposit_command =
        add("deposit", "Move GYM into the job escrow, to pay for jobs", true, deposit);
    deposit_command->add_option("amount", options->amount, "GYM, like 12.5")->required();
    deposit_command->add_option("--owner", options->owner, "Credit another address")
        ->check(not_empty());
    deposit_command->add_flag("--lock", options->lock,
                              "Lock the deposit to pay emission, if this is the emission account");
    deposit_command
        ->add_option("--wait", options->wait_s,
                     "Wait at most so many seconds until jobs can use it; 0: do not wait")
        ->capture_default_str()
        ->check(CLI::Range(0, 3'600));
    options->api.add_to(*deposit_command, false);
    options->chain.add_to(*deposit_command);
    add_withdraw_command(*wallet, context);
    add_leave_command(*wallet, context);
    add_statement_command(*wallet, context);
}

}  // namespace gym::app
