#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::rpc {

/// What a call is for. Each lane has places of its own: a crowd in one leaves the others free.
enum class Lane : std::uint8_t {
    kControl,   ///< heartbeats, polls on their way, questions
    kTransfer,  ///< blobs, both ways
    kUrgent,    ///< what a node loses money without: commitments, reports, defences
    kStranger,  ///< of callers that are not known to be registered
};
inline constexpr std::size_t kLaneCount = 4;

/// How many calls may be under way. 0: no bound.
struct LaneBounds {
    std::uint32_t all = 0, of_caller = 0, of_address = 0;
};

/// Places of the calls that are under way. Thread-safe.
class Places {
  public:
    explicit Places(const std::array<LaneBounds, kLaneCount>& bounds);

    /// @param address the caller's IP address (http_server::party_of()). @errors kUnavailable with
    /// the bound that is reached; then leave() is not due.
    Status enter(Lane lane, const Address& caller, const std::string& address);
    void leave(Lane lane, const Address& caller, const std::string& address);

  private:
    struct Taken {
        LaneBounds bounds;
        std::uint32_t all = 0;
        std::map<Address, std::uint32_t> of_caller;
        std::map<std::string, std::uint32_t> of_address;
    };

    std::mutex mutex_;
    std::array<Taken, kLaneCount> lanes_;
};

}  // namespace gym::rpc
