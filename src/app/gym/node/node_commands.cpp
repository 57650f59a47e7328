#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/client/api_client.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/node/doctor.hpp"
#include "gym/node/machine.hpp"
#include "node/node_bench.hpp"
#include "node/node_options.hpp"
#include "node/node_register.hpp"
#include "node/node_start.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kSilentAfterMs = 60'000;  // a node that works is heard of every few seconds

json::object unit_json(const records::UnitSummary& unit) {
    return {{"unit", unit.id.hex()},
            {"job_id", unit.key.job_id.hex()},
            {"round", unit.key.round},
            {"slot", unit.key.slot},
            {"kind", protocol::to_string(unit.kind)},
            {"state", protocol::to_string(unit.status.state)},
            {"deadline_ms", unit.status.deadline_ms},
            {"reason_code", unit.reason_code},
            {"reason", unit.reason}};
}

json::array units_json(const std::vector<records::UnitReceipt>& units) {
    json::array out;
    for (const records::UnitReceipt& unit : units)
        out.push_back(unit_json(unit));
    return out;
}

json::object status_json(const records::NodeStatus& status) {
    return {{"address", status.address.hex()},
            {"role", records::to_string(status.role)},
            {"excluded", !status.excluded_because.empty()},
            {"excluded_because", status.excluded_because},
            {"idle_because", status.idle_because},
            {"stake_because", status.stake_because},
            {"units_final", status.units_final},
            {"units_rejected", status.units_rejected},
            {"units_open", status.units_open},
            {"units_other", status.units_other},
            {"challenges", status.challenges},
            {"uptime_ppm", status.uptime_ppm},
            {"last_seen_ms", status.last_seen_ms},
            {"open_units", units_json(status.open_units)},
            {"recent_units", units_json(status.recent_units)}};
}

void print_account(const client::Account& account) {
    print_row("balance", "{} pending, {} available, {} payable, {} claimed",
              account.pending.to_tokens(), account.available.to_tokens(),
              account.payable.to_tokens(), account.claimed.to_tokens());
    if (account.last_credits.empty()) return;
    const rewards::Receipt& last = account.last_credits.front();
    print_row("last credit", "{} for {}, {}", last.credit.amount.to_tokens(),
              rewards::to_string(last.credit.kind()), to_string(last.state));
}

/// The device of this node, as far as that is known without opening it: the node may need all of
/// its memory.
struct StatusDevice {
    std::string name;            ///< cpu, cuda or cuda:N
    std::string model;           ///< and UUID; empty: there is no such device
    unsigned errors = 0;         ///< that node::DeviceErrors counts
    std::string unused_because;  ///< a node does not start on it; empty: nothing speaks against it
};

StatusDevice status_device(const node::NodeConfig& config) {
    StatusDevice out{.name = config.device, .model = {}, .unused_because = {}};
    const auto errors = node::errors_of_device(config);
    if (!errors.ok()) {
        out.unused_because = errors.error().message;
        return out;
    }
    out.model = errors->device();
    if (const auto count = errors->count(); count.ok()) out.errors = *count;
    if (const Status usable = errors->check(); !usable.ok())
        out.unused_because = usable.error().message;
    return out;
}

void print_device(const StatusDevice& device) {
    std::string text = device.name;
    if (device.name != device.model && !device.model.empty()) text += ", " + device.model;
    if (device.errors != 0)
        text += ", " + std::to_string(device.errors) + " of " +
                std::to_string(node::DeviceErrors::kErrorsMax) + " errors that end its use";
    print_row("device", "{}", text);
}

void print_status(const records::NodeStatus& status, const StatusDevice& device) {
    const auto silent_ms = SystemClock().now_ms() - status.last_seen_ms;
    print_row("address", "{} ({})", crypto::to_checksum(status.address),
              records::to_string(status.role));
    print_device(device);
    if (!status.excluded_because.empty())
        print_row("state", "excluded: {}", status.excluded_because);
    else if (status.last_seen_ms != 0 && silent_ms > kSilentAfterMs)
        print_row("state", "not running: last seen {} s ago; {}", silent_ms / 1000,
                  device.unused_because.empty() ? "start it with `gym node start`"
                                                : "it cannot start: " + device.unused_because);
    else if (!status.idle_because.empty())
        print_row("state", "idle: {}", status.idle_because);
    else if (status.open_units.empty())
        print_row("state", "no unit is assigned yet");
    else
        print_row("state", "working");
    // A running unit continues; the next one is not assigned. Stake does not help an excluded node.
    if (status.excluded_because.empty() && !status.stake_because.empty() &&
        status.stake_because != status.idle_because)
        print_row("stake", "{}", status.stake_because);
    print_row("units", "{} final, {} rejected, {} open, {} without pay", status.units_final,
              status.units_rejected, status.units_open, status.units_other);
    if (status.challenges == 0)
        print_row("uptime", "not challenged in the last hour");
    else
        print_row("uptime", "{:.1f} % of the last hour's {} challenges",
                  static_cast<double>(status.uptime_ppm) / 1e4, status.challenges);
    for (const records::UnitReceipt& unit : status.recent_units)
        if (!unit.reason.empty())
            print_row(protocol::to_string(unit.status.state), "{}", unit.reason);
}

/// Absent without an API to ask.
Result<std::optional<client::Answer<client::Account>>> account_of(const std::string& api,
                                                                  const Address& address) {
    if (api.empty()) return std::optional<client::Answer<client::Account>>();
    GYM_TRY(auto account, client::ApiClient({.url = api, .key = {}}).account(address));
    return std::optional(std::move(account));
}

Status status_command(const CliContext& context, const NodeOptions& options) {
    GYM_TRY(const node::NodeConfig config, options.resolve());
    GYM_TRY(crypto::PrivateKey key, node::load_key(config));
    const Address address = key.address();
    rpc::ClientConfig client = config.client({});
    client.attempts_max = 2;
    const SystemClock clock;
    GYM_TRY(const auto coordinator, rpc::connect(client, std::move(key), clock));
    GYM_TRY(const records::NodeStatus status, coordinator->node_status(std::nullopt));
    // The coordinator's answer is shown whether or not gym-api answers.
    const auto account = account_of(config.api, address);
    const StatusDevice device = status_device(config);
    if (context.json) {
        json::object out = status_json(status);
        out["device"] = device.name;
        out["device_name"] = device.model;
        out["device_errors"] = device.errors;
        out["device_unused_because"] = device.unused_because;
        if (account.ok() && *account) out["account"] = (*account)->json;
        context.print_json(out);
    } else {
        print_status(status, device);
        if (account.ok() && *account) print_account((*account)->value);
    }
    if (!account.ok()) return account.error().in("balance");
    return {};
}

Status doctor_command(CliContext& context, const NodeOptions& options) {
    // Without a network it checks the machine, and says how to name one.
    GYM_TRY(const node::NodeConfig config, options.resolve({.network = false}));
    bool all_good = true;
    for (const node::Finding& finding : node::run_doctor(config)) {
        all_good = all_good && finding.ok;
        if (context.json)
            context.print_json(
                {{"check", finding.check}, {"ok", finding.ok}, {"detail", finding.detail}});
        else
            print_line("{:<4} {:<12} {}", finding.ok ? "ok" : "FAIL", finding.check,
                       finding.detail);
    }
    if (!all_good) context.exit_code = ExitCode::kFailed;
    return {};
}

}  // namespace

void add_node_commands(CLI::App& app, CliContext& context) {
    CLI::App* node =
        app.add_subcommand("node", "Lend this machine: register, start, status, doctor, bench");
    node->require_subcommand(1);

    add_register_command(*node, context);
    add_start_command(*node, context);
    const auto add = [&](const char* name, const char* help, auto command) {
        CLI::App* sub = node->add_subcommand(name, help);
        auto options = std::make_shared<NodeOptions>();
        options->add_to(*sub);
        sub->callback([&context, options, command] { context.finish(command(context, *options)); });
    };
    add("status", "Show identity, balance and units, and why the node is idle or excluded",
        status_command);
    add("doctor", "Check everything a node needs and print the remedy for what is missing",
        doctor_command);
    add_node_bench_command(*node, context);
}

}  // namespace gym::app
