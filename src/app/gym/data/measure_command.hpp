#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `measure` below `gym data`.
void add_measure_command(CLI::App& data, CliContext& context);

}  // namespace gym::app
