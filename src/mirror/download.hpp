#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/blob/piece_list.hpp"
#include "gym/mirror/fetcher.hpp"
#include "source.hpp"

namespace gym::mirror {

/// One download: hands pieces to connections, each in a thread of its own, until all are there.
/// A piece that is late is asked of a second source as well.
class Download {
  public:
    /// @param pieces the ones to fetch. References must outlive the download.
    Download(const std::vector<std::unique_ptr<Source>>& sources, const FetchOptions& options,
             const blob::PieceList& list, std::vector<std::uint64_t> pieces);

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
    /// The next request, once there is one. Absent: the download is over.
    std::optional<FlightAt> next();
    std::optional<FlightAt> begin_missing(Moment now);
    std::optional<FlightAt> begin_second(Moment now);
    FlightAt begin(std::uint64_t piece, Source& source, Moment now);
    void end(FlightAt flight, Result<Bytes> answer, const Keep& keep);
    void end_others(std::uint64_t piece, Moment begun);
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

    std::mutex mutex_;
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
