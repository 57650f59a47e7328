#include "rewards/demand_command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "rewards/epoch_files.hpp"

namespace gym::app {
namespace {

struct LeafOptions {
    EpochFileOptions files;
    KeyOptions keys;
    ChainOptions chain;
    std::uint64_t epoch = 0;
    std::string address;
};

std::string key_of(const char* what, const ChainSender& sender, const Digest& root,
                   const Address& earner) {
    return std::string(what) + "/" + sender.contracts.distributor.hex() + "/" + root.hex() + "/" +
           earner.hex();
}

std::string hash_of(const chain::Outcome& outcome) {
    return outcome.transaction_hash ? outcome.transaction_hash->hex() : std::string("-");
}

Status demand(const CliContext& context, const LeafOptions& options) {
    GYM_TRY(const auto asked, address_option("--address", options.address));
    // The root's operator also runs gym-api, so its answers are not used.
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain));
    const Address earner = asked.value_or(sender.account->address());
    const contracts::RewardsDistributor distributor(sender.contracts.distributor);
    GYM_TRY(const PayoutRoots roots, payout_roots(sender.account->client(), distributor));
    GYM_CHECK(check_pending(roots, options.epoch));
    GYM_TRY(const contracts::Claim active, leaf_under(options.files, roots.active, earner));
    contracts::ContractCall call = distributor.demand_leaf(options.epoch, active);
    GYM_TRY(call.value_wei, distributor.demand_bond(sender.account->client()));
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(call, key_of("demand", sender, roots.pending.root, earner)));
    if (context.json) {
        context.print_json({{"epoch", options.epoch},
                            {"earner", earner.hex()},
                            {"active_wei", active.cumulative.to_string()},
                            {"bond_wei", call.value_wei.to_string()},
                            {"active_at_s", roots.pending.active_at_s},
                            {"transaction", hash_of(outcome)},
                            {"gas_used", outcome.gas_used}});
        return {};
    }
    print_row("earner", "{}, {} GYM in all under the active root", earner.hex(),
              active.cumulative.to_tokens());
    print_row("transaction", "{} (final)", hash_of(outcome));
    print_row("next",
              "if the root of epoch {} does not show this leaf in time, it never pays, and `gym "
              "rewards reclaim {}` gets the bond of {} back",
              options.epoch, options.epoch, call.value_wei.to_tokens());
    return {};
}

Status reclaim(const CliContext& context, const LeafOptions& options) {
    GYM_TRY(const auto asked, address_option("--address", options.address));
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain));
    const Address earner = asked.value_or(sender.account->address());
    const contracts::RewardsDistributor distributor(sender.contracts.distributor);
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(distributor.reclaim_bond(options.epoch, earner),
                                    "reclaim/" + sender.contracts.distributor.hex() + "/" +
                                        std::to_string(options.epoch) + "/" + earner.hex()));
    if (context.json)
        context.print_json({{"epoch", options.epoch},
                            {"earner", earner.hex()},
                            {"transaction", hash_of(outcome)},
                            {"gas_used", outcome.gas_used}});
    else
        print_row("transaction", "{} (final): the bond is back, the root of epoch {} never pays",
                  hash_of(outcome), options.epoch);
    return {};
}

CLI::App* add_leaf_command(CLI::App& rewards, LeafOptions& options, const char* name,
                           const char* help, const char* epoch) {
    CLI::App* command = rewards.add_subcommand(name, help);
    command->add_option("epoch", options.epoch, epoch)->required();
    command
        ->add_option("--address", options.address,
                     "Name another earner than the key's owner: anybody may")
        ->check(not_empty());
    options.keys.add_to(*command, true);
    options.chain.add_to(*command);
    return command;
}

}  // namespace

void add_demand_commands(CLI::App& rewards, CliContext& context) {
    const auto asked = std::make_shared<LeafOptions>();
    CLI::App* command = add_leaf_command(
        rewards, *asked, "demand",
        "Demand, for a bond, that a pending payout root show what an earner has under it",
        "Payout epoch whose root is pending");
    asked->files.add_to(*command);
    command->callback([&context, asked] { context.finish(demand(context, *asked)); });

    const auto back = std::make_shared<LeafOptions>();
    command = add_leaf_command(rewards, *back, "reclaim",
                               "Take back the bond of a demand that the root did not answer",
                               "Payout epoch whose root did not show the leaf");
    command->callback([&context, back] { context.finish(reclaim(context, *back)); });
}

}  // namespace gym::app
