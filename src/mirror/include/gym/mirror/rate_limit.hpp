#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace gym::mirror {

/// A token bucket: `per_s` on average, `burst` at once. Not thread-safe.
class TokenBucket {
  public:
    using Moment = std::chrono::steady_clock::time_point;
    TokenBucket(double per_s, double burst) : per_s_(per_s), burst_(burst), level_(burst) {}
    /// Takes `amount` if the bucket is not empty; it may go below zero then, so that an amount
    /// above the burst passes, too. @return whether it did.
    bool take(double amount, Moment now);

  private:
    double per_s_, burst_, level_;
    Moment last_{};
};

/// A bucket for each peer, by its IP address (http_server::party_of()). Remembers `peers_max`;
/// beyond, the one that asked least recently is forgotten. Thread-safe.
class PeerLimit {
  public:
    PeerLimit(double per_s, double burst, std::size_t peers_max = 4'096)
        : per_s_(per_s), burst_(burst), peers_max_(peers_max) {}
    bool take(const std::string& peer, double amount, TokenBucket::Moment now);

  private:
    struct Peer {
        TokenBucket bucket;
        std::list<std::string>::iterator order;
    };
    const double per_s_, burst_;
    const std::size_t peers_max_;
    std::mutex mutex_;
    std::map<std::string, Peer> peers_;
    std::list<std::string> order_;
};

}  // namespace gym::mirror
