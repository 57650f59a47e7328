#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `register`, `list` and `show` below `gym data`: the datasets of a network.
void add_data_registry_commands(CLI::App& data, CliContext& context);

}  // namespace gym::app
