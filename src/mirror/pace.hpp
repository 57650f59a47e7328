#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

namespace gym::mirror {

/// How fast sources and peers bring pieces of one download, over windows of kWindow. Pure: time is
/// a parameter. Not thread-safe.
class Pace {
  public:
    using Moment = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds kWindow{2'000};
    /// Peers that bring nothing for so long, of the beginning, too, bring nothing any more.
    static constexpr std::chrono::milliseconds kSilence{3'000};

    explicit Pace(Moment begin) : last_peer_(begin) {}

    void from_source(std::uint64_t bytes, Moment now) {
        best_source_ = std::max(best_source_, sources_.add(bytes, now));
    }
    void from_peer(std::uint64_t bytes, Moment now) {
        peers_.add(bytes, now);
        last_peer_ = now;
    }

    /// Whether a piece that a peer has is left to the peers: they bring at least as many bytes now
    /// as the sources did in their best window. Sources that are asked for less bring less, so
    /// their best window counts. Before a source has brought a piece, nothing is left.
    [[nodiscard]] bool leaves_to_peers(Moment now) {
        return best_source_ > 0 && peers_.at(now) >= best_source_;
    }
    [[nodiscard]] bool peers_are_silent(Moment now) const { return now - last_peer_ > kSilence; }

  private:
    class Window {
      public:
        std::uint64_t add(std::uint64_t bytes, Moment now) {
            arrived_.emplace_back(now, bytes);
            sum_ += bytes;
            return at(now);
        }
        std::uint64_t at(Moment now) {
            while (!arrived_.empty() && now - arrived_.front().first > kWindow) {
                sum_ -= arrived_.front().second;
                arrived_.pop_front();
            }
            return sum_;
        }

      private:
        std::deque<std::pair<Moment, std::uint64_t>> arrived_;
        std::uint64_t sum_ = 0;
    };

    Window sources_, peers_;
    std::uint64_t best_source_ = 0;
    Moment last_peer_;
};

}  // namespace gym::mirror
