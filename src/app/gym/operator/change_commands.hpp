#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym operator announce`, `changes`, `execute` and `cancel`: what the admin of the contracts does
/// after a delay; `revoke` and `lower`: what the guardian does at once.
void add_change_commands(CLI::App& group, CliContext& context);

}  // namespace gym::app
