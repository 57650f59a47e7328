#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// The options that every command of a node has. Each one that is given overrides its key of the
/// configuration file.
struct NodeOptions {
    std::string config_file;
    std::string log_level = "info";

    /// The command keeps pointers to this object: do not move it afterwards.
    void add_to(CLI::App& command);
    /// The options of the configuration that were given, for another command of the same node:
    /// " --config FILE ...". Values that a shell would split are quoted.
    [[nodiscard]] std::string given() const;
    /// @errors as node::load_node_config.
    [[nodiscard]] Result<node::NodeConfig> resolve() const;

  private:
    node::NodeConfig values_;         ///< of the options in `given_`; all else is unused
    std::vector<std::size_t> given_;  ///< indices in the table of options
};

}  // namespace gym::app
