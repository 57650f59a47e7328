#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace gym::coordinator {

/// The newest values by key, for facts that never change once they are written. Thread-safe.
template <class Key, class Value>
class BoundedCache {
  public:
    explicit BoundedCache(std::size_t entries_max) : entries_max_(entries_max) {}

    [[nodiscard]] std::shared_ptr<const Value> find(const Key& key) const {
        const std::scoped_lock lock(mutex_);
        const auto found = values_.find(key);
        return found == values_.end() ? nullptr : found->second;
    }
    void keep(const Key& key, std::shared_ptr<const Value> value) {
        const std::scoped_lock lock(mutex_);
        if (!values_.emplace(key, std::move(value)).second) return;
        order_.push_back(key);
        if (order_.size() <= entries_max_) return;
        values_.erase(order_.front());
        order_.pop_front();
    }

  private:
    const std::size_t entries_max_;
    mutable std::mutex mutex_;
    std::map<Key, std::shared_ptr<const Value>> values_;
    std::deque<Key> order_;  ///< oldest first
};

}  // namespace gym::coordinator
