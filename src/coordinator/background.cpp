#include "gym/coordinator/background.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace gym::coordinator {
namespace {

class OneThread final : public Background {
  public:
    OneThread() : thread_([this](const std::stop_token& stop) { take(stop); }) {}

    void run(Work work) override {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(std::move(work));
        changed_.notify_one();
    }
    void run_soon(Work work) override {
        const std::scoped_lock lock(mutex_);
        urgent_.push_back(std::move(work));
        changed_.notify_one();
    }

  private:
    Work next() {
        std::deque<Work>& from = urgent_.empty() ? waiting_ : urgent_;
        Work work = std::move(from.front());
        from.pop_front();
        return work;
    }
    void take(const std::stop_token& stop) {
        for (;;) {
            Work work;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, stop, [this] { return !urgent_.empty() || !waiting_.empty(); });
                if (stop.stop_requested()) return;
                work = next();
            }
            work(stop);
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Work> urgent_, waiting_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace

std::unique_ptr<Background> make_background() {
    return std::make_unique<OneThread>();
}

}  // namespace gym::coordinator
