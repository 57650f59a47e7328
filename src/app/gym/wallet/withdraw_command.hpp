#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym wallet withdraw`: tokens out of the job escrow, in two steps with the contract's delay
/// between them.
void add_withdraw_command(CLI::App& wallet, CliContext& context);

}  // namespace gym::app
