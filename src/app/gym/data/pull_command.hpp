#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym data pull`.
void add_pull_command(CLI::App& data, CliContext& context);

}  // namespace gym::app
