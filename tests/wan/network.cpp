#include "network.hpp"

#include <algorithm>
#include <utility>

namespace gym::wan {
namespace {

constexpr std::uint64_t kNsPerUs = 1'000;
constexpr std::uint64_t kNsPerS = 1'000'000'000;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31U);
}

}  // namespace

Network::Network(Plan plan) : plan_(std::move(plan)) {
    for (const Host& host : plan_.hosts) {
        up_.push_back({host.up_bits_per_s, 0});
        down_.push_back({host.down_bits_per_s, 0});
    }
    counts_.resize(plan_.hosts.size() * plan_.hosts.size());
    numbers_.resize(counts_.size());
}

std::optional<std::uint64_t> Network::pass(Line& line, std::uint64_t now_us,
                                           std::size_t bytes) const {
    const std::uint64_t now_ns = now_us * kNsPerUs;
    const std::uint64_t begin = std::max(now_ns, line.free_at_ns);
    // In 128 bits: a queue of 64 MiB in front of a line of 1 kbit/s lasts for days.
    __extension__ using Wide = unsigned __int128;
    const auto waiting =
        static_cast<std::uint64_t>(Wide{begin - now_ns} * line.bits_per_s / 8 / kNsPerS);
    if (waiting + bytes > plan_.queue_bytes) return std::nullopt;
    line.free_at_ns =
        begin + static_cast<std::uint64_t>(Wide{bytes} * 8 * kNsPerS / line.bits_per_s);
    return line.free_at_ns / kNsPerUs;
}

bool Network::is_cut(std::size_t from, std::size_t to) const {
    const std::string &a = plan_.hosts[from].region, &b = plan_.hosts[to].region;
    return a != b && (cut_.contains(a) || cut_.contains(b));
}

bool Network::is_lost(std::size_t from, std::size_t to) {
    const bool inside = plan_.hosts[from].region == plan_.hosts[to].region;
    const std::uint32_t ppm = inside ? plan_.loss.inside_ppm : plan_.loss.between_ppm;
    const std::size_t which = from * plan_.hosts.size() + to;
    return mix(mix(plan_.seed ^ mix(which)) + numbers_[which]++) % kPpm < ppm;
}

void Network::send(std::uint64_t now_us, std::size_t from, std::size_t to, Bytes packet) {
    const auto left = pass(up_[from], now_us, packet.size());
    if (!left) {
        ++pair(from, to).full;
        return;
    }
    const bool inside = plan_.hosts[from].region == plan_.hosts[to].region;
    const std::uint64_t delay = inside ? plan_.inside_delay_us : plan_.between_delay_us;
    put({*left + delay, 0, Place::kDownLine, from, to, std::move(packet)});
}

void Network::put(Event event) {
    event.number = events_made_++;
    events_.push(std::move(event));
}

void Network::enter_down_line(Event event) {
    const std::size_t from = event.from, to = event.to;
    if (is_cut(from, to)) {
        ++pair(from, to).cut;
        return;
    }
    if (is_lost(from, to)) {
        ++pair(from, to).lost;
        return;
    }
    const auto left = pass(down_[to], event.at_us, event.packet.size());
    if (!left) {
        ++pair(from, to).full;
        return;
    }
    event.at_us = *left;
    event.place = Place::kHost;
    put(std::move(event));
}

void Network::advance(std::uint64_t now_us, Deliver deliver) {
    while (!events_.empty() && events_.top().at_us <= now_us) {
        // The queue's own element is const, and is popped before anything compares it again.
        Event event = std::move(const_cast<Event&>(events_.top()));
        events_.pop();
        if (event.place == Place::kHost) {
            late_us_max_ = std::max(late_us_max_, now_us - event.at_us);
            PairCount& count = pair(event.from, event.to);
            ++count.packets;
            count.bytes += event.packet.size();
            deliver(event.to, event.packet);
        } else {
            enter_down_line(std::move(event));
        }
    }
}

std::optional<std::uint64_t> Network::next_us() const {
    if (events_.empty()) return std::nullopt;
    return events_.top().at_us;
}

std::optional<std::size_t> Network::find(std::uint32_t address) const {
    const auto found = std::ranges::find(plan_.hosts, address, &Host::address);
    if (found == plan_.hosts.end()) return std::nullopt;
    return static_cast<std::size_t>(found - plan_.hosts.begin());
}

bool Network::cut(const std::string& region) {
    if (std::ranges::find(plan_.hosts, region, &Host::region) == plan_.hosts.end()) return false;
    cut_.insert(region);
    return true;
}

bool Network::heal(const std::string& region) {
    return cut_.erase(region) != 0;
}

PairCount& Network::pair(std::size_t from, std::size_t to) {
    return counts_[from * plan_.hosts.size() + to];
}

const PairCount& Network::count(std::size_t from, std::size_t to) const {
    return counts_[from * plan_.hosts.size() + to];
}

void Network::reset_counts() {
    std::ranges::fill(counts_, PairCount());
    late_us_max_ = 0;
}

}  // namespace gym::wan
