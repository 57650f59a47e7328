#include "gym/common/clock.hpp"

#include <chrono>

namespace gym {

UnixMs SystemClock::now_ms() const {
    using std::chrono::milliseconds;
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(since_epoch).count();
}

}  // namespace gym
