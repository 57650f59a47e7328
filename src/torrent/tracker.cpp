#include "gym/torrent/tracker.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "gym/common/result.hpp"
#include "gym/http_server/party.hpp"

namespace gym::torrent {
namespace {

constexpr std::size_t kHashBytes = 20;
constexpr std::size_t kQueryBytesMax = 2'048;
constexpr std::size_t kIpv4Bytes = 4, kIpv6Bytes = 16, kPortBytes = 2;
constexpr std::uint64_t kPortMin = 1'024, kPortMax = 65'535;
constexpr double kBurst = 20;
/// An announcement is good for so many halves of the interval.
constexpr int kKeptHalves = 5;
constexpr std::uint32_t kMinIntervalShare = 4;

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return std::nullopt;
}

std::optional<std::string> unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        out += static_cast<char>(*high << 4U | *low);
        i += 2;
    }
    return out;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Address and port in network order; empty for any other text.
std::string compact(const std::string& address, std::uint64_t port) {
    const std::string plain = address.starts_with("::ffff:") ? address.substr(7) : address;
    std::array<char, kIpv6Bytes> ip{};
    std::size_t size = 0;
    if (::inet_pton(AF_INET, plain.c_str(), ip.data()) == 1)
        size = kIpv4Bytes;
    else if (::inet_pton(AF_INET6, address.c_str(), ip.data()) == 1)
        size = kIpv6Bytes;
    else
        return {};
    std::string out(ip.data(), size);
    out += static_cast<char>(port >> 8U);
    out += static_cast<char>(port & 0xffU);
    return out;
}

std::string text_of(std::string_view text) {
    return std::to_string(text.size()) + ":" + std::string(text);
}

std::string number_of(std::uint64_t value) {
    return "i" + std::to_string(value) + "e";
}

}  // namespace

struct Tracker::Question {
    std::string info_hash;
    std::string self;  ///< compact
    bool has_all = false, stopped = false;
    std::size_t wanted = 0;

    /// @errors kMalformed.
    static Result<Question> parse(std::string_view query, const std::string& address) {
        if (query.size() > kQueryBytesMax) return fail(ErrorCode::kMalformed, "too long");
        std::map<std::string, std::string, std::less<>> values;
        while (!query.empty()) {
            const std::string_view part = query.substr(0, query.find('&'));
            query.remove_prefix(std::min(query.size(), part.size() + 1));
            const std::size_t equals = std::min(part.find('='), part.size());
            auto value =
                unescape(equals == part.size() ? std::string_view() : part.substr(equals + 1));
            if (!value) return fail(ErrorCode::kMalformed, "a value is not escaped as it must be");
            values.emplace(std::string(part.substr(0, equals)), std::move(*value));
        }
        Question out;
        out.info_hash = values["info_hash"];
        if (out.info_hash.size() != kHashBytes)
            return fail(ErrorCode::kMalformed, "info_hash must have 20 bytes");
        const auto port = number(values["port"]);
        if (!port || *port < kPortMin || *port > kPortMax)
            return fail(ErrorCode::kMalformed, "port must be 1024 to 65535");
        out.self = compact(address, *port);
        if (out.self.empty()) return fail(ErrorCode::kMalformed, "your address is none of IP");
        out.has_all = values["left"] == "0";
        out.stopped = values["event"] == "stopped";
        out.wanted = static_cast<std::size_t>(number(values["numwant"]).value_or(SIZE_MAX));
        return out;
    }
};

Tracker::Tracker(const TrackerOptions& options, std::uint32_t seed)
    : options_(options),
      draw_(seed),
      limit_(options.announces_per_s_of_address, kBurst * options.announces_per_s_of_address),
      all_(options.announces_per_s_max, kBurst * options.announces_per_s_max) {}

void Tracker::add(const Digest& info_hash) {
    const std::scoped_lock lock(mutex_);
    const ByteView first = info_hash.view().first(kHashBytes);
    torrents_[std::string(first.begin(), first.end())].asked = ++rank_;
    if (torrents_.size() <= options_.torrents_max) return;
    const auto oldest = std::ranges::min_element(
        torrents_, {}, [](const auto& entry) { return entry.second.asked; });
    while (!oldest->second.peers.empty())
        forget(oldest->second, oldest->second.peers.begin());
    torrents_.erase(oldest);
}

std::string Tracker::answer(std::string_view query, const std::string& address, Moment now) {
    const bool allowed = limit_.take(address, 1, now);
    const std::scoped_lock lock(mutex_);
    if (!allowed || !all_.take(1, now)) return refuse("too many announcements; ask later");
    const auto question = Question::parse(query, address);
    if (!question.ok()) return refuse(question.error().message);
    const auto torrent = torrents_.find(question->info_hash);
    if (torrent == torrents_.end())
        return refuse("this mirror made no such torrent, or forgot it: fetch ROOT.torrent again");
    torrent->second.asked = ++rank_;
    expire(torrent->second, now);
    const Status kept = keep(torrent->second, *question, address, now);
    if (!kept.ok()) return refuse(kept.error().message);
    ++answered_;
    return list(torrent->second, *question);
}

std::string Tracker::refuse(std::string_view why) {
    ++refused_;
    return "d14:failure reason" + text_of(why) + "e";
}

Status Tracker::keep(Torrent& torrent, const Question& question, const std::string& address,
                     Moment now) {
    const auto known = torrent.peers.find(question.self);
    if (question.stopped) {
        if (known != torrent.peers.end()) forget(torrent, known);
        return {};
    }
    const Moment expires = now + std::chrono::seconds(options_.interval_s) * kKeptHalves / 2;
    if (known != torrent.peers.end()) {
        known->second.expires = expires;
        known->second.has_all = question.has_all;
        return {};
    }
    if (peers_ >= options_.peers_max) expire_all(now);
    if (peers_ >= options_.peers_max)
        return fail(ErrorCode::kOutOfRange, "this tracker has as many peers as it takes");
    const std::string party = http_server::party_of(address);
    const auto of_party = of_party_.find(party);
    if (of_party != of_party_.end() && of_party->second >= options_.peers_of_address_max)
        return fail(ErrorCode::kOutOfRange, "your address has as many peers as it may");
    ++of_party_[party];
    ++peers_;
    torrent.peers.emplace(question.self, Peer{expires, question.has_all, party});
    return {};
}

void Tracker::forget(Torrent& torrent, Peers::iterator peer) {
    const auto party = of_party_.find(peer->second.party);
    if (--party->second == 0) of_party_.erase(party);
    --peers_;
    torrent.peers.erase(peer);
}

void Tracker::expire(Torrent& torrent, Moment now) {
    for (auto peer = torrent.peers.begin(); peer != torrent.peers.end();) {
        const auto next = std::next(peer);
        if (peer->second.expires <= now) forget(torrent, peer);
        peer = next;
    }
}

void Tracker::expire_all(Moment now) {
    for (auto& [hash, torrent] : torrents_)
        expire(torrent, now);
}

std::string Tracker::list(const Torrent& torrent, const Question& question) {
    const std::size_t count = torrent.peers.size();
    const auto complete = static_cast<std::size_t>(std::ranges::count_if(
        torrent.peers, [](const auto& entry) { return entry.second.has_all; }));
    std::size_t left = std::min(question.wanted, options_.answered_max);
    if (question.stopped) left = 0;
    std::string v4, v6;
    if (count > 0 && left > 0) {
        // Neighbours from a drawn one on, around the end.
        auto peer = std::next(torrent.peers.begin(), static_cast<std::ptrdiff_t>(draw_() % count));
        for (std::size_t i = 0; i < count && left > 0; ++i) {
            const std::string& at = peer->first;
            if (at != question.self) {
                (at.size() == kIpv4Bytes + kPortBytes ? v4 : v6) += at;
                --left;
            }
            if (++peer == torrent.peers.end()) peer = torrent.peers.begin();
        }
    }
    std::string out = "d8:complete" + number_of(complete) + "10:incomplete" +
                      number_of(count - complete) + "8:interval" + number_of(options_.interval_s) +
                      "12:min interval" + number_of(options_.interval_s / kMinIntervalShare) +
                      "5:peers" + text_of(v4);
    if (!v6.empty()) out += "6:peers6" + text_of(v6);
    return out + "e";
}

std::size_t Tracker::torrents() const {
    const std::scoped_lock lock(mutex_);
    return torrents_.size();
}

std::size_t Tracker::peers() const {
    const std::scoped_lock lock(mutex_);
    return peers_;
}

std::uint64_t Tracker::answered() const {
    const std::scoped_lock lock(mutex_);
    return answered_;
}

std::uint64_t Tracker::refused() const {
    const std::scoped_lock lock(mutex_);
    return refused_;
}

}  // namespace gym::torrent
