#include "gym/node/timer.hpp"

#include "gym/common/stop.hpp"

namespace gym::node {

void SteadyTimer::wait(Clock::duration pause, const std::stop_token& stop) {
    wait_for_stop(stop, pause);
}

}  // namespace gym::node
