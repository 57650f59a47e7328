#pragma once

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym wallet statement`: what an owner's money did, a line a transfer, newest first.
void add_statement_command(CLI::App& wallet, CliContext& context);

}  // namespace gym::app
