#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/mirror/rate_limit.hpp"

namespace gym::torrent {

struct TrackerOptions {
    std::size_t torrents_max = 4'096;         ///< beyond, the one that was asked for last ends
    std::size_t peers_max = 65'536;           ///< of all torrents
    std::size_t peers_of_address_max = 64;    ///< of one IP address (of IPv6: of one /64)
    std::size_t answered_max = 50;            ///< peers in an answer
    std::uint32_t interval_s = 120;           ///< a peer is forgotten after two and a half
    double announces_per_s_of_address = 2;    ///< 20 times as many at once
    std::uint32_t announces_per_s_max = 500;  ///< of all
};

/// A tracker of BitTorrent (BEP 3, 7 and 23: compact answers alone). It knows torrents that it was
/// told of, and refuses all others. A peer is where its question came from, and no other address
/// can be announced; ports below 1,024 are refused. All is in memory: a new process begins with no
/// peers. Thread-safe.
class Tracker {
  public:
    using Moment = std::chrono::steady_clock::time_point;
    /// @param seed of the draw of peers where there are more than an answer has.
    explicit Tracker(const TrackerOptions& options, std::uint32_t seed);

    /// Answers questions about the torrent from here on. @param info_hash of version 2.
    void add(const Digest& info_hash);
    /// @return a bencoded answer, or a "failure reason".
    [[nodiscard]] std::string answer(std::string_view query, const std::string& address,
                                     Moment now);

    [[nodiscard]] std::size_t torrents() const;
    [[nodiscard]] std::size_t peers() const;
    [[nodiscard]] std::uint64_t answered() const;
    [[nodiscard]] std::uint64_t refused() const;

  private:
    struct Question;
    struct Peer {
        Moment expires;
        bool has_all = false;
        std::string party;
    };
    /// By the compact form of address and port: 6 or 18 bytes.
    using Peers = std::map<std::string, Peer, std::less<>>;
    struct Torrent {
        Peers peers;
        std::uint64_t asked = 0;  ///< rank of the last question, or of add()
    };
    using Torrents = std::map<std::string, Torrent, std::less<>>;

    [[nodiscard]] std::string refuse(std::string_view why);
    Status keep(Torrent& torrent, const Question& question, const std::string& address, Moment now);
    void forget(Torrent& torrent, Peers::iterator peer);
    void expire(Torrent& torrent, Moment now);
    void expire_all(Moment now);
    [[nodiscard]] std::string list(const Torrent& torrent, const Question& question);

    const TrackerOptions options_;
    mutable std::mutex mutex_;
    Torrents torrents_;  ///< by the first 20 bytes of the info hash
    std::map<std::string, std::size_t> of_party_;
    std::size_t peers_ = 0;
    std::uint64_t rank_ = 0, answered_ = 0, refused_ = 0;
    std::minstd_rand draw_;
    mirror::PeerLimit limit_;
    mirror::TokenBucket all_;
};

}  // namespace gym::torrent
