#include "node/node_start.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/rows.hpp"
#include "gym/node/defence.hpp"
#include "gym/worker/worker_program.hpp"
#include "node/node_register.hpp"
#include "service_main.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kProgressEvery{10};

void print_event(const CliContext& context, const worker::WorkerEvent& event) {
    context.print_json({{"event", event.name},
                        {"job_id", event.unit.job_id.hex()},
                        {"round", event.unit.round},
                        {"slot", event.unit.slot},
                        {"unit", protocol::unit_id(event.unit).hex()},
                        {"detail", event.detail}});
}

void print_dispute(const CliContext& context, const player::PlayerEvent& event) {
    context.print_json({{"event", "dispute_" + event.name},
                        {"job_id", event.unit.job_id.hex()},
                        {"round", event.unit.round},
                        {"slot", event.unit.slot},
                        {"unit", protocol::unit_id(event.unit).hex()},
                        {"game", event.game.hex()},
                        {"detail", event.detail}});
}

bool has_key(const node::NodeConfig& config) {
    std::error_code ignored;
    return std::filesystem::exists(config.keystore_path(), ignored);
}

/// A machine without a key has never been registered. With a stored network all that registering
/// needs is known, so that one command joins.
Status join_network(const CliContext& context, const NodeOptions& options,
                    const node::NodeConfig& config) {
    if (has_key(config) || config.network.empty()) return {};
    print_notice("registering", "there is no key at {}: registering at network {} first",
                 config.keystore_path().string(), config.network);
    return register_node(context, {.node = options});
}

}  // namespace

Status start_node(const CliContext& context, const NodeOptions& options, RegisterFirst when) {
    GYM_TRY(node::NodeConfig config, options.resolve());
    Status able;
    if (when == RegisterFirst::kAlways) {
        able = register_node(context, {.node = options, .again = has_key(config)});
        if (!able.ok() && !node::has_claims(config)) return able;
    } else {
        GYM_CHECK(join_network(context, options, config));
    }
    worker::WorkerHooks hooks;
    if (context.json) {
        hooks.on_event = [&context](const worker::WorkerEvent& event) {
            print_event(context, event);
        };
        hooks.on_dispute = [&context](const player::PlayerEvent& event) {
            print_dispute(context, event);
        };
    }
    auto next = std::chrono::steady_clock::now() + kProgressEvery;
    hooks.on_progress = [&next](const engine::UnitProgress& progress) {
        if (std::chrono::steady_clock::now() < next) return;
        next = std::chrono::steady_clock::now() + kProgressEvery;
        spdlog::info("step {}/{}, loss {:.4f}, {:.0f} tokens/s", progress.step, progress.steps,
                     progress.loss, progress.tokens_per_second);
    };
    return run_service({.name = "gym-node", .log_level = options.log_level},
                       [&](const std::stop_token& stop) {
                           return worker::start_worker(config, hooks, stop, able);
                       });
}

void add_start_command(CLI::App& parent, CliContext& context) {
    CLI::App* command = parent.add_subcommand(
        "start", "Work until stopped; a machine without a key is registered first");
    auto options = std::make_shared<NodeOptions>();
    auto registers = std::make_shared<bool>(false);
    options->add_to(*command);
    command->add_flag("--register", *registers,
                      "Register first, as `gym node register` does; for services");
    command->callback([&context, options, registers] {
        context.finish(start_node(
            context, *options, *registers ? RegisterFirst::kAlways : RegisterFirst::kWithoutKey));
    });
}

}  // namespace gym::app
