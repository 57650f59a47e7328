#pragma once

#include <chrono>
#include <stop_token>

namespace gym {

/// Waits for `pause`, or until `stop` is requested. @return whether it is requested.
bool wait_for_stop(const std::stop_token& stop, std::chrono::nanoseconds pause);

/// Waits until `stop` is requested.
void wait_for_stop(const std::stop_token& stop);

}  // namespace gym
