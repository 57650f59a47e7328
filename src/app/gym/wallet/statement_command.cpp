#include "wallet/statement_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/answer_text.hpp"
#include "cli/api_json.hpp"
#include "cli/api_request.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/common/clock.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kPageMax = 1000;      // gym-api's
constexpr std::uint64_t kLinesMax = 100'000;  // an answer in memory
constexpr std::size_t kJobDigits = 10;        // enough for `gym job show`

struct StatementOptions {
    KeyOptions keys;
    ApiOptions api;
    std::string address;
    std::uint64_t limit = 100;
    std::optional<std::uint64_t> before;
};

/// Transfers in gym-api's form, and where the next older one is, if there may be one.
struct Statement {
    json::array lines;
    std::optional<std::uint64_t> next_before;
};

std::string text(const json::object& object, const char* key) {
    return api_json::text_of(object, key);
}

/// Adds a page of at most `wanted` lines. Pages get older, so that there is an end.
Status add_page(const json::value& page, std::uint64_t wanted, Statement& out) {
    GYM_TRY(const Statement read, api_json::read_answer("statement", [&] {
                const json::object& object = page.as_object();
                Statement one;
                one.lines = object.at("transfers").as_array();
                if (!object.at("next_before").is_null())
                    one.next_before = api_json::number_of(object, "next_before");
                return one;
            }));
    const bool is_older =
        !read.next_before || !out.next_before || *read.next_before < *out.next_before;
    if (read.lines.size() > wanted || (read.lines.empty() && read.next_before) || !is_older)
        return fail(ErrorCode::kMalformed,
                    "gym-api's statement has no end, or more lines than requested");
    out.lines.insert(out.lines.end(), read.lines.begin(), read.lines.end());
    out.next_before = read.next_before;
    return {};
}

Result<Statement> fetch(const StatementOptions& options) {
    GYM_TRY(const Address address, asked_address(options.address, options.keys));
    GYM_TRY(const std::string key, options.api.key());
    Statement out;
    out.next_before = options.before;
    do {
        const std::uint64_t wanted = std::min(kPageMax, options.limit - out.lines.size());
        std::string path =
            "/v1/accounts/" + address.hex() + "/transfers?limit=" + std::to_string(wanted);
        if (out.next_before) path += "&before=" + std::to_string(*out.next_before);
        GYM_TRY(const json::value page, api_get(options.api.base_url(), path, key));
        GYM_CHECK(add_page(page, wanted, out));
    } while (out.next_before && out.lines.size() < options.limit);
    return out;
}

/// "available", "escrow of job 0x12345678", "earned of 0x..".
std::string name_of(const json::object& side) {
    const std::string owner = text(side, "owner");
    std::string name = text(side, "kind");
    constexpr std::string_view kJob = "job:";
    if (owner.starts_with(kJob)) return name + " of job " + owner.substr(kJob.size(), kJobDigits);
    if (!side.at("own").as_bool() && owner != "system") name += " of " + owner;
    return name;
}

void print_line(const json::object& line) {
    const std::string direction = text(line, "direction"), state = text(line, "state");
    std::string note;
    if (state != "posted") note = "  " + state;
    if (!line.at("sealed").as_bool()) note += "  not sealed yet";
    std::printf(
        "%s  %s  %s%s tokens  %s -> %s  %s%s\n",
        utc_text(line.at("at_ms").to_number<UnixMs>()).c_str(), text(line, "id").c_str(),
        direction == "in"    ? "+"
        : direction == "out" ? "-"
                             : "",
        tokens_of(line.at("amount_wei")).c_str(), name_of(line.at("from").as_object()).c_str(),
        name_of(line.at("to").as_object()).c_str(), text(line, "reason").c_str(), note.c_str());
}

Status statement(const CliContext& context, const StatementOptions& options) {
    GYM_TRY(Statement found, fetch(options));
    if (context.json) {
        context.print_json({{"transfers", std::move(found.lines)},
                            {"next_before", found.next_before ? json::value(*found.next_before)
                                                              : json::value(nullptr)}});
        return {};
    }
    GYM_CHECK(api_json::read_answer("statement", [&] {
        for (const json::value& line : found.lines)
            print_line(line.as_object());
        return true;
    }));
    if (found.lines.empty()) std::printf("no transfers\n");
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
