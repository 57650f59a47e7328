#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace gym::rpc {

/// A fixed number of threads that run short jobs in order of arrival. Jobs must not throw.
class HandlerPool {
  public:
    HandlerPool(unsigned threads, std::size_t queue_max);
    /// Runs what is queued, then ends.
    ~HandlerPool();
    HandlerPool(const HandlerPool&) = delete;
    HandlerPool& operator=(const HandlerPool&) = delete;

    /// @return false when the queue is full; the job is not kept then.
    [[nodiscard]] bool submit(std::function<void()> job);

  private:
    void run(const std::stop_token& stop);
    std::size_t queue_max_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<std::function<void()>> queue_;
    std::vector<std::jthread> threads_;
};

/// Calls `tick` every `interval_ms` and at once after wake(), from one thread of its own.
class Ticker {
  public:
    Ticker(std::int64_t interval_ms, std::function<void()> tick);
    void wake();
    /// Returns after the last tick ended.
    void stop();

  private:
    void run(const std::stop_token& stop, std::int64_t interval_ms,
             const std::function<void()>& tick);
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool woken_ = false;
    std::jthread thread_;
};

}  // namespace gym::rpc
