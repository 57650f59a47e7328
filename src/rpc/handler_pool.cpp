#include "handler_pool.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gym::rpc {

HandlerPool::HandlerPool(unsigned threads, std::size_t queue_max) : queue_max_(queue_max) {
    for (unsigned i = 0; i < std::max(threads, 1U); ++i)
        threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

HandlerPool::~HandlerPool() {
    for (std::jthread& thread : threads_)
        thread.request_stop();
    threads_.clear();  // joins
}

bool HandlerPool::submit(std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        if (queue_.size() >= queue_max_) return false;
        queue_.push_back(std::move(job));
    }
    wake_.notify_one();
    return true;
}

void HandlerPool::run(const std::stop_token& stop) {
    for (;;) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [this] { return !queue_.empty(); });
        if (queue_.empty()) return;  // stopped
        const std::function<void()> job = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        job();
    }
}

Ticker::Ticker(std::int64_t interval_ms, std::function<void()> tick)
    : thread_([this, interval_ms, tick = std::move(tick)](const std::stop_token& stop) {
          run(stop, interval_ms, tick);
      }) {}

void Ticker::wake() {
    {
        const std::scoped_lock lock(mutex_);
        woken_ = true;
    }
    changed_.notify_one();
}

void Ticker::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void Ticker::run(const std::stop_token& stop, std::int64_t interval_ms,
                 const std::function<void()>& tick) {
    while (!stop.stop_requested()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, std::chrono::milliseconds(interval_ms),
                          [this] { return woken_; });
        woken_ = false;
        lock.unlock();
        tick();
    }
}

}  // namespace gym::rpc
