#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gym::http_server {

/// Counts the request bodies that are in memory: all of them together, and those of each owner, so
/// that one owner cannot hold the room of the others. Not thread-safe.
class BodyMemory {
  public:
    /// @param all_max bytes of all bodies, @param owner_max of one owner's.
    BodyMemory(std::uint64_t all_max, std::uint64_t owner_max)
        : all_max_(all_max), owner_max_(owner_max) {}

    enum class Room : std::uint8_t {
        kTaken,      ///< release() gives it back
        kOwnerFull,  ///< the owner's other bodies leave too little
        kFull,       ///< everybody's do
    };
    /// Reserves `bytes`. A body that is alone, its owner's only one or the only one of all, always
    /// fits its bound. @param owner the account of the request's key; empty: nobody's, which is
    /// bounded by `all_max` alone.
    [[nodiscard]] Room reserve(const std::string& owner, std::uint64_t bytes);
    /// Precondition: reserve() took as many for this owner.
    void release(const std::string& owner, std::uint64_t bytes);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    std::uint64_t all_max_;
    std::uint64_t owner_max_;
    std::uint64_t bytes_ = 0;
    std::map<std::string, std::uint64_t, std::less<>> owners_;  ///< without those that have none
};

}  // namespace gym::http_server
