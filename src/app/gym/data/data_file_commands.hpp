#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `steps`, `verify` and `mix` below `gym data`: token files and their manifests.
void add_data_file_commands(CLI::App& data, CliContext& context);

}  // namespace gym::app
