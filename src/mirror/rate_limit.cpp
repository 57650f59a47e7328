#include "gym/mirror/rate_limit.hpp"

#include <algorithm>

#include "gym/http_server/party.hpp"

namespace gym::mirror {

bool TokenBucket::take(double amount, Moment now) {
    if (last_ != Moment{})
        level_ =
            std::min(burst_, level_ + per_s_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (level_ <= 0) return false;
    level_ -= amount;
    return true;
}

bool PeerLimit::take(const std::string& peer, double amount, TokenBucket::Moment now) {
    const std::string party = http_server::party_of(peer);
    const std::scoped_lock lock(mutex_);
    auto found = peers_.find(party);
    if (found == peers_.end()) {
        if (peers_.size() >= peers_max_) {
            peers_.erase(order_.front());
            order_.pop_front();
        }
        found = peers_.emplace(party, Peer{TokenBucket(per_s_, burst_), {}}).first;
        found->second.order = order_.insert(order_.end(), party);
    }
    order_.splice(order_.end(), order_, found->second.order);
    return found->second.bucket.take(amount, now);
}

}  // namespace gym::mirror
