#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/node/timer.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::node {

/// Sends heartbeats, and answers the challenges that they bring at once. Logs an exclusion once,
/// with its reason, and an outage when it begins and when it ends.
class Heartbeat {
  public:
    /// `coordinator`, `key` and what `activity` uses must outlive the heartbeat.
    /// @param domain of the network's signatures.
    Heartbeat(rpc::Coordinator& coordinator, std::function<records::Activity()> activity,
              const crypto::PrivateKey& key, crypto::Eip712Domain domain);

    /// One heartbeat, and one more for each challenge that waits for an answer. From one thread.
    void beat();
    /// beat() every `every_ms` (at least 100 ms, at most ten minutes) until `stop`.
    void run(Timer& timer, std::uint32_t every_ms, const std::stop_token& stop);
    /// Why the coordinator excluded this node; empty for one in good standing. Thread-safe.
    [[nodiscard]] std::string excluded_because() const;

  private:
    Result<records::HeartbeatAnswer> call(const std::optional<protocol::UptimeAnswer>& answer);
    rpc::Coordinator& coordinator_;
    const std::function<records::Activity()> activity_;
    const crypto::PrivateKey& key_;
    const crypto::Eip712Domain domain_;
    mutable std::mutex mutex_;
    std::string excluded_because_;
    bool failing_ = false;  // used by beat() alone
};

/// A heartbeat in a thread of its own, until destroyed.
class HeartbeatThread {
  public:
    /// As Heartbeat; `activity` is called from the thread.
    HeartbeatThread(rpc::Coordinator& coordinator, std::function<records::Activity()> activity,
                    const crypto::PrivateKey& key, crypto::Eip712Domain domain,
                    std::uint32_t every_ms)
        : heartbeat_(coordinator, std::move(activity), key, std::move(domain)),
          thread_([this, every_ms](const std::stop_token& stop) {
              heartbeat_.run(timer_, every_ms, stop);
          }) {}

  private:
    SteadyTimer timer_;
    Heartbeat heartbeat_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace gym::node
