#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "gym/api/backend.hpp"

namespace gym::api {

/// Counters of this process in Prometheus' text format. Thread-safe.
class Metrics {
  public:
    void request(const std::string& operation, unsigned status, double seconds);
    void connections(std::int64_t open) { connections_ = open; }
    /// `gauges` is absent while the database does not answer.
    [[nodiscard]] std::string text(const Gauges* gauges) const;

  private:
    static constexpr std::array<double, 7> kBucketSeconds{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0};
    struct Latency {
        std::array<std::uint64_t, kBucketSeconds.size()> buckets{};
        std::uint64_t count = 0;
        double sum_seconds = 0;
    };

    std::atomic<std::int64_t> connections_{0};
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, unsigned>, std::uint64_t> requests_;
    std::map<std::string, Latency> latency_;
};

}  // namespace gym::api
