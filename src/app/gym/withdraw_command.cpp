#include "withdraw_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <string_view>

#include "chain_sender.hpp"
#include "cli_context.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/common/clock.hpp"

namespace gym::app {
namespace {

struct WithdrawOptions {
    KeyOptions keys;
    ChainOptions chain;
    std::string amount;
    bool cancel = false;
};

struct Pending {
    Amount amount;
    std::uint64_t available_at_s = 0;
    std::uint64_t chain_time_s = 0;
};

Result<Pending> pending_of(const ChainSender& sender) {
    const chain::JobEscrow escrow(sender.contracts.escrow);
    chain_store::Account& account = *sender.account;
    Pending out;
    GYM_TRY(const auto request, escrow.withdrawal_of(account.client(), account.address()));
    GYM_TRY(const auto head, account.client().block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    out.amount = request.first;
    out.available_at_s = request.second;
    out.chain_time_s = head->timestamp_s;
    return out;
}

std::string time_text(std::uint64_t unix_s) {
    constexpr std::uint64_t kYear9999S = 253'402'300'799;  // the contract's number may be any
    return utc_text(static_cast<UnixMs>(std::min(unix_s, kYear9999S)) * 1'000);
}

std::uint64_t wait_s(const Pending& pending) {
    return pending.available_at_s > pending.chain_time_s
               ? pending.available_at_s - pending.chain_time_s
               : 0;
}

void print(const CliContext& context, const char* state, const Pending& pending,
           const std::string& hash) {
    if (context.json) {
        context.print_json({{"state", state},
                            {"amount_wei", pending.amount.to_string()},
                            {"available_at_s", pending.available_at_s},
                            {"wait_s", wait_s(pending)},
                            {"transaction", hash}});
        return;
    }
    std::printf("%-18s %s tokens\n", state, pending.amount.to_tokens().c_str());
    if (pending.available_at_s != 0 && std::string_view(state) == "requested")
        std::printf("available          %s, in %llu s; then run `gym wallet withdraw` again\n",
                    time_text(pending.available_at_s).c_str(),
                    static_cast<unsigned long long>(wait_s(pending)));
    std::printf("transaction        %s (final)\n", hash.c_str());
}

std::string hash_of(const chain::Outcome& outcome) {
    return outcome.transaction_hash ? outcome.transaction_hash->hex() : "-";
}

/// Asks for `amount`, in place of an earlier request; nothing takes it back.
Status request(const CliContext& context, const ChainSender& sender, const Amount& amount) {
    const chain::JobEscrow escrow(sender.contracts.escrow);
    GYM_TRY(const Pending before, pending_of(sender));
    if (amount.is_zero() && before.amount.is_zero())
        return fail(ErrorCode::kConflict,
                    "there is no request to take back: none was made, or all "
                    "that it asked for is locked in jobs");
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(escrow.request_withdrawal(amount)));
    GYM_TRY(const Pending after, pending_of(sender));
    print(context, amount.is_zero() ? "cancelled" : "requested", amount.is_zero() ? before : after,
          hash_of(outcome));
    return {};
}

Status complete(const CliContext& context, const ChainSender& sender) {
    GYM_TRY(const Pending pending, pending_of(sender));
    if (pending.amount.is_zero())
        return fail(ErrorCode::kConflict,
                    "no withdrawal was requested: `gym wallet withdraw AMOUNT` does");
    if (const std::uint64_t wait = wait_s(pending); wait > 0)
        return fail(ErrorCode::kConflict,
                    "the withdrawal of " + pending.amount.to_tokens() + " tokens is available at " +
                        time_text(pending.available_at_s) + ", in " + std::to_string(wait) + " s");
    chain_store::Account& account = *sender.account;
    const chain::GymToken token(account.chain_id(), sender.contracts.token);
    GYM_TRY(const Amount before, token.balance_of(account.client(), account.address()));
    const auto outcome = account.execute(chain::JobEscrow(sender.contracts.escrow).withdraw());
    if (!outcome.ok()) {
        // The services take back what a request asks beyond the free tokens, maybe just now.
        GYM_TRY(const Pending now, pending_of(sender));
        if (!now.amount.is_zero()) return outcome.error();
        return fail(ErrorCode::kConflict,
                    "nothing was paid: of the " + pending.amount.to_tokens() +
                        " tokens that were asked for none is free, all are locked in jobs; "
                        "`gym wallet balance` shows what is available");
    }
    // What jobs spent during the delay is taken first, so less than was asked for may come.
    GYM_TRY(const Amount held, token.balance_of(account.client(), account.address()));
    Pending paid;
    GYM_TRY(paid.amount, held.minus(before));
    print(context, "paid", paid, hash_of(*outcome));
    return {};
}

Status withdraw(const CliContext& context, const WithdrawOptions& options) {
    if (options.cancel && !options.amount.empty())
        return fail(ErrorCode::kInvalidArgument, "an amount and --cancel exclude each other");
    Amount amount;
    if (!options.amount.empty()) {
        GYM_TRY(amount, tokens_argument(options.amount));
    }
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain));
    if (options.cancel || !options.amount.empty()) return request(context, sender, amount);
    return complete(context, sender);
}

}  // namespace

void add_withdraw_command(CLI::App& wallet, CliContext& context) {
    auto options = std::make_shared<WithdrawOptions>();
    CLI::App* command = wallet.add_subcommand(
        "withdraw",
        "Move free tokens out of the job escrow: once with an amount, to ask for it; "
        "once without, after the delay, to be paid");
    options->keys.add_to(*command, true);
    options->chain.add_to(*command);
    command->add_option("amount", options->amount, "Tokens to ask for, like 12.5");
    command->add_flag("--cancel", options->cancel, "Take the request back");
    command->callback([&context, options] { context.finish(withdraw(context, *options)); });
}

}  // namespace gym::app
