#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "gym/blob/verified_blob.hpp"
#include "gym/worker/unit_journal.hpp"

namespace gym::worker {

/// The delta of a signed unit, sent by a thread of its own while the next unit is computed. Not
/// thread-safe. Its end waits for the thread.
class DeltaInFlight {
  public:
    /// @param send brings the delta to where it is needed; called once, from the thread.
    DeltaInFlight(JournalEntry entry, const blob::VerifiedBlob& delta,
                  std::function<Status(const blob::VerifiedBlob&)> send)
        : entry_(std::move(entry)), delta_(delta) {
        thread_ = std::jthread([this, send = std::move(send)] {
            sent_ = send(delta_);
            done_ = true;
        });
    }

    [[nodiscard]] const JournalEntry& entry() const { return entry_; }
    [[nodiscard]] const blob::VerifiedBlob& delta() const { return delta_; }
    /// Whether wait() returns at once.
    [[nodiscard]] bool is_done() const { return done_; }
    /// Until it is sent, or that failed. @errors of `send`.
    [[nodiscard]] Status wait() {
        if (thread_.joinable()) thread_.join();
        return sent_;
    }

  private:
    const JournalEntry entry_;
    const blob::VerifiedBlob delta_;
    Status sent_;
    std::atomic<bool> done_ = false;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace gym::worker
