#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/function_ref.hpp"
#include "plan.hpp"

namespace gym::wan {

/// What became of the packets from one host to another.
struct PairCount {
    std::uint64_t packets = 0;  ///< that arrived
    std::uint64_t bytes = 0;    ///< of these, with their IP headers
    std::uint64_t lost = 0;     ///< packets, by chance
    std::uint64_t full = 0;     ///< packets that found a queue full
    std::uint64_t cut = 0;      ///< packets from or to a region that was cut off

    friend bool operator==(const PairCount&, const PairCount&) = default;
};

/// Where packets are and when they arrive: each goes through the sender's line (rate, queue), takes
/// the delay of the way, may be lost there, and goes through the receiver's line. Pure: time is a
/// parameter, in microseconds from any beginning, and the seed decides what is lost. Memory: two
/// queues a host, and what its line sends within the delay. Not thread-safe.
class Network {
  public:
    explicit Network(Plan plan);

    /// A packet that `from` sends at `now_us`, which never goes back.
    void send(std::uint64_t now_us, std::size_t from, std::size_t to, Bytes packet);
    /// When something happens next. Empty: nothing is under way.
    [[nodiscard]] std::optional<std::uint64_t> next_us() const;
    using Deliver = FunctionRef<void(std::size_t to, const Bytes& packet)>;
    /// Moves everything on to `now_us`; hands over what arrives until then, in order.
    void advance(std::uint64_t now_us, Deliver deliver);

    /// The host with this address.
    [[nodiscard]] std::optional<std::size_t> find(std::uint32_t address) const;
    [[nodiscard]] const Plan& plan() const { return plan_; }

    void set_loss(Loss loss) { plan_.loss = loss; }
    /// Nothing comes into the region or out of it; inside it everything goes on. @return false: no
    /// host is there.
    bool cut(const std::string& region);
    /// @return false: it was not cut off.
    bool heal(const std::string& region);

    [[nodiscard]] const PairCount& count(std::size_t from, std::size_t to) const;
    void reset_counts();
    /// The longest that something happened after its time: what the emulation itself added.
    [[nodiscard]] std::uint64_t late_us_max() const { return late_us_max_; }

  private:
    enum class Place { kDownLine, kHost };
    /// A packet comes to the receiver's line, or out of it.
    struct Event {
        std::uint64_t at_us = 0;
        std::uint64_t number = 0;  ///< of two at one time the earlier one first
        Place place = Place::kDownLine;
        std::size_t from = 0, to = 0;
        Bytes packet;
        friend bool operator>(const Event& a, const Event& b) {
            return a.at_us != b.at_us ? a.at_us > b.at_us : a.number > b.number;
        }
    };
    /// One direction of a line: when it has sent what waits.
    struct Line {
        std::uint64_t bits_per_s = 0;
        std::uint64_t free_at_ns = 0;
    };
    /// When the packet has left the line; empty: its queue is full.
    [[nodiscard]] std::optional<std::uint64_t> pass(Line& line, std::uint64_t now_us,
                                                    std::size_t bytes) const;
    [[nodiscard]] bool is_cut(std::size_t from, std::size_t to) const;
    [[nodiscard]] bool is_lost(std::size_t from, std::size_t to);
    [[nodiscard]] PairCount& pair(std::size_t from, std::size_t to);
    void put(Event event);
    void enter_down_line(Event event);

    Plan plan_;
    std::vector<Line> up_, down_;
    std::vector<PairCount> counts_;
    std::vector<std::uint64_t> numbers_;  ///< packets of each pair that chance has decided about
    std::set<std::string> cut_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t events_made_ = 0;
    std::uint64_t late_us_max_ = 0;
};

}  // namespace gym::wan
