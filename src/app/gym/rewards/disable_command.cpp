#include "rewards/disable_command.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "rewards/epoch_files.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct DisableOptions {
    EpochFileOptions files;
    KeyOptions keys;
    ChainOptions chain;
    std::uint64_t epoch = 0;
    bool dry_run = false;
};

/// A loss, and the call that proves it.
struct Finding {
    PayoutRoots roots;
    FallenProof fallen;
    contracts::ContractCall call;
};

Result<Finding> find(const DisableOptions& options,
                     const contracts::RewardsDistributor& distributor, chain::ChainClient& client) {
    Finding out;
    GYM_TRY(out.roots, payout_roots(client, distributor));
    const auto& [pending, active] = out.roots;
    GYM_CHECK(check_pending(out.roots, options.epoch));
    GYM_TRY(const auto fallen, prove_fallen(options.files, active, pending));
    if (!fallen)
        return fail(ErrorCode::kConflict, "no earner has less under the pending root of epoch " +
                                              std::to_string(options.epoch) +
                                              " than under the active one of epoch " +
                                              std::to_string(active.epoch) + ": nothing is sent");
    out.fallen = *fallen;
    out.call = distributor.disable_fallen(options.epoch, fallen->active, fallen->pending);
    return out;
}

/// @param more what became of the call.
void print(const CliContext& context, const Finding& finding, const json::object& more) {
    const payouts::Fallen& fallen = finding.fallen.fallen;
    if (context.json) {
        json::object out{{"epoch", finding.roots.pending.epoch},
                         {"active_epoch", finding.roots.active.epoch},
                         {"earner", fallen.earner.hex()},
                         {"active_wei", fallen.before.to_string()},
                         {"pending_wei", fallen.after.to_string()}};
        for (const auto& member : more)
            out[member.key()] = member.value();
        context.print_json(out);
        return;
    }
    print_row("earner", "{}", fallen.earner.hex());
    print_row("active root", "epoch {}, pays it {} GYM in all", finding.roots.active.epoch,
              fallen.before.to_tokens());
    print_row("pending root", "epoch {}, pays it {} GYM in all", finding.roots.pending.epoch,
              fallen.after.to_tokens());
}

/// Has the node try the call; nothing is signed.
Status try_out(const CliContext& context, const Finding& finding, chain::ChainClient& client) {
    GYM_TRY(const chain::GasEstimate estimate,
            client.estimate_gas({.to = finding.call.to, .data = finding.call.data}));
    if (estimate.reverted)
        return fail(ErrorCode::kConflict, "the contract would refuse it: " +
                                              contracts::describe_revert(estimate.revert_data));
    print(context, finding, {{"dry_run", true}, {"gas", estimate.gas}});
    if (!context.json)
        print_row("dry run", "would be disabled for {} gas; nothing was sent", estimate.gas);
    return {};
}

Status send(const CliContext& context, const Finding& finding, const DisableOptions& options) {
    // The root's operator also runs gym-api, so its answers are not used.
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain));
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(finding.call, "disable/" + sender.contracts.distributor.hex() +
                                                      "/" +
                                                      std::to_string(finding.roots.pending.epoch) +
                                                      "/" + finding.roots.pending.root.hex()));
    const std::string hash =
        outcome.transaction_hash ? outcome.transaction_hash->hex() : std::string("-");
    print(context, finding,
          {{"dry_run", false}, {"transaction", hash}, {"gas_used", outcome.gas_used}});
    if (!context.json)
        print_row("transaction", "{} (final): the root of epoch {} will never pay", hash,
                  finding.roots.pending.epoch);
    return {};
}

Status disable(const CliContext& context, const DisableOptions& options) {
    GYM_TRY(const contracts::Deployment contracts, options.chain.contracts());
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(const auto client, chain::make_http_client(url));
    GYM_CHECK(chain::check_chain_id(*client, contracts.chain_id));
    GYM_TRY(const Finding finding,
            find(options, contracts::RewardsDistributor(contracts.distributor), *client));
    if (options.dry_run) return try_out(context, finding, *client);
    return send(context, finding, options);
}

}  // namespace

void add_disable_command(CLI::App& rewards, CliContext& context) {
    auto options = std::make_shared<DisableOptions>();
    CLI::App* command = rewards.add_subcommand(
        "disable",
        "Disable a pending payout root under which an earner has less than under the active one");
    command->add_option("epoch", options->epoch, "Payout epoch whose root is pending")->required();
    command->add_flag("--dry-run", options->dry_run,
                      "Prove the loss and let the chain try the call, but send nothing");
    options->files.add_to(*command);
    options->keys.add_to(*command, true);
    options->chain.add_to(*command);
    command->callback([&context, options] { context.finish(disable(context, *options)); });
}

}  // namespace gym::app
