#include "gym/devnet/demo.hpp"

namespace gym::devnet {
namespace {

// Enough for thousands of demo jobs; a development token is worth nothing.
const char* const kTokenSupply = "1000000";

Result<Layout> open_or_create(const NetworkOptions& options) {
    auto existing = load_layout(options.root);
    if (existing.ok() || existing.error().code != ErrorCode::kNotFound) return existing;
    return create_layout(options.root, options.workers, options.api_port);
}

WorkerProgram worker_program(const NetworkOptions& options, bool cheats) {
    if (!cheats) return {.argv = {options.programs.path("gym"), "node", "start"}};
    return {
        .argv = {options.cheating_worker.string(), "--fault-step",
                 std::to_string(options.fault_step), "--fault-op", std::to_string(options.fault_op),
                 "--fault-bit", std::to_string(options.fault_bit)},
        .defends = false};
}

Status start_nodes(const NetworkOptions& options, const Layout& layout, ProcessTable& processes,
                   const Announce& announce) {
    announce("starting one verifier");
    GYM_CHECK(start_verifier(layout, processes, options.programs));
    const auto names = layout.worker_names();
    for (const std::string& name : names) {
        const bool cheats = !options.cheating_worker.empty() && name == names.back();
        announce("registering and starting " + name + (cheats ? " (it will cheat)" : ""));
        GYM_CHECK(start_worker(layout, processes, options.programs, name,
                               worker_program(options, cheats)));
    }
    return {};
}

}  // namespace

Result<Layout> network_up(const NetworkOptions& options, const Announce& announce) {
    GYM_TRY(const Layout layout, open_or_create(options));
    ProcessTable processes(layout.run());
    announce("making keys");
    GYM_CHECK(ensure_keys(layout));
    announce("starting PostgreSQL and applying the migrations");
    GYM_CHECK(start_database(layout, options.migrations));
    announce("starting anvil and deploying the contracts");
    ChainOptions chain_options;
    GYM_TRY(chain_options.token_supply, Amount::parse_tokens(kTokenSupply));
    GYM_CHECK(start_chain(layout, processes, chain_options));
    GYM_CHECK(write_configs(layout));
    announce("starting coordinator, rewards and API (" + layout.api_url() + ")");
    GYM_CHECK(start_services(layout, processes, options.programs));
    const auto verifier = processes.find(kVerifier);
    if (!verifier.ok() || !verifier->running)
        GYM_CHECK(start_nodes(options, layout, processes, announce));
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
