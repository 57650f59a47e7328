#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "gym/common/bytes.hpp"

namespace gym::mirror {

/// Roots of which something was found, for a while. Thread-safe, bounded.
class RecentRoots {
  public:
    explicit RecentRoots(std::int64_t keep_ms) : keep_(keep_ms) {}

    bool has(const Digest& root) {
        const std::scoped_lock lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        while (!order_.empty() && order_.front().first <= now)
            drop_first();
        return roots_.contains(root);
    }
    void add(const Digest& root) {
        const std::scoped_lock lock(mutex_);
        if (!roots_.insert(root).second) return;
        order_.emplace_back(std::chrono::steady_clock::now() + keep_, root);
        if (order_.size() > kRootsMax) drop_first();
    }

  private:
    static constexpr std::size_t kRootsMax = 65'536;
    void drop_first() {
        roots_.erase(order_.front().second);
        order_.pop_front();
    }

    const std::chrono::milliseconds keep_;
    std::mutex mutex_;
    std::set<Digest> roots_;
    std::deque<std::pair<std::chrono::steady_clock::time_point, Digest>> order_;
};

}  // namespace gym::mirror
