#include "gym/mirror/rate_limit.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace gym::mirror {
namespace {

/// Whom an address belongs to: a home has a whole /64 of IPv6.
std::string party_of(const std::string& peer) {
    in6_addr address{};
    if (::inet_pton(AF_INET6, peer.c_str(), &address) != 1 || IN6_IS_ADDR_V4MAPPED(&address))
        return peer;
    std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), std::uint8_t{0});
    std::array<char, INET6_ADDRSTRLEN> text{};
    return ::inet_ntop(AF_INET6, &address, text.data(), text.size()) != nullptr ? text.data()
                                                                                : peer;
}

}  // namespace

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
    const std::string party = party_of(peer);
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
