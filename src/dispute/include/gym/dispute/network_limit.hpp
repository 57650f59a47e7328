#pragma once

#include <string>

#include "gym/program/program.hpp"

namespace gym::app {

/// Why no network can train `program`, in a few words; empty if one can. Then it can be trained on
/// one machine alone (`gym program run`).
[[nodiscard]] std::string network_limit(const program::Program& program);

}  // namespace gym::app
