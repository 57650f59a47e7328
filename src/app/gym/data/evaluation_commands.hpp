#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `publish-evaluation` and `retire-evaluation` below `gym operator`.
void add_evaluation_commands(CLI::App& group, CliContext& context);

}  // namespace gym::app
