#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/amount_text.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/common/clock.hpp"
#include "rewards/audit_command.hpp"
#include "rewards/claim_command.hpp"
#include "rewards/demand_command.hpp"
#include "rewards/disable_command.hpp"

namespace gym::app {
namespace {

struct RewardsOptions {
    KeyOptions keys;
    ApiOptions api;
    std::string address;
    std::string id;
};

/// The payable amount that is not claimed yet.
Amount unclaimed_of(const client::Account& account) {
    return account.payable.minus(std::min(account.payable, account.claimed)).value_or(Amount());
}

/// "claimed" and "payable" of credits that a payout root has. A claim pays everything up to its
/// epoch, so what newer epochs do not account for of the unclaimed sum is left in this one.
std::string payout_state(const client::Account& account, std::uint64_t epoch) {
    std::optional<Amount> newer = Amount();
    for (const rewards::Receipt& other : account.last_credits)
        if (other.payout_epoch.value_or(0) > epoch) newer = sum_of(newer, other.credit.amount);
    if (!newer) return fmt::format("in payout {}", epoch);
    return fmt::format("{} (payout {})", *newer >= unclaimed_of(account) ? "claimed" : "payable",
                       epoch);
}

/// The stored state says "posted" of all that was earned, whatever became of it since.
std::string state_of(const client::Account& account, const rewards::Receipt& receipt) {
    if (receipt.state != rewards::CreditState::kPosted)
        return std::string(to_string(receipt.state));
    return receipt.payout_epoch ? payout_state(account, *receipt.payout_epoch) : "earned";
}

void print_credit(const client::Account& account, const rewards::Receipt& receipt) {
    constexpr std::size_t kShortId = 10;  // "0x0123abcd", which the commands take for the whole
    const rewards::Credit& credit = receipt.credit;
    print_line("{}  {}  job {} round {}  {:<12}  {} GYM  {}{}", utc_text(receipt.created_at),
               credit.id, credit.job_id.hex().substr(0, kShortId), credit.round,
               rewards::to_string(credit.kind()), credit.amount.to_tokens(),
               state_of(account, receipt), receipt.reason.empty() ? "" : "  " + receipt.reason);
}

Status show_rewards(const CliContext& context, const RewardsOptions& options) {
    GYM_TRY(const Address address, asked_address(options.address, options.keys));
    GYM_TRY(const auto account, options.api.client().account(address));
    if (context.json) {
        context.print_json(account.json);
        return {};
    }
    print_row("pending", "{} GYM (units that are not final)", account->pending.to_tokens());
    print_row("earned", "{} GYM (waits for the epoch's close)", account->earned.to_tokens());
    print_row("payable in total", "{} GYM, of which {} are claimed", account->payable.to_tokens(),
              account->claimed.to_tokens());
    print_row("to be claimed", "{} GYM (`gym rewards claim`)", unclaimed_of(*account).to_tokens());
    for (const rewards::Receipt& receipt : account->last_credits)
        print_credit(*account, receipt);
    return {};
}

std::string input_text(const Amount& amount) {
    return amount.to_string();
}
std::string input_text(std::uint64_t number) {
    return std::to_string(number);
}

void print_receipt(const rewards::Receipt& receipt) {
    const rewards::Credit& credit = receipt.credit;
    print_row("credit", "{}", credit.id);
    print_row("amount", "{} GYM, {}", credit.amount.to_tokens(), to_string(receipt.state));
    if (!receipt.reason.empty()) print_row("", "{}", receipt.reason);
    print_row("for", "{} in round {} of job {}", rewards::to_string(credit.kind()), credit.round,
              credit.job_id.hex());
    print_row("unit", "{}", credit.unit ? credit.unit->hex() : "-");
    if (credit.payer) print_row("paid by", "{} (emission)", credit.payer->hex());
    print_row("formula", "{}", rewards::formula_text(credit.kind()));
    rewards::for_each_input(credit.inputs, [](const auto& field, const auto* value) {
        const std::string text = value ? input_text(*value) : "0";
        if (text != "0") print_row("  " + field.view(), "{}", text);
    });
    print_row("posting", "{}", receipt.posting.value_or("-"));
    print_row("payout epoch", "{}",
              receipt.payout_epoch ? std::to_string(*receipt.payout_epoch) : "-");
}

/// A unit's credits, or the one that is named.
Status explain(const CliContext& context, const RewardsOptions& options) {
    if (options.id.find_first_not_of("0123456789abcdefABCDEFx-") != std::string::npos)
        return fail(ErrorCode::kInvalidArgument,
                    "'" + options.id + "' is not the id of a credit or unit");
    const client::ApiClient api = options.api.client();
    client::AnswerList<rewards::Receipt> credits;
    if (options.id.starts_with("0x")) {
        GYM_TRY(credits, api.unit_credits(options.id));
        if (credits.empty())
            return fail(ErrorCode::kNotFound, "unit " + options.id + " has no credits (yet)");
    } else {
        GYM_TRY(auto credit, api.receipt(options.id));
        credits.push_back(std::move(credit));
    }
    bool is_first = true;
    for (const auto& credit : credits) {
        if (context.json) {
            context.print_json(credit.json);
            continue;
        }
        if (!is_first) print_line("");
        is_first = false;
        print_receipt(*credit);
    }
    return {};
}

}  // namespace

void add_rewards_commands(CLI::App& app, CliContext& context) {
    CLI::App* rewards = app.add_subcommand("rewards", "Show, explain, audit and claim rewards");
    rewards->require_subcommand(1);
    auto options = std::make_shared<RewardsOptions>();
    const auto add = [&](const char* name, const char* about, bool signs, auto run) {
        CLI::App* command = rewards->add_subcommand(name, about);
        options->api.add_to(*command, false);
        options->keys.add_to(*command, signs);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    add("show", "Show balances and the last credits", false, show_rewards)
        ->add_option("--address", options->address, "Address to show (default: the key's)")
        ->check(not_empty());
    add("explain", "Explain a credit, or all credits of a unit: formula, inputs, posting", false,
        explain)
        ->add_option("id", options->id, "A credit's id, or a unit's")
        ->required();
    add_audit_command(*rewards, context);
    add_disable_command(*rewards, context);
    add_demand_commands(*rewards, context);
    add_claim_command(*rewards, context);
}

}  // namespace gym::app
