#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym wallet leave`: everything out of the job escrow, whatever the network's operator does, in
/// two steps with the contract's delay between them.
void add_leave_command(CLI::App& wallet, CliContext& context);

}  // namespace gym::app
