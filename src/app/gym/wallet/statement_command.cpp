#include "wallet/statement_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/common/clock.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kLinesMax = 100'000;  // an answer in memory
constexpr std::size_t kJobDigits = 10;        // enough for `gym job show`

struct StatementOptions {
    KeyOptions keys;
    ApiOptions api;
    std::string address;
    std::uint64_t limit = 100;
    std::optional<std::uint64_t> before;
};

Result<client::Statement> fetch(const StatementOptions& options) {
    GYM_TRY(const Address address, asked_address(options.address, options.keys));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key());
    return api.statement(address, options.limit, options.before);
}

/// "available", "escrow of job 0x12345678", "earned of 0x..".
std::string name_of(const client::AccountSide& side) {
    constexpr std::string_view kJob = "job:";
    if (side.owner.starts_with(kJob))
        return side.kind + " of job " + side.owner.substr(kJob.size(), kJobDigits);
    return side.kind + (side.own || side.owner == "system" ? "" : " of " + side.owner);
}

void print_transfer(const client::Transfer& line) {
    std::string note;
    if (line.state != "posted") note = "  " + line.state;
    if (!line.sealed) note += "  not sealed yet";
    const char* const sign = line.direction == "in" ? "+" : line.direction == "out" ? "-" : "";
    print_line("{}  {}  {}{} GYM  {} -> {}  {}{}", utc_text(line.at), line.id, sign,
               line.amount.to_tokens(), name_of(line.from), name_of(line.to), line.reason, note);
}

Status statement(const CliContext& context, const StatementOptions& options) {
    GYM_TRY(const client::Statement found, fetch(options));
    if (context.json) {
        json::array lines;
        for (const auto& line : found.transfers)
            lines.push_back(line.json);
        context.print_json({{"transfers", std::move(lines)},
                            {"next_before", found.next_before ? json::value(*found.next_before)
                                                              : json::value(nullptr)}});
        return {};
    }
    for (const auto& line : found.transfers)
        print_transfer(*line);
    if (found.transfers.empty()) print_line("no transfers");
    if (found.next_before) print_row("older transfers", "--before {}", *found.next_before);
    return {};
}

}  // namespace

void add_statement_command(CLI::App& wallet, CliContext& context) {
    auto options = std::make_shared<StatementOptions>();
    CLI::App* command = wallet.add_subcommand(
        "statement",
        "List the address's transfers, newest first, with the ids that `gym ledger prove` takes. "
        "Signs: + received, - spent, none: between own accounts");
    options->keys.add_to(*command, false);
    options->api.add_to(*command, true);
    command
        ->add_option("--address", options->address,
                     "Address of the statement (default: the key's); the API key must belong to it")
        ->check(not_empty());
    command->add_option("--limit", options->limit, "Largest number of lines (default 100)")
        ->check(CLI::Range(std::uint64_t{1}, kLinesMax));
    command->add_option(
        "--before", options->before,
        "List only older transfers: the number that the previous statement ended with");
    command->callback([&context, options] { context.finish(statement(context, *options)); });
}

}  // namespace gym::app
