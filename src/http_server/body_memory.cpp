#include "body_memory.hpp"

namespace gym::http_server {
namespace {

bool fits(std::uint64_t held, std::uint64_t bytes, std::uint64_t most) {
    return held == 0 || (held <= most && bytes <= most - held);
}

}  // namespace

BodyMemory::Room BodyMemory::reserve(const std::string& owner, std::uint64_t bytes) {
    const auto own = owners_.find(owner);
    const std::uint64_t held = own == owners_.end() ? 0 : own->second;
    if (!owner.empty() && !fits(held, bytes, owner_max_)) return Room::kOwnerFull;
    if (!fits(bytes_, bytes, all_max_)) return Room::kFull;
    if (bytes == 0) return Room::kTaken;
    bytes_ += bytes;
    if (!owner.empty()) owners_[owner] += bytes;
    return Room::kTaken;
}

void BodyMemory::release(const std::string& owner, std::uint64_t bytes) {
    bytes_ -= bytes;
    const auto own = owners_.find(owner);
    if (own == owners_.end()) return;
    own->second -= bytes;
    if (own->second == 0) owners_.erase(own);
}

}  // namespace gym::http_server
