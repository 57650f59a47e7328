#include "wallet/withdraw_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/amount_text.hpp"
#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct WithdrawOptions {
    KeyOptions keys;
    ApiOptions api;
    ChainOptions chain;
    std::string amount;
    bool cancel = false;
};

/// A request as the contract has it.
struct Pending {
    Amount amount;
    std::uint64_t available_at_s = 0;
    std::uint64_t chain_time_s = 0;
};

/// The amount that would be paid now, and what jobs keep. Both include an earlier request.
struct Free {
    Amount free;
    Amount locked;
};

Result<Pending> pending_of(const ChainSender& sender) {
    const contracts::JobEscrow escrow(sender.contracts.escrow);
    contracts::Account& account = *sender.account;
    Pending out;
    GYM_TRY(const auto request, escrow.withdrawal_of(account.client(), account.address()));
    GYM_TRY(const auto head, account.client().block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    out.amount = request.first;
    out.available_at_s = request.second;
    out.chain_time_s = head->timestamp_s;
    return out;
}

/// By gym-api's books, which know orders that the chain has not locked yet. Absent where none was
/// named, or it does not say.
std::optional<Free> free_by_books(const ApiOptions& api, const Address& owner) {
    const auto url = api.named_url();
    if (!url) return std::nullopt;
    const auto account = client::ApiClient({.url = *url, .key = {}}).account(owner);
    if (!account.ok()) return std::nullopt;
    const auto free = sum_of((*account)->available, (*account)->withdrawing);
    return free ? std::optional(Free{*free, (*account)->escrowed}) : std::nullopt;
}

/// By the contract, which pays no more, and by the books.
Result<Free> free_of(const ChainSender& sender, const ApiOptions& api) {
    contracts::Account& account = *sender.account;
    const contracts::JobEscrow escrow(sender.contracts.escrow);
    GYM_TRY(const Amount held, escrow.balance_of(account.client(), account.address()));
    Free out;
    GYM_TRY(out.locked, escrow.locked_of(account.client(), account.address()));
    GYM_TRY(out.free, held.minus(out.locked));
    const auto books = free_by_books(api, account.address());
    if (!books) {
        print_notice("not compared",
                     "without gym-api, orders that the chain has not locked yet are unknown; what "
                     "they lock will not be paid");
        return out;
    }
    return Free{std::min(out.free, books->free), std::max(out.locked, books->locked)};
}

std::uint64_t wait_s(const Pending& pending) {
    return pending.available_at_s > pending.chain_time_s
               ? pending.available_at_s - pending.chain_time_s
               : 0;
}

/// "payable since ..." or "payable at ..., in 30 s".
std::string when_text(const Pending& pending) {
    const std::string time = contract_time_text(pending.available_at_s);
    if (wait_s(pending) == 0) return "payable since " + time;
    return "payable at " + time + ", in " + std::to_string(wait_s(pending)) + " s";
}

std::string hash_of(const chain::Outcome& outcome) {
    return outcome.transaction_hash ? outcome.transaction_hash->hex() : "-";
}

json::object to_json(const char* state, const Pending& pending, const chain::Outcome& outcome) {
    return {{"state", state},
            {"amount_wei", pending.amount.to_string()},
            {"available_at_s", pending.available_at_s},
            {"wait_s", wait_s(pending)},
            {"transaction", hash_of(outcome)}};
}

/// Checks that the whole `amount` would be paid.
Status check_free(const Free& now, const Amount& amount) {
    if (amount <= now.free) return {};
    return fail(ErrorCode::kInsufficientFunds,
                now.free.to_tokens() + " GYM are free and " + now.locked.to_tokens() +
                    " are locked in jobs: nothing was sent. Request only what is free (a deposit "
                    "is free seconds after it is final, a job's rest when the job has ended, its "
                    "units are final and the chain has unlocked it)");
}

/// Asks for `amount`, in place of an earlier request.
Status request(const CliContext& context, const WithdrawOptions& options, const ChainSender& sender,
               const Amount& amount) {
    GYM_TRY(const Pending before, pending_of(sender));
    GYM_TRY(const Free now, free_of(sender, options.api));
    GYM_CHECK(check_free(now, amount));
    // Before it is sent: the time waited so far is lost with it.
    if (!before.amount.is_zero())
        print_notice("replaces", "the request of {} GYM, {}: the wait begins again for all of it",
                     before.amount.to_tokens(), when_text(before));
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(
                contracts::JobEscrow(sender.contracts.escrow).request_withdrawal(amount)));
    GYM_TRY(const Pending after, pending_of(sender));
    if (context.json) {
        json::object out = to_json("requested", after, outcome);
        out["replaced_wei"] = before.amount.to_string();
        out["free_wei"] = now.free.to_string();
        out["locked_wei"] = now.locked.to_string();
        context.print_json(out);
        return {};
    }
    print_row("requested", "{} GYM", after.amount.to_tokens());
    print_row("free before", "{} GYM; {} locked in jobs", now.free.to_tokens(),
              now.locked.to_tokens());
    print_row("available", "{}, in {} s; then run `gym wallet withdraw` again",
              contract_time_text(after.available_at_s), wait_s(after));
    print_row("transaction", "{} (final)", hash_of(outcome));
    return {};
}

/// Takes a request back.
Status cancel(const CliContext& context, const ChainSender& sender) {
    GYM_TRY(const Pending before, pending_of(sender));
    if (before.amount.is_zero()) return fail(ErrorCode::kConflict, "there is no request to cancel");
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(
                contracts::JobEscrow(sender.contracts.escrow).request_withdrawal(Amount())));
    if (context.json) {
        context.print_json(to_json("cancelled", before, outcome));
        return {};
    }
    print_row("cancelled", "{} GYM", before.amount.to_tokens());
    print_row("transaction", "{} (final)", hash_of(outcome));
    return {};
}

void print_paid(const CliContext& context, const Pending& asked, const Amount& amount,
                const chain::Outcome& outcome) {
    if (context.json) {
        json::object out = to_json("paid", {.amount = amount}, outcome);
        out["asked_wei"] = asked.amount.to_string();
        context.print_json(out);
        return;
    }
    const std::string rest = " of " + asked.amount.to_tokens() + ": jobs have locked the rest";
    print_row("paid", "{} GYM{}", amount.to_tokens(), amount == asked.amount ? "" : rest);
    print_row("transaction", "{} (final)", hash_of(outcome));
}

Status complete(const CliContext& context, const ChainSender& sender) {
    GYM_TRY(const Pending pending, pending_of(sender));
    if (pending.amount.is_zero())
        return fail(ErrorCode::kConflict,
                    "no withdrawal is waiting: request one with `gym wallet withdraw AMOUNT`");
    if (const std::uint64_t wait = wait_s(pending); wait > 0)
        return fail(ErrorCode::kConflict, "the withdrawal of " + pending.amount.to_tokens() +
                                              " GYM is available at " +
                                              contract_time_text(pending.available_at_s) + ", in " +
                                              std::to_string(wait) + " s");
    contracts::Account& account = *sender.account;
    const contracts::GymToken token(account.chain_id(), sender.contracts.token);
    GYM_TRY(const Amount before, token.balance_of(account.client(), account.address()));
    GYM_TRY(const chain::Outcome outcome,
            account.execute(contracts::JobEscrow(sender.contracts.escrow).withdraw()));
    // What was locked during the delay is not paid.
    GYM_TRY(const Amount held, token.balance_of(account.client(), account.address()));
    GYM_TRY(const Amount paid, held.minus(before));
    print_paid(context, pending, paid, outcome);
    return {};
}

Status withdraw(const CliContext& context, const WithdrawOptions& options) {
    if (options.cancel && !options.amount.empty())
        return fail(ErrorCode::kInvalidArgument, "an amount and --cancel exclude each other");
    Amount amount;
    if (!options.amount.empty()) {
        GYM_TRY(amount, tokens_argument(options.amount));
    }
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain, options.api));
    if (options.cancel) return cancel(context, sender);
    if (!options.amount.empty()) return request(context, options, sender, amount);
    return complete(context, sender);
}

}  // namespace

void add_withdraw_command(CLI::App& wallet, CliContext& context) {
    auto options = std::make_shared<WithdrawOptions>();
    CLI::App* command =
        wallet.add_subcommand("withdraw",
                              "Withdraw free GYM from the job escrow: first request an amount; "
                              "after the delay, run it without an amount to be paid");
    options->keys.add_to(*command, true);
    options->api.add_to(*command, false);
    options->chain.add_to(*command);
    command->add_option(
        "amount", options->amount,
        "GYM to request, like 12.5; replaces an earlier request, and the wait begins again");
    command->add_flag("--cancel", options->cancel, "Cancel the request");
    command->callback([&context, options] { context.finish(withdraw(context, *options)); });
}

}  // namespace gym::app
