#include "gym/common/stop.hpp"

#include <condition_variable>
#include <mutex>

namespace gym {

bool wait_for_stop(const std::stop_token& stop, std::chrono::nanoseconds pause) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, pause, [] { return false; });
    return stop.stop_requested();
}

void wait_for_stop(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, stop, [] { return false; });
}

}  // namespace gym
