#pragma once

#include "cli/cli_context.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// `gym operator sign-profile`: what gym-api serves to those who join the network.
void add_sign_profile_command(CLI::App& group, CliContext& context);

}  // namespace gym::app
