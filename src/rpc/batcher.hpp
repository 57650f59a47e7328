#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace gym::rpc {

/// Collects items from many threads and works them off together, on a thread of its own: a batch is
/// what came while the one before was worked on, at most `batch_max` items. A single item is worked
/// on at once; then nothing is for `pause`, so that the next batch is worth its cost. The number of
/// items that wait is the caller's to bound.
template <class Item>
class Batcher {
  public:
    using Work = std::function<void(std::vector<Item> batch)>;

    Batcher(std::size_t batch_max, std::chrono::milliseconds pause, Work work)
        : batch_max_(batch_max),
          work_(std::move(work)),
          thread_([this, pause](auto stop) { run(stop, pause); }) {}
    /// Works off what waits, then ends.
    ~Batcher() { stop(); }
    Batcher(const Batcher&) = delete;
    Batcher& operator=(const Batcher&) = delete;

    void add(Item item) {
        {
            const std::scoped_lock lock(mutex_);
            waiting_.push_back(std::move(item));
        }
        changed_.notify_one();
    }
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
    }

  private:
    void run(const std::stop_token& stop, std::chrono::milliseconds pause) {
        for (;;) {
            std::vector<Item> batch = next(stop);
            if (batch.empty()) return;
            work_(std::move(batch));
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, stop, pause, [&] { return waiting_.size() >= batch_max_; });
        }
    }
    /// Empty: stopped, and nothing waits.
    std::vector<Item> next(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
        std::vector<Item> batch;
        if (waiting_.size() <= batch_max_) {
            batch.swap(waiting_);
            return batch;
        }
        const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch_max_);
        batch.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
        waiting_.erase(waiting_.begin(), end);
        return batch;
    }

    const std::size_t batch_max_;
    const Work work_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<Item> waiting_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace gym::rpc
