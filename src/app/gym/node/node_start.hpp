#pragma once

#include "cli/cli_context.hpp"
#include "node/node_options.hpp"

namespace gym::app {

/// Runs a worker until SIGTERM or SIGINT: `gym node start`, and test builds that change what a
/// worker computes.
Status start_node(const CliContext& context, const NodeOptions& options);

}  // namespace gym::app
