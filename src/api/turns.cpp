#include "gym/api/turns.hpp"

#include <algorithm>

namespace gym::api {

std::optional<Turns::Turn> Turns::take(const Address& owner, UnixMs now_ms) {
    const std::lock_guard lock(mutex_);
    std::erase_if(line_, [now_ms](const Waiting& one) {
        // A clock that was set back must not keep anyone for ever.
        return now_ms - one.asked_at_ms > kKeptMs || one.asked_at_ms > now_ms;
    });
    const auto place = std::ranges::find(line_, owner, &Waiting::owner);
    if (!taken_ && (line_.empty() || place == line_.begin())) {
        if (place != line_.end()) line_.erase(place);
        taken_ = true;
        return std::optional<Turn>(std::in_place, *this);
    }
    if (place != line_.end())
        place->asked_at_ms = now_ms;
    else if (line_.size() < kLineMax)
        line_.push_back({owner, now_ms});
    return std::nullopt;
}

void Turns::end() {
    const std::lock_guard lock(mutex_);
    taken_ = false;
}

}  // namespace gym::api
