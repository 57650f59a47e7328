#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "gym/common/bytes.hpp"

namespace gym::api {

/// Reads that make the database work, of which each owner has a few under way: whoever asks for
/// more keeps no connection from the others. Thread-safe.
class ReadsInFlight {
  public:
    static constexpr std::size_t kOfOwnerMax = 2;

    /// Ends when it is destroyed.
    class Read {
      public:
        Read(ReadsInFlight& reads, const Address& owner) : reads_(&reads), owner_(owner) {}
        Read(Read&& other) noexcept
            : reads_(std::exchange(other.reads_, nullptr)), owner_(other.owner_) {}
        Read& operator=(Read&&) = delete;
        ~Read() {
            if (reads_ != nullptr) reads_->end(owner_);
        }

      private:
        ReadsInFlight* reads_;
        Address owner_;
    };

    /// Never waits. @return nothing while the owner has kOfOwnerMax under way.
    [[nodiscard]] std::optional<Read> begin(const Address& owner) {
        const std::lock_guard lock(mutex_);
        std::size_t& count = of_owner_[owner];
        if (count >= kOfOwnerMax) return std::nullopt;
        ++count;
        return std::optional<Read>(std::in_place, *this, owner);
    }

  private:
    void end(const Address& owner) {
        const std::lock_guard lock(mutex_);
        const auto count = of_owner_.find(owner);
        if (--count->second == 0) of_owner_.erase(count);
    }

    std::mutex mutex_;
    std::map<Address, std::size_t> of_owner_;
};

}  // namespace gym::api
