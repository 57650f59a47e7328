#pragma once

#include "cli/cli_context.hpp"
#include "node/node_options.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// Runs a worker until SIGTERM or SIGINT: `gym node start`, and test builds that change what a
/// worker computes. A machine without a key joins its stored network first.
Status start_node(const CliContext& context, const NodeOptions& options);

/// `gym node start` and `gym start`: the same command below another parent.
void add_start_command(CLI::App& parent, CliContext& context);

}  // namespace gym::app
