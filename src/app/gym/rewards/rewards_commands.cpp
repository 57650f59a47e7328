#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/answer_text.hpp"
#include "cli/api_request.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/common/clock.hpp"
#include "rewards/audit_command.hpp"
#include "rewards/claim_command.hpp"
#include "rewards/disable_command.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct RewardsOptions {
    KeyOptions keys;
    ApiOptions api;
    std::string address;
    std::string id;
};

/// What is payable and not claimed yet; absent where one of both is unknown.
std::optional<Amount> unclaimed_of(const json::object& account) {
    const auto payable = amount_of(account.at("payable_wei"));
    const auto claimed = amount_of(account.at("claimed_wei"));
    if (!payable || !claimed) return std::nullopt;
    return payable->minus(std::min(*payable, *claimed)).value_or(Amount());
}

/// "claimed" and "payable" of credits that a payout root has. A claim pays everything up to its
/// epoch, so what newer epochs do not account for of the unclaimed sum is left in this one.
std::string payout_state(const json::object& account, const json::object& credit) {
    const std::string epoch = text_of(credit, "payout_epoch");
    const std::optional<Amount> unclaimed = unclaimed_of(account);
    std::optional<Amount> newer = Amount();
    for (const json::value& item : account.at("last_credits").as_array()) {
        const json::value& other = item.at("payout_epoch");
        if (other.is_null() || other.to_number<std::uint64_t>() <=
                                   credit.at("payout_epoch").to_number<std::uint64_t>())
            continue;
        newer = sum_of(newer, amount_of(item.at("amount_wei")));
    }
    if (!unclaimed || !newer) return "in payout " + epoch;
    return (*newer >= *unclaimed ? "claimed (payout " : "payable (payout ") + epoch + ")";
}

/// The stored state says "posted" of all that was earned, whatever became of it since.
std::string state_of(const json::object& account, const json::object& credit) {
    if (credit.at("state") != "posted") return text_of(credit, "state");
    return credit.at("payout_epoch").is_null() ? "earned" : payout_state(account, credit);
}

/// "0x0123abcd", which the commands take for the whole.
std::string short_id(const json::object& object, const char* key) {
    constexpr std::size_t kShort = 10;
    return text_of(object, key).substr(0, kShort);
}

void print_credit(const json::object& account, const json::object& credit) {
    const std::string reason =
        credit.at("reason").is_null() ? "" : "  " + text_of(credit, "reason");
    std::printf("%s  %s  job %s round %s  %-12s  %s tokens  %s%s\n",
                utc_text(credit.at("created_at_ms").to_number<UnixMs>()).c_str(),
                text_of(credit, "id").c_str(), short_id(credit, "job_id").c_str(),
                text_of(credit, "round").c_str(), text_of(credit, "kind").c_str(),
                tokens_of(credit.at("amount_wei")).c_str(), state_of(account, credit).c_str(),
                reason.c_str());
}

Status show_rewards(const CliContext& context, const RewardsOptions& options) {
    GYM_TRY(const Address address, asked_address(options.address, options.keys));
    GYM_TRY(const json::value answer,
            api_get(options.api.base_url(), "/v1/accounts/" + address.hex()));
    const json::object& account = answer.as_object();
    if (context.json) {
        context.print_json(account);
        return {};
    }
    print_row("pending", "{} tokens (units that are not final)",
              tokens_of(account.at("pending_wei")));
    print_row("earned", "{} tokens (waits for the epoch's close)",
              tokens_of(account.at("earned_wei")));
    print_row("payable in total", "{} tokens, of which {} are claimed",
              tokens_of(account.at("payable_wei")), tokens_of(account.at("claimed_wei")));
    print_row("to be claimed", "{} tokens (`gym rewards claim`)",
              tokens_text(unclaimed_of(account)));
    for (const json::value& item : account.at("last_credits").as_array())
        print_credit(account, item.as_object());
    return {};
}

void print_receipt(const json::object& receipt) {
    print_row("credit", "{}", text_of(receipt, "id"));
    print_row("amount", "{} tokens, {}", tokens_of(receipt.at("amount_wei")),
              text_of(receipt, "state"));
    if (!receipt.at("reason").is_null()) print_row("", "{}", text_of(receipt, "reason"));
    print_row("for", "{} in round {} of job {}", text_of(receipt, "kind"),
              text_of(receipt, "round"), text_of(receipt, "job_id"));
    print_row("unit", "{}", text_of(receipt, "unit"));
    if (!receipt.at("payer").is_null())
        print_row("paid by", "{} (emission)", text_of(receipt, "payer"));
    print_row("formula", "{}", text_of(receipt, "formula"));
    for (const auto& input : receipt.at("inputs").as_object()) {
        const std::string value = input.value().is_string() ? std::string(input.value().as_string())
                                                            : json::serialize(input.value());
        if (value != "0") print_row("  " + std::string(input.key()), "{}", value);
    }
    print_row("posting", "{}", text_of(receipt, "posting"));
    print_row("payout epoch", "{}", text_of(receipt, "payout_epoch"));
}

/// A unit's credits, or the one that is named.
Status explain(const CliContext& context, const RewardsOptions& options) {
    if (options.id.find_first_not_of("0123456789abcdefABCDEFx-") != std::string::npos)
        return fail(ErrorCode::kInvalidArgument,
                    "'" + options.id + "' is not the id of a credit or unit");
    const bool is_unit = options.id.starts_with("0x");
    GYM_TRY(const json::value answer,
            api_get(options.api.base_url(), is_unit ? "/v1/units/" + options.id + "/credits"
                                                    : "/v1/receipts/" + options.id));
    const json::array credits =
        is_unit ? answer.at("credits").as_array() : json::array{answer.as_object()};
    if (credits.empty())
        return fail(ErrorCode::kNotFound, "unit " + options.id + " has no credits (yet)");
    for (const json::value& credit : credits) {
        if (context.json) {
            context.print_json(credit.as_object());
            continue;
        }
        if (&credit != credits.begin()) std::printf("\n");
        print_receipt(credit.as_object());
    }
    return {};
}

/// The claim in the API's answer. @errors kMalformed, kMismatch if it is for other contracts.

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
    add_claim_command(*rewards, context);
}

}  // namespace gym::app
