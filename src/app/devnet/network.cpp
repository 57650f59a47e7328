#include "gym/devnet/network.hpp"

#include <algorithm>

#include "gym/devnet/infrastructure.hpp"

namespace gym::devnet {
namespace {

// Enough for thousands of demo jobs; a development token is worth nothing.
const char* const kTokenSupply = "1000000";
constexpr std::uint32_t kWorkers = 3;

/// A network keeps the shape that it was made with.
Status check_same(const NetworkOptions& options, const Layout& existing) {
    if (options.workers && *options.workers != existing.workers)
        return fail(ErrorCode::kConflict,
                    "the network in " + existing.root.string() + " was made with " +
                        std::to_string(existing.workers) + " workers, not with " +
                        std::to_string(*options.workers) + ": --workers is for a new one");
    if (options.api_port != 0 && options.api_port != existing.api_port)
        return fail(ErrorCode::kConflict,
                    "the network in " + existing.root.string() + " was made with API port " +
                        std::to_string(existing.api_port) + ": --api-port is for a new one");
    return {};
}

Result<Layout> open_or_create(const NetworkOptions& options) {
    auto existing = load_layout(options.root);
    if (existing.ok()) {
        GYM_CHECK(check_same(options, *existing));
        GYM_CHECK(make_folders(*existing));
        return existing;
    }
    if (existing.error().code != ErrorCode::kNotFound) return existing;
    return create_layout(options.root, options.workers.value_or(kWorkers), options.api_port);
}

WorkerProgram worker_program(const NetworkOptions& options, bool cheats) {
    if (!cheats) return {.argv = {options.programs.path("gym"), "node", "start"}};
    return {.argv = {options.cheating_worker.string(), "--fault-step",
                     std::to_string(options.fault_step), "--fault-op",
                     std::to_string(options.fault_op), "--fault-bit",
                     std::to_string(options.fault_bit)}};
}

bool runs(const ProcessTable& processes, const std::string& name) {
    const auto entry = processes.find(name);
    return entry.ok() && entry->running;
}

/// Whether a start has come to its end, and all that it started runs and works. Workers come last.
bool is_up(const Layout& layout, const ProcessTable& processes) {
    const auto names = layout.worker_names();
    const bool nodes =
        runs(processes, kVerifier) &&
        std::ranges::all_of(names, [&](const std::string& name) { return runs(processes, name); });
    const auto entries = processes.list();
    return nodes && entries.ok() && std::ranges::all_of(*entries, &ProcessEntry::running) &&
           open_database(layout).ok() && check_health(layout, 0).ok();
}

/// Tells the next step, unless there shall be none.
class Steps {
  public:
    Steps(const NetworkOptions& options, const Announce& announce)
        : interrupted_(options.interrupted), announce_(announce) {}
    [[nodiscard]] Status next(const std::string& step) const {
        if (interrupted_ && interrupted_())
            return fail(ErrorCode::kCancelled, "interrupted before " + step);
        announce_(step);
        return {};
    }

  private:
    const std::function<bool()>& interrupted_;
    const Announce& announce_;
};

Status start_nodes(const NetworkOptions& options, const Layout& layout, ProcessTable& processes,
                   const Steps& steps) {
    if (!runs(processes, kVerifier)) {
        GYM_CHECK(steps.next("starting one verifier"));
        GYM_CHECK(start_verifier(layout, processes, options.programs));
    }
    const auto names = layout.worker_names();
    for (const std::string& name : names) {
        if (runs(processes, name)) continue;
        const bool cheats = !options.cheating_worker.empty() && name == names.back();
        GYM_CHECK(
            steps.next("registering and starting " + name + (cheats ? " (it will cheat)" : "")));
        GYM_CHECK(start_worker(layout, processes, options.programs, name,
                               worker_program(options, cheats)));
    }
    return {};
}

}  // namespace

Result<Layout> network_up(const NetworkOptions& options, const Announce& announce) {
    GYM_TRY(const Layout layout, open_or_create(options));
    ProcessTable processes(layout.run());
    if (is_up(layout, processes)) {
        announce("the network in " + layout.root.string() +
                 " is running; nothing was started, migrated or changed");
        return layout;
    }
    const Steps steps(options, announce);
    GYM_CHECK(steps.next("making keys"));
    GYM_CHECK(ensure_keys(layout));
    GYM_CHECK(steps.next("starting PostgreSQL and applying the migrations"));
    GYM_CHECK(start_database(layout, options.migrations));
    GYM_CHECK(steps.next("starting anvil and deploying the contracts"));
    ChainOptions chain_options;
    chain_options.dispute_clock_s = options.dispute_clock_s;
    chain_options.dispute_window_s = options.dispute_window_s;
    GYM_TRY(chain_options.token_supply, Amount::parse_tokens(kTokenSupply));
    GYM_CHECK(start_chain(layout, processes, chain_options));
    GYM_CHECK(write_configs(layout));
    GYM_CHECK(steps.next("starting coordinator, rewards and API (" + layout.api_url() + ")"));
    GYM_CHECK(start_services(layout, processes, options.programs));
    GYM_CHECK(start_nodes(options, layout, processes, steps));
    GYM_CHECK(check_all_running(layout, processes));
    return layout;
}

Status network_down(const std::filesystem::path& root) {
    const auto layout = load_layout(root);
    if (!layout.ok()) {
        if (layout.error().code == ErrorCode::kNotFound) return {};
        return layout.error();
    }
    GYM_CHECK(stop_all(*layout));
    return remove_layout(*layout);
}

}  // namespace gym::devnet
