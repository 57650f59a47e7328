#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/contracts_file.hpp"
#include "cli/database_options.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "data/evaluation_commands.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/migrate.hpp"
#include "operator/change_commands.hpp"
#include "operator/sign_profile.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMinedTimeoutMs = 600'000;
constexpr std::uint32_t kFinalTimeoutMs = 1'800'000;  // finality of a public chain takes a while

struct DatabaseFlags {
    DatabaseOptions database;
    std::string migrations;
};

Status migrate(const CliContext& context, const DatabaseFlags& flags) {
    const std::filesystem::path folder = flags.migrations.empty()
                                             ? data_folder() / "sql" / "migrations"
                                             : std::filesystem::path(flags.migrations);
    GYM_TRY(const auto database, flags.database.open("gym-operator"));
    GYM_TRY(const db::MigrationReport report, db::migrate(*database, folder));
    if (context.json) {
        context.print_json({{"applied", json::array(report.applied.begin(), report.applied.end())},
                            {"already_applied", report.already_applied}});
        return {};
    }
    for (const std::string& name : report.applied)
        print_row("applied", "{}", name);
    print_line("{} applied now, {} before, in {}", report.applied.size(), report.already_applied,
               flags.database.connection.describe());
    return {};
}

struct DeployFlags {
    KeyOptions keys;
    std::string file;
    std::string url;
    std::string out;
};

void print_deployment(const CliContext& context, const Address& admin,
                      const contracts::Deployment& deployment, const std::string& out) {
    if (context.json) {
        context.print_json({{"chain_id", deployment.chain_id},
                            {"start_block", deployment.start_block},
                            {"admin", admin.hex()},
                            {"token", deployment.token.hex()},
                            {"distributor", deployment.distributor.hex()},
                            {"escrow", deployment.escrow.hex()},
                            {"commitment_log", deployment.commitment_log.hex()},
                            {"stake", deployment.stake.hex()},
                            {"dispute_game", deployment.dispute_game.hex()},
                            {"deployment", out}});
        return;
    }
    print_row("chain", "{}, from block {}", deployment.chain_id, deployment.start_block);
    for (const auto& [label, address] : {std::pair{"admin", admin},
                                         {"GymToken", deployment.token},
                                         {"RewardsDistributor", deployment.distributor},
                                         {"JobEscrow", deployment.escrow},
                                         {"CommitmentLog", deployment.commitment_log},
                                         {"Stake", deployment.stake},
                                         {"DisputeGame", deployment.dispute_game}})
        print_row(label, "{}", crypto::to_checksum(address));
    print_row("written", "{}", out);
}

Status deploy_contracts(const CliContext& context, const DeployFlags& flags) {
    GYM_TRY(const ContractsFile file, load_contracts_file(flags.file));
    ChainOptions chain;
    chain.url = flags.url;
    GYM_TRY(const std::string url, chain.rpc_url());
    GYM_TRY(const auto artifacts, contracts::find_artifacts());
    GYM_TRY(const LockedAccount locked, open_account(flags.keys, url));
    const auto& account = locked.account;
    if (account->chain_id() != file.chain_id)
        return fail(ErrorCode::kMismatch, url + " is chain " + std::to_string(account->chain_id()) +
                                              ", " + flags.file + " is for chain " +
                                              std::to_string(file.chain_id));
    // Each has to be able to stop a thief of the other.
    if (account->address() == file.params.guardian)
        return fail(ErrorCode::kInvalidArgument,
                    flags.file + ": 'guardian' must be another key than the one that deploys");
    GYM_TRY(const contracts::Deployment deployment,
            contracts::deploy(account->manager(), account->client(), artifacts, file.params,
                              kMinedTimeoutMs));
    GYM_CHECK(contracts::wait_deployment_final(account->manager(), kFinalTimeoutMs));
    GYM_CHECK(contracts::save_deployment(flags.out, deployment));
    print_deployment(context, account->address(), deployment, flags.out);
    return {};
}

void add_migrate(CLI::App& group, CliContext& context) {
    auto flags = std::make_shared<DatabaseFlags>();
    CLI::App* command = group.add_subcommand(
        "migrate", "Apply migrations to a database, as its owner (password: PGPASSWORD)");
    flags->database.add_to(*command);
    command->add_option("--migrations", flags->migrations,
                        "Folder of migrations (default: the installed ones)");
    command->callback([&context, flags] { context.finish(migrate(context, *flags)); });
}

void add_deploy_contracts(CLI::App& group, CliContext& context) {
    auto flags = std::make_shared<DeployFlags>();
    CLI::App* command =
        group.add_subcommand("deploy-contracts",
                             "Deploy the contracts with the holders of their roles; after an "
                             "interruption, repeat the command to continue");
    command
        ->add_option("file", flags->file,
                     "Contract parameters (deploy/config/contracts.yaml explains every key)")
        ->required();
    command->add_option("--chain", flags->url, "JSON-RPC endpoint (or set GYM_CHAIN)");
    command
        ->add_option("--out", flags->out,
                     "Write the addresses to this file once everything is final")
        ->default_val("deployment.json");
    flags->keys.add_to(*command, true);
    command->callback([&context, flags] { context.finish(deploy_contracts(context, *flags)); });
}

}  // namespace

void add_operator_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand(
        "operator",
        "Set a network up and change it: its database, contracts, profile and evaluations");
    group->require_subcommand(1);
    add_migrate(*group, context);
    add_deploy_contracts(*group, context);
    add_change_commands(*group, context);
    add_sign_profile_command(*group, context);
    add_evaluation_commands(*group, context);
}

}  // namespace gym::app
