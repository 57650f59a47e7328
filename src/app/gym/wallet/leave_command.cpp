#include "wallet/leave_command.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>

#include "cli/amount_text.hpp"
#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"

namespace gym::app {
namespace {

struct LeaveOptions {
    KeyOptions keys;
    ChainOptions chain;
    bool cancel = false;
};

/// Unix seconds from which the owner can leave; 0: it does not.
Result<std::uint64_t> exit_of(const ChainSender& sender) {
    return contracts::JobEscrow(sender.contracts.escrow)
        .exit_of(sender.account->client(), sender.account->address());
}

/// @param amount what was paid, or would be paid now.
void print(const CliContext& context, const char* state, std::uint64_t available_at_s,
           const Amount& amount, const chain::Outcome& outcome) {
    const std::string hash = outcome.transaction_hash ? outcome.transaction_hash->hex() : "-";
    if (context.json) {
        context.print_json({{"state", state},
                            {"amount_wei", amount.to_string()},
                            {"available_at_s", available_at_s},
                            {"transaction", hash}});
        return;
    }
    print_row(state, "{} GYM", amount.to_tokens());
    if (available_at_s != 0)
        print_row("available",
                  "{}, less what your jobs spent until then; then run `gym wallet leave` again",
                  contract_time_text(available_at_s));
    print_row("transaction", "{} (final)", hash);
}

Status request(const CliContext& context, const ChainSender& sender, const Amount& held) {
    if (held.is_zero())
        return fail(ErrorCode::kConflict, "the job escrow holds nothing of " +
                                              crypto::to_checksum(sender.account->address()));
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(contracts::JobEscrow(sender.contracts.escrow).request_exit()));
    GYM_TRY(const std::uint64_t available_at_s, exit_of(sender));
    print(context, "leaving", available_at_s, held, outcome);
    return {};
}

Status complete(const CliContext& context, const ChainSender& sender,
                std::uint64_t available_at_s) {
    contracts::Account& account = *sender.account;
    GYM_TRY(const auto head, account.client().block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    if (head->timestamp_s < available_at_s)
        return fail(ErrorCode::kConflict, "everything is available at " +
                                              contract_time_text(available_at_s) + ", in " +
                                              std::to_string(available_at_s - head->timestamp_s) +
                                              " s; `--cancel` takes the exit back");
    const contracts::GymToken token(account.chain_id(), sender.contracts.token);
    GYM_TRY(const Amount before, token.balance_of(account.client(), account.address()));
    GYM_TRY(const chain::Outcome outcome,
            account.execute(contracts::JobEscrow(sender.contracts.escrow).exit()));
    GYM_TRY(const Amount after, token.balance_of(account.client(), account.address()));
    GYM_TRY(const Amount paid, after.minus(before));
    print(context, "paid", 0, paid, outcome);
    return {};
}

Status leave(const CliContext& context, const LeaveOptions& options) {
    // Without gym-api: who leaves need not trust what its operator says.
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain));
    const contracts::JobEscrow escrow(sender.contracts.escrow);
    GYM_TRY(const std::uint64_t available_at_s, exit_of(sender));
    GYM_TRY(const Amount held,
            escrow.balance_of(sender.account->client(), sender.account->address()));
    if (!options.cancel)
        return available_at_s == 0 ? request(context, sender, held)
                                   : complete(context, sender, available_at_s);
    if (available_at_s == 0)
        return fail(ErrorCode::kConflict, "there is no exit to cancel: none was requested");
    GYM_TRY(const chain::Outcome outcome, sender.account->execute(escrow.cancel_exit()));
    print(context, "cancelled", 0, held, outcome);
    return {};
}

}  // namespace

void add_leave_command(CLI::App& wallet, CliContext& context) {
    auto options = std::make_shared<LeaveOptions>();
    CLI::App* command = wallet.add_subcommand(
        "leave",
        "End your jobs and take all your GYM out of the job escrow, which nobody can prevent: "
        "first request it; after the delay, run it again to be paid");
    options->keys.add_to(*command, true);
    options->chain.add_to(*command);
    command->add_flag("--cancel", options->cancel, "Take the request back");
    command->callback([&context, options] { context.finish(leave(context, *options)); });
}

}  // namespace gym::app
