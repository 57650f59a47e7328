#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "gym/common/result.hpp"
#include "gym/node/timer.hpp"

namespace gym::node {

/// Whether sending the same thing later may succeed: a wrong clock can be set right, a peer can
/// come back. Every other error is the coordinator's final answer about a unit.
[[nodiscard]] bool is_transient(ErrorCode code) noexcept;

/// A node's pauses after errors. They double from one second to half a minute; the same error in a
/// row is logged once. Not thread-safe.
class Backoff {
  public:
    /// `timer` must outlive the object.
    explicit Backoff(Timer& timer) : timer_(timer) {}
    /// Logs the error and waits; returns early on `stop`.
    void failed(const Error& error, const std::stop_token& stop);
    void succeeded();

  private:
    Timer& timer_;
    std::chrono::milliseconds pause_{1'000};
    std::string last_message_;
};

}  // namespace gym::node
