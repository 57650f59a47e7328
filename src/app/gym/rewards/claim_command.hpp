#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym rewards claim`: has payable rewards paid out on chain.
void add_claim_command(CLI::App& rewards, CliContext& context);

}  // namespace gym::app
