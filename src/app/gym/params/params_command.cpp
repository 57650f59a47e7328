#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/cli_context.hpp"
#include "cli/contracts_file.hpp"
#include "cli/rows.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/protocol/incentives.hpp"
#include "params/params_file.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using protocol::Condition;
using protocol::IncentiveParams;
using protocol::Measure;

struct ParamsOptions {
    std::string file;
    std::string contracts;
};

const char* name_of(Measure measure) {
    switch (measure) {
        case Measure::kTokens:
            return "tokens";
        case Measure::kSeconds:
            return "s";
        case Measure::kGas:
            return "gas";
        case Measure::kVerifiers:
            return "verifiers";
    }
    return "";
}

/// How much more there is than needed; infinite where nothing is needed.
double margin(const Condition& one) {
    return one.need > 0 ? one.have / one.need - 1 : std::numeric_limits<double>::infinity();
}

json::object to_json(const Condition& one) {
    return {{"id", one.id},         {"claim", one.claim},    {"holds", one.holds},
            {"have", one.have},     {"need", one.need},      {"measure", name_of(one.measure)},
            {"at_once", one.count}, {"margin", margin(one)}, {"remedy", one.remedy}};
}

/// Columns of the table of conditions.
constexpr std::string_view kConditionLine = "{:<7}  {:<22} {:>11} {:>17} {:>9}   {}";

void print_condition(const Condition& one) {
    std::array<char, 32> need{}, more{};
    const int digits = one.measure == Measure::kTokens ? 5 : 10;  // the others are whole numbers
    (void)std::snprintf(need.data(), need.size(), "%.*g %s", digits, one.need,
                        name_of(one.measure));
    if (std::isfinite(margin(one)))
        (void)std::snprintf(more.data(), more.size(), "%+.0f %%", 100 * margin(one));
    std::string claim(one.claim);
    if (one.count > 0 && one.need > 0)
        claim += " (closest: " + std::to_string(one.count) + " at once)";
    print_line(kConditionLine, one.holds ? "holds" : "REFUSED", one.id,
               fmt::format("{:.{}g}", one.have, digits), std::string(need.data()),
               std::string(more.data()), claim);
}

std::string bound(const char* safe, double value, const char* otherwise) {
    if (!std::isfinite(value)) return otherwise;
    std::array<char, 64> text{};
    (void)std::snprintf(text.data(), text.size(), "%s %.6g tokens", safe, value);
    return text.data();
}

/// All digits of a whole number that contracts take.
std::string number(double value) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.10g", value);
    return text.data();
}

/// Or a file would pass that promises better terms than are deployed.
void print_overruled(const ParamsOptions& options, const std::string& file,
                     const std::vector<Overruled>& overruled) {
    for (const Overruled& one : overruled)
        print_line("{} is {} in {}, which is checked ({} says {})", one.key, number(one.deployed),
                   options.contracts, file, number(one.written));
    if (!overruled.empty()) print_line("");
}

void print_text(const IncentiveParams& params, const std::vector<Condition>& conditions,
                const protocol::SafeBounds& bounds) {
    print_line(kConditionLine, "verdict", "condition", "have", "need", "margin", "what it says");
    for (const Condition& one : conditions)
        print_condition(one);
    print_line(
        "\na wrong unit is found with probability {:.4g}: drawn at the floor rate, for one of {} "
        "honest verifiers out of {}",
        protocol::detection_rate(params.sampling),
        params.sampling.verifiers - protocol::colluding_verifiers(params.sampling),
        params.sampling.verifiers);
    print_row("stake", "{} ({:.6g} here)",
              bound("safe above", bounds.stake_tokens, "no stake is enough"),
              params.worker.stake_tokens);
    print_row("stake per pay", "{}",
              std::isfinite(bounds.stake_per_unit_pay)
                  ? fmt::format("safe above {:.6g} times what a unit pays ('stake_per_unit_pay' of "
                                "the coordinator)",
                                bounds.stake_per_unit_pay)
                  : "no stake is enough");
    print_row("unit reward", "{} ({:.6g} here)",
              bound("safe below", bounds.unit_reward_tokens, "no limit"),
              params.worker.unit_reward_tokens);
    const std::string open = bounds.open_units == protocol::kOpenUnitsLimit
                                 ? "no limit"
                                 : "safe up to " + std::to_string(bounds.open_units);
    print_row("open units", "{} ({} here)", open, params.worker.open_units_max);
    for (const Condition& one : conditions)
        if (!one.holds) print_row("change", "{}: {}", one.id, one.remedy);
}

void print_json(const CliContext& context, const ParamsFile& read, const std::string& file,
                const std::vector<Condition>& conditions, const protocol::SafeBounds& bounds,
                bool safe) {
    const IncentiveParams& params = read.params;
    json::array list;
    for (const Condition& one : conditions)
        list.push_back(to_json(one));
    json::array overruled;
    for (const Overruled& one : read.overruled)
        overruled.push_back(
            json::object{{"key", one.key}, {"written", one.written}, {"deployed", one.deployed}});
    context.print_json({{"file", file},
                        {"verdict", safe ? "safe" : "refused"},
                        {"detection_rate", protocol::detection_rate(params.sampling)},
                        {"copy_detection_rate", protocol::copy_detection_rate(params)},
                        {"bounds",
                         {{"stake_tokens", bounds.stake_tokens},
                          {"stake_per_unit_pay", bounds.stake_per_unit_pay},
                          {"unit_reward_tokens", bounds.unit_reward_tokens},
                          {"open_units", bounds.open_units}}},
                        {"overruled", std::move(overruled)},
                        {"conditions", std::move(list)}});
}

Status check(const CliContext& context, const ParamsOptions& options) {
    std::optional<game::DisputeParams> contracts;
    if (!options.contracts.empty()) {
        GYM_TRY(const ContractsFile file, load_contracts_file(options.contracts));
        contracts = file.params.dispute;
    }
    const std::string file =
        options.file.empty() ? (data_folder() / "examples" / "params.yaml").string() : options.file;
    GYM_TRY(const ParamsFile read, load_params_file(file, contracts));
    const IncentiveParams& params = read.params;
    const std::vector<Condition> conditions = protocol::check_incentives(params);
    const protocol::SafeBounds bounds = protocol::safe_bounds(params);
    const auto refused = std::count_if(conditions.begin(), conditions.end(),
                                       [](const Condition& one) { return !one.holds; });
    if (context.json) {
        print_json(context, read, file, conditions, bounds, refused == 0);
    } else {
        print_line("parameters of {}{}\n", file, options.file.empty() ? " (default file)" : "");
        print_overruled(options, file, read.overruled);
        print_text(params, conditions, bounds);
    }
    if (refused == 0) return {};
    const auto first = std::find_if(conditions.begin(), conditions.end(),
                                    [](const Condition& one) { return !one.holds; });
    return fail(ErrorCode::kConflict, "refused: " + std::to_string(refused) +
                                          " condition(s) do not hold; the first, " +
                                          std::string(first->id) + ": " + first->remedy);
}

}  // namespace

void add_params_commands(CLI::App& app, CliContext& context) {
    CLI::App* params = app.add_subcommand("params", "Check the parameters of a network");
    params->require_subcommand(1);
    auto options = std::make_shared<ParamsOptions>();
    CLI::App* command = params->add_subcommand(
        "check", "Check that cheating and not verifying lose money; exit with 5 if they would not");
    command->add_option("file", options->file,
                        "Parameters (default: examples/params.yaml, which explains every key)");
    command->add_option("--contracts", options->contracts,
                        "Take the terms of stake and disputes from this file of `gym operator "
                        "deploy-contracts` instead of the parameters");
    command->callback([&context, options] { context.finish(check(context, *options)); });
}

}  // namespace gym::app
