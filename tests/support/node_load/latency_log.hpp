#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace gym::testing {

enum class LoadCall : std::uint8_t { kRegister, kHeartbeat, kPoll, kUpload, kCommit, kReceipt };
inline constexpr std::size_t kLoadCallCount = 6;
inline constexpr std::array<const char*, kLoadCallCount> kLoadCallNames = {
    "register", "heartbeat", "poll", "upload", "commit", "receipt"};

struct LatencySummary {
    std::uint64_t count = 0;
    double p50_ms = 0, p99_ms = 0, max_ms = 0;
    std::uint64_t failed = 0;
    std::map<std::string, std::uint64_t> failures;  ///< by message
};

/// How long each kind of call took. Thread-safe.
class LatencyLog {
  public:
    void add(LoadCall call, double ms) {
        const std::scoped_lock lock(mutex_);
        kinds_[index(call)].ms.push_back(ms);
    }
    void fail(LoadCall call, const std::string& message) {
        const std::scoped_lock lock(mutex_);
        ++kinds_[index(call)].failures[message];
    }
    /// What came since the last take.
    LatencySummary take(LoadCall call) {
        Kind kind;
        {
            const std::scoped_lock lock(mutex_);
            std::swap(kind, kinds_[index(call)]);
        }
        LatencySummary out;
        out.failures = std::move(kind.failures);
        for (const auto& [message, count] : out.failures)
            out.failed += count;
        out.count = kind.ms.size();
        if (kind.ms.empty()) return out;
        std::sort(kind.ms.begin(), kind.ms.end());
        out.p50_ms = kind.ms[kind.ms.size() / 2];
        out.p99_ms = kind.ms[kind.ms.size() * 99 / 100];
        out.max_ms = kind.ms.back();
        return out;
    }
    void forget() {
        const std::scoped_lock lock(mutex_);
        kinds_ = {};
    }

  private:
    struct Kind {
        std::vector<double> ms;
        std::map<std::string, std::uint64_t> failures;
    };
    static std::size_t index(LoadCall call) { return static_cast<std::size_t>(call); }
    std::mutex mutex_;
    std::array<Kind, kLoadCallCount> kinds_;
};

}  // namespace gym::testing
