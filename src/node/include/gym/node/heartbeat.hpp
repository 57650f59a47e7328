#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::node {

/// Sends heartbeats from a thread of its own as often as the network asks, until destroyed, and
/// answers the challenges that they bring at once. An exclusion is logged once, with its reason; an
/// outage when it begins and when it ends.
class Heartbeat {
  public:
    /// `coordinator`, `key` and what `activity` uses must outlive the heartbeat; `activity` is
    /// called from its thread. @param domain of the network's signatures.
    Heartbeat(rpc::Coordinator& coordinator, std::function<records::Activity()> activity,
              const crypto::PrivateKey& key, crypto::Eip712Domain domain, std::uint32_t every_ms);
    /// Why the coordinator excluded this node; empty for one in good standing.
    [[nodiscard]] std::string excluded_because() const;

  private:
    void run(const std::stop_token& stop, std::uint32_t every_ms);
    void beat();
    Result<records::HeartbeatAnswer> call(const std::optional<protocol::UptimeAnswer>& answer);
    rpc::Coordinator& coordinator_;
    std::function<records::Activity()> activity_;
    const crypto::PrivateKey& key_;
    const crypto::Eip712Domain domain_;
    mutable std::mutex mutex_;
    std::string excluded_because_;
    bool failing_ = false;  // used by the thread alone
    std::jthread thread_;   // last: it uses everything above
};

}  // namespace gym::node
