#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym job export`: downloads a job's weights, checks them and writes a model folder.
void add_export_command(CLI::App& job, CliContext& context);

}  // namespace gym::app
