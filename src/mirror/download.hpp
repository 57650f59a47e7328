#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/blob/piece_list.hpp"
#include "gym/mirror/fetcher.hpp"
#include "pace.hpp"
#include "source.hpp"

namespace gym::mirror {

/// One download: hands pieces to connections, each in a thread of its own, until all are there.
/// A piece that is late is asked of a second source as well. With peers, one more thread takes
/// their pieces, and the sources are asked first for the ones that no peer has, in drawn order, so
/// that nodes that begin together fetch different pieces.
class Download {
  public:
    /// @param pieces the ones to fetch. @param peers null: none. References must outlive the
    /// download.
    Download(const std::vector<std::unique_ptr<Source>>& sources, const FetchOptions& options,
             const blob::PieceList& list, std::vector<std::uint64_t> pieces,
             Peers* peers = nullptr);

    /// Called with each piece, by one thread at a time for each piece. An error ends the download.
    using Keep = std::function<Status(std::uint64_t index, Bytes bytes)>;
    Status run(const Keep& keep, const std::stop_token& stop);

  private:
    /// A request under way.
    struct Flight {
        std::uint64_t piece = 0;
        Source* source = nullptr;
        Moment begun;
        std::stop_source stop;
    };
    using FlightAt = std::list<Flight>::iterator;

    void work(const Keep& keep);
    void take_from_peers(const Keep& keep);
    void accept(Peers::Piece piece, const Keep& keep);
    void keep_piece(std::uint64_t piece, Bytes bytes, const Keep& keep,
                    std::unique_lock<std::mutex>& lock);
    /// The piece that a source is asked for next.
    [[nodiscard]] std::optional<std::uint64_t> next_missing(Moment now);
    [[nodiscard]] bool peers_can_go_on(Moment now) const;
    /// The next request, once there is one. Absent: the download is over.
    std::optional<FlightAt> next();
    std::optional<FlightAt> begin_missing(Moment now);
    std::optional<FlightAt> begin_second(Moment now);
    FlightAt begin(std::uint64_t piece, Source& source, Moment now);
    void end(FlightAt flight, Result<Bytes> answer, const Keep& keep);
    /// @param begun of the request that brought the piece; absent: a peer did.
    void end_others(std::uint64_t piece, std::optional<Moment> begun);
    [[nodiscard]] Source* best(Moment now, const Source* except, std::uint64_t bytes) const;
    [[nodiscard]] std::size_t flights_of(const Source& source) const;
    [[nodiscard]] bool is_late(const Flight& flight, const Source& other, Moment now) const;
    /// The sources that can be used now.
    [[nodiscard]] Preference compare(Moment now) const;
    [[nodiscard]] Error nobody_left() const;
    void finish(std::optional<Error> error);

    const std::vector<std::unique_ptr<Source>>& sources_;
    const FetchOptions& options_;
    const blob::PieceList& list_;
    Peers* const peers_;
    std::mt19937 draw_;  ///< of where each search for a missing piece begins

    std::mutex mutex_;
    Pace pace_{std::chrono::steady_clock::now()};
    std::condition_variable changed_;
    std::set<std::uint64_t> missing_;  ///< nobody is asked for it
    std::set<std::uint64_t> open_;     ///< not there yet
    std::list<Flight> flights_;
    std::size_t kept_now_ = 0;         ///< pieces that are being kept
    std::set<const Source*> lacking_;  ///< that answered that they have no such blob
    bool over_ = false;
    std::optional<Error> error_;
};

}  // namespace gym::mirror
