#pragma once

#include "cli/cli_context.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// `gym node bench`: what this machine computes a second, and what that earns.
void add_node_bench_command(CLI::App& node, CliContext& context);

}  // namespace gym::app
