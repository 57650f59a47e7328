#include "gym/node/timer.hpp"

#include <condition_variable>
#include <mutex>

namespace gym::node {

void SteadyTimer::wait(Clock::duration pause, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, pause, [] { return false; });
}

}  // namespace gym::node
