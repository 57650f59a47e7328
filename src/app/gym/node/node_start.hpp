#pragma once

#include "cli/cli_context.hpp"
#include "node/node_options.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// Whether a node registers before it works. Without a key it can where a stored network is named.
enum class RegisterFirst { kWithoutKey, kAlways };

/// Runs a worker until SIGTERM or SIGINT: `gym node start`, and test builds that change what a
/// worker computes.
Status start_node(const CliContext& context, const NodeOptions& options,
                  RegisterFirst when = RegisterFirst::kWithoutKey);

/// `gym node start` and `gym start`: the same command below another parent.
void add_start_command(CLI::App& parent, CliContext& context);

}  // namespace gym::app
