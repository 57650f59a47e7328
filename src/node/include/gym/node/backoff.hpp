#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "gym/common/result.hpp"

namespace gym::node {

/// Whether sending the same thing later may succeed (a wrong clock can be set right, a peer comes
/// back). Everything else is the coordinator's last word about a unit.
[[nodiscard]] bool is_transient(ErrorCode code) noexcept;

/// A node's pauses after errors: doubling from one second to half a minute. The same error in a row
/// is logged once.
class Backoff {
  public:
    /// Logs and waits; returns early on `stop`.
    void failed(const Error& error, const std::stop_token& stop);
    void succeeded();

  private:
    std::chrono::milliseconds pause_{1'000};
    std::string last_message_;
};

}  // namespace gym::node
