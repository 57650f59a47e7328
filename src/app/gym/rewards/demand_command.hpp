#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym rewards demand` and `gym rewards reclaim`: a pending payout root shows an earner's leaf, or
/// it never pays and the demand's bond comes back.
void add_demand_commands(CLI::App& rewards, CliContext& context);

}  // namespace gym::app
