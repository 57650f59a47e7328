#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/process_table.hpp"

namespace gym::devnet {

/// Folder of gym, gym-coordinator, gym-api, gym-rewards and gym-verifier.
struct Programs {
    std::filesystem::path folder;
    std::map<std::string, std::string> instead;  ///< other names below it, of test builds
    [[nodiscard]] std::string path(const std::string& name) const {
        const auto other = instead.find(name);
        return (folder / (other == instead.end() ? name : other->second)).string();
    }
};

/// Writes the configuration files of the services into layout.config(), and the network's profile,
/// unless one that says the same is there.
Status write_configs(const Layout& layout);

struct NodeTraits {
    unsigned threads = 1;
};
Status write_node_config(const Layout& layout, const std::string& name, const NodeTraits& traits);

/// That coordinator, API and rewards work, and that the other two have said so after `since`.
/// @errors as client::ApiClient::health(); kUnavailable.
[[nodiscard]] Status check_health(const Layout& layout, UnixMs since);

/// Starts coordinator, API and rewards; returns when all of them work.
/// @errors kUnavailable with the last words of a service that ended; kTimeout naming one that does
/// not work.
Status start_services(const Layout& layout, ProcessTable& processes, const Programs& programs);

/// Starts the verifier, which registers itself.
Status start_verifier(const Layout& layout, ProcessTable& processes, const Programs& programs);

/// The program that runs as a worker: `gym node start`, or a test build of the worker.
struct WorkerProgram {
    std::vector<std::string> argv;  ///< before the node options
};
/// Registers a worker and starts it.
Status start_worker(const Layout& layout, ProcessTable& processes, const Programs& programs,
                    const std::string& name, const WorkerProgram& program);

/// @errors kUnavailable with the last words of the first process that is not running.
Status check_all_running(const Layout& layout, const ProcessTable& processes);

/// Stops everything of the network by its recorded process ids: nodes, services, chain, database.
Status stop_all(const Layout& layout);

/// An API key for the key holder `holder`, made by `gym-api keys create` on first use and kept in
/// layout.secrets().
[[nodiscard]] Result<std::string> ensure_api_key(const Layout& layout, const Programs& programs,
                                                 const std::string& holder);

}  // namespace gym::devnet
