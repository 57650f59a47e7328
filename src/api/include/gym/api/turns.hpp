#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"

namespace gym::api {

/// Work of which one piece is done at a time, for one owner after the other: who is refused has a
/// place in a line as long as it asks again, so that nobody who asks more often comes first.
/// Thread-safe.
class Turns {
  public:
    /// Who does not ask again for so long has left; gym-api's answers say "Retry-After: 1".
    static constexpr UnixMs kKeptMs = 10'000;
    static constexpr std::size_t kLineMax = 256;  ///< more owners have no place and must be lucky

    /// Ends the owner's turn when it is destroyed.
    class Turn {
      public:
        explicit Turn(Turns& turns) : turns_(&turns) {}
        Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
        Turn& operator=(Turn&&) = delete;
        ~Turn() {
            if (turns_ != nullptr) turns_->end();
        }

      private:
        Turns* turns_;
    };

    /// Never waits. @return nothing while another's turn lasts or comes first.
    [[nodiscard]] std::optional<Turn> take(const Address& owner, UnixMs now_ms);

  private:
    struct Waiting {
        Address owner;
        UnixMs asked_at_ms;
    };
    void end();

    std::mutex mutex_;
    std::deque<Waiting> line_;
    bool taken_ = false;
};

}  // namespace gym::api
