#pragma once

#include <string>

#include "gym/program/program.hpp"

namespace gym::dispute {

/// Why no network can train `program`, in a few words: a fault in it could not be proven on chain.
/// Empty if one can. A program with a limit can still be trained on one machine (`gym program
/// run`).
[[nodiscard]] std::string network_limit(const program::Program& program);

}  // namespace gym::dispute
