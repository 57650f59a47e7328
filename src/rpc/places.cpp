#include "places.hpp"

namespace gym::rpc {
namespace {

bool is_full(std::uint32_t taken, std::uint32_t bound) {
    return bound > 0 && taken >= bound;
}

template <class Map>
std::uint32_t taken_of(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
}

template <class Map>
void give_back(Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    if (--found->second == 0) map.erase(found);
}

std::string in_flight(Lane lane, std::uint32_t count) {
    return std::to_string(count) + (lane == Lane::kTransfer ? " transfers of blobs" : " calls") +
           " in flight already";
}

}  // namespace

Places::Places(const std::array<LaneBounds, kLaneCount>& bounds) {
    for (std::size_t i = 0; i < kLaneCount; ++i)
        lanes_[i].bounds = bounds[i];
}

Status Places::enter(Lane lane, const Address& caller, const std::string& address) {
    const std::scoped_lock lock(mutex_);
    Taken& taken = lanes_[static_cast<std::size_t>(lane)];
    const LaneBounds& bounds = taken.bounds;
    if (is_full(taken.all, bounds.all))
        return fail(ErrorCode::kUnavailable,
                    "the coordinator is busy: it has " + in_flight(lane, bounds.all));
    if (is_full(taken_of(taken.of_caller, caller), bounds.of_caller))
        return fail(ErrorCode::kUnavailable,
                    caller.hex() + " has " + in_flight(lane, bounds.of_caller));
    if (is_full(taken_of(taken.of_address, address), bounds.of_address))
        return fail(ErrorCode::kUnavailable,
                    "your IP address, " + address + ", has " + in_flight(lane, bounds.of_address));
    ++taken.all;
    ++taken.of_caller[caller];
    ++taken.of_address[address];
    return {};
}

void Places::leave(Lane lane, const Address& caller, const std::string& address) {
    const std::scoped_lock lock(mutex_);
    Taken& taken = lanes_[static_cast<std::size_t>(lane)];
    --taken.all;
    give_back(taken.of_caller, caller);
    give_back(taken.of_address, address);
}

}  // namespace gym::rpc
