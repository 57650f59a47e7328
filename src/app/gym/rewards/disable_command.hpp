#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym rewards disable`: keeps a pending payout root that takes from an earner from ever paying.
void add_disable_command(CLI::App& rewards, CliContext& context);

}  // namespace gym::app
