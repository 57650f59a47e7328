#pragma once

#include <string>

#include "cli/cli_context.hpp"
#include "gym/common/result.hpp"
#include "node/node_options.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// The options of `gym node register` besides those of every node command.
struct RegisterFlags {
    NodeOptions node;
    std::string gpu_type = {};
    std::string memory = {};
    /// Of a node that has registered before: what that remembered counts, too, and stays.
    bool again = false;
};

/// Registers this machine, prints the result, and remembers the options for the node's other
/// commands.
Status register_node(const CliContext& context, const RegisterFlags& flags);

/// --gpu-type.
void add_gpu_type(CLI::App& command, std::string& gpu_type);

/// `gym node register` and `gym register`: the same command below another parent.
void add_register_command(CLI::App& parent, CliContext& context);

}  // namespace gym::app
