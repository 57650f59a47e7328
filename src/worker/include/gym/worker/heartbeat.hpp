#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "gym/rpc/coordinator.hpp"

namespace gym::worker {

/// Sends heartbeats from a thread of its own as often as the network asks, until destroyed. An
/// exclusion is logged once, with its reason; an outage when it begins and when it ends.
class Heartbeat {
  public:
    /// `coordinator` and what `activity` uses must outlive the heartbeat; `activity` is called from
    /// its thread.
    Heartbeat(rpc::Coordinator& coordinator, std::function<rpc::Activity()> activity,
              std::uint32_t every_ms);
    /// Why the coordinator excluded this node; empty for one in good standing.
    [[nodiscard]] std::string excluded_because() const;

  private:
    void run(const std::stop_token& stop, std::uint32_t every_ms);
    void beat();
    rpc::Coordinator& coordinator_;
    std::function<rpc::Activity()> activity_;
    mutable std::mutex mutex_;
    std::string excluded_because_;
    bool failing_ = false;  // used by the thread alone
    std::jthread thread_;   // last: it uses everything above
};

}  // namespace gym::worker
