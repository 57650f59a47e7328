#include "gym/common/clock.hpp"

#include <array>
#include <chrono>
#include <ctime>

namespace gym {

UnixMs SystemClock::now_ms() const {
    using std::chrono::milliseconds;
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(since_epoch).count();
}

std::string utc_text(UnixMs time_ms) {
    const auto unix_s =
        std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(time_ms));
    const auto time = static_cast<std::time_t>(unix_s.count());
    std::tm parts{};
    if (::gmtime_r(&time, &parts) == nullptr) return "?";
    std::array<char, 64> text{};
    const std::size_t size =
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return {text.data(), size};
}

}  // namespace gym
