#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym rewards audit`: recomputes a payout root from public files and compares it with the chain.
void add_audit_command(CLI::App& rewards, CliContext& context);

}  // namespace gym::app
