#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/api_request.hpp"
#include "cli/cli_context.hpp"
#include "gym/common/amount.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/node/doctor.hpp"
#include "gym/node/registration.hpp"
#include "node/node_bench.hpp"
#include "node/node_options.hpp"
#include "node/node_start.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMemoryBytesMin = std::uint64_t{64} << 20;
constexpr std::int64_t kSilentAfterMs = 60'000;  // a node that works is heard of every few seconds

struct RegisterFlags {
    NodeOptions node;
    std::string device;
    std::string memory;
};

Status register_command(const CliContext& context, const RegisterFlags& flags) {
    GYM_TRY(const node::NodeConfig config, flags.node.resolve());
    node::RegisterOptions options;
    options.device = flags.device;
    options.memory_bytes = config.memory_bytes;
    if (!flags.memory.empty()) {
        GYM_TRY(options.memory_bytes, node::parse_size(flags.memory));
    }
    if (options.memory_bytes < kMemoryBytesMin)
        return fail(ErrorCode::kInvalidArgument,
                    "--memory " + flags.memory + " is " + std::to_string(options.memory_bytes) +
                        " bytes, too little for any program; add a unit, such as 8GB");
    GYM_TRY(const node::Registration done, node::register_node(config, options));
    if (context.json) {
        context.print_json({{"address", done.address.hex()},
                            {"key_created", done.key_created},
                            {"new", done.is_new},
                            {"keystore", config.keystore_path().string()},
                            {"flops_per_second", done.flops_per_second},
                            {"round_trip_ms", done.round_trip_ms}});
        return {};
    }
    std::printf("address      %s\n", crypto::to_checksum(done.address).c_str());
    std::printf("key          %s%s\n", config.keystore_path().c_str(),
                done.key_created ? " (new: keep this file and its passphrase)" : "");
    std::printf("coordinator  %s, answered in %lld ms\n", config.coordinator.c_str(),
                static_cast<long long>(done.round_trip_ms));
    std::printf("benchmark    %.2f GFLOP/s with %u threads\n",
                static_cast<double>(done.flops_per_second) / 1e9, config.threads_used());
    std::printf("%s; start it with: gym node start%s\n",
                done.is_new ? "registered" : "registered before, now up to date",
                flags.node.given().c_str());
    return {};
}

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

/// A member of the API's answer as tokens; "?" when it is not there.
std::string tokens(const json::object& object, const char* name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return "?";
    const auto amount = Amount::parse(std::string(value->get_string()));
    return amount.ok() ? amount->to_tokens() : "?";
}

void print_account(const json::object& account) {
    std::printf("balance      %s pending, %s available, %s payable, %s claimed\n",
                tokens(account, "pending_wei").c_str(), tokens(account, "available_wei").c_str(),
                tokens(account, "payable_wei").c_str(), tokens(account, "claimed_wei").c_str());
    const json::value* credits = account.if_contains("last_credits");
    if (credits == nullptr || !credits->is_array() || credits->get_array().empty()) return;
    const json::value& last = credits->get_array().front();
    if (!last.is_object()) return;
    const json::object& credit = last.get_object();
    const auto text = [&](const char* name) {
        const json::value* value = credit.if_contains(name);
        return value != nullptr && value->is_string() ? std::string(value->get_string()) : "?";
    };
    std::printf("last credit  %s for %s, %s\n", tokens(credit, "amount_wei").c_str(),
                text("kind").c_str(), text("state").c_str());
}

void print_status(const records::NodeStatus& status) {
    const auto silent_ms = SystemClock().now_ms() - status.last_seen_ms;
    std::printf("address      %s (%s)\n", crypto::to_checksum(status.address).c_str(),
                std::string(records::to_string(status.role)).c_str());
    if (!status.excluded_because.empty())
        std::printf("state        excluded: %s\n", status.excluded_because.c_str());
    else if (status.last_seen_ms != 0 && silent_ms > kSilentAfterMs)
        std::printf(
            "state        not running: last seen %lld s ago; start it with `gym node start`\n",
            static_cast<long long>(silent_ms / 1000));
    else if (!status.idle_because.empty())
        std::printf("state        idle: %s\n", status.idle_because.c_str());
    else if (status.open_units.empty())
        std::printf("state        no unit is assigned yet\n");
    else
        std::printf("state        working\n");
    // A unit that runs goes on; the next one is not given. Stake does not help who is excluded.
    if (status.excluded_because.empty() && !status.stake_because.empty() &&
        status.stake_because != status.idle_because)
        std::printf("stake        %s\n", status.stake_because.c_str());
    std::printf("units        %llu final, %llu rejected, %llu open, %llu without pay\n",
                static_cast<unsigned long long>(status.units_final),
                static_cast<unsigned long long>(status.units_rejected),
                static_cast<unsigned long long>(status.units_open),
                static_cast<unsigned long long>(status.units_other));
    if (status.challenges == 0)
        std::printf("uptime       not challenged in the last hour\n");
    else
        std::printf("uptime       %.1f %% of the last hour's %u challenges\n",
                    static_cast<double>(status.uptime_ppm) / 1e4, status.challenges);
    for (const records::UnitReceipt& unit : status.recent_units)
        if (!unit.reason.empty())
            std::printf("%-12s %s\n", std::string(protocol::to_string(unit.status.state)).c_str(),
                        unit.reason.c_str());
}

/// Empty without an API to ask.
Result<json::object> account_of(const std::string& api, const Address& address) {
    if (api.empty()) return json::object();
    GYM_TRY(const json::value answer, api_get(api, "/v1/accounts/" + address.hex()));
    if (answer.is_object()) return answer.get_object();
    return fail(ErrorCode::kMalformed, "gym-api's answer is not an account");
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
    // What the coordinator said is shown whether or not gym-api answers.
    const Result<json::object> account = account_of(config.api, address);
    if (context.json) {
        json::object out = status_json(status);
        if (!config.api.empty() && account.ok()) out["account"] = *account;
        context.print_json(out);
    } else {
        print_status(status);
        if (!config.api.empty() && account.ok()) print_account(*account);
    }
    if (!account.ok()) return account.error().in("balance");
    return {};
}

Status doctor_command(CliContext& context, const NodeOptions& options) {
    GYM_TRY(const node::NodeConfig config, options.resolve());
    bool all_good = true;
    for (const node::Finding& finding : node::run_doctor(config)) {
        all_good = all_good && finding.ok;
        if (context.json)
            context.print_json(
                {{"check", finding.check}, {"ok", finding.ok}, {"detail", finding.detail}});
        else
            std::printf("%-4s %-12s %s\n", finding.ok ? "ok" : "FAIL", finding.check.c_str(),
                        finding.detail.c_str());
    }
    if (!all_good) context.exit_code = ExitCode::kFailed;
    return {};
}

}  // namespace

void add_node_commands(CLI::App& app, CliContext& context) {
    CLI::App* node =
        app.add_subcommand("node", "Lend this machine: register, start, status, doctor, bench");
    node->require_subcommand(1);

    CLI::App* registering = node->add_subcommand(
        "register", "Register this machine: make a key if needed, check hardware and network");
    auto flags = std::make_shared<RegisterFlags>();
    flags->node.add_to(*registering);
    registering->add_option("--gpu-type", flags->device,
                            "Name of the device, such as rtx4090 (default: the device's own name)");
    registering->add_option("--memory", flags->memory,
                            "Memory to lend, such as 8GB or 512MB; at most the machine's");
    registering->callback([&context, flags] { context.finish(register_command(context, *flags)); });

    const auto add = [&](const char* name, const char* help, auto command) {
        CLI::App* sub = node->add_subcommand(name, help);
        auto options = std::make_shared<NodeOptions>();
        options->add_to(*sub);
        sub->callback([&context, options, command] { context.finish(command(context, *options)); });
    };
    add("start", "Work until stopped", start_node);
    add("status", "Show identity, balance and units, and why the node is idle or excluded",
        status_command);
    add("doctor", "Check everything a node needs and print the remedy for what is missing",
        doctor_command);
    add_node_bench_command(*node, context);
}

}  // namespace gym::app
