#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/profile/store.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// What a command takes into account besides its options.
struct NodeSources {
    bool network = true;     ///< one has to be named, or be the default one
    bool remembered = true;  ///< what `gym node register` wrote, unless --config names a file
};

/// The options that every command of a node has. Each one that is given overrides its key of the
/// configuration file; what neither says comes from the stored network (cli/network_choice.hpp). A
/// coordinator that is named by itself is another network than the default one, of which then
/// nothing is used.
struct NodeOptions {
    std::string config_file;
    std::string log_level = "info";
    std::string network;  ///< --network

    /// The command keeps pointers to this object: do not move it afterwards.
    void add_to(CLI::App& command);
    /// The options of the configuration that were given, for another command of the same node:
    /// " --config FILE ...". Values that a shell would split are quoted.
    [[nodiscard]] std::string given() const;
    /// Whether the option `flag` was given.
    [[nodiscard]] bool has(std::string_view flag) const;
    /// What --device says, or the configuration file; empty without either.
    [[nodiscard]] std::string named_device(const node::NodeConfig& config) const;
    /// " --flag value" of an option that was given, as in given().
    [[nodiscard]] std::string shell_option(std::string_view flag) const;
    /// @errors as node::load_node_config, profile::Store::find; kInvalidArgument where no network
    /// is named.
    [[nodiscard]] Result<node::NodeConfig> resolve(const NodeSources& sources = {}) const;

    /// Writes the options that were given, and what `resolved` has of device, memory and network,
    /// to DATA_DIR/registered.yaml, from where the node's next commands take them. @errors kIo.
    [[nodiscard]] Status remember(const node::NodeConfig& resolved) const;

    /// The memory that remember() noted for `device`; 0: none, or it is not to be read, because
    /// --config names a file.
    [[nodiscard]] std::uint64_t remembered_memory(const std::string& device) const;

  private:
    [[nodiscard]] Result<node::NodeConfig> load(bool remembered) const;

    node::NodeConfig values_;         ///< of the options in `given_`; all else is unused
    std::vector<std::size_t> given_;  ///< indices in the table of options
};

}  // namespace gym::app
