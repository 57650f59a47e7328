#pragma once

#include <stop_token>

namespace gym::node {

/// A stop token that SIGINT and SIGTERM request from now on. Call once, before other threads start:
/// the signals stay blocked in every thread that starts later.
[[nodiscard]] std::stop_token stop_on_signals();

}  // namespace gym::node
