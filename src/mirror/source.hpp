#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/blob/piece_list.hpp"
#include "gym/http/connection.hpp"
#include "gym/mirror/fetcher.hpp"
#include "preference.hpp"

namespace gym::mirror {

using Moment = std::chrono::steady_clock::time_point;

/// A server of blobs: what it answers, and what is known of it. Thread-safe.
class Source {
  public:
    Source(http::Url url, std::string text, const FetchOptions& options);

    /// The list of a blob's pieces, checked. @errors kNotFound: it has none; kOutOfRange; others as
    /// http::Connection; kMalformed for what is no list, kMismatch for another blob's.
    [[nodiscard]] Result<blob::PieceList> list(const Digest& root, const std::stop_token& stop);
    /// A piece, checked. @errors as list().
    [[nodiscard]] Result<Bytes> piece(const blob::PieceList& list, std::uint64_t index,
                                      const std::stop_token& stop);
    /// The file ROOT.torrent, unchecked. Says nothing about the source: it need have none. @errors
    /// kNotFound: it has none; kUnavailable: it is being made, or there is no answer; others as
    /// list().
    [[nodiscard]] Result<Bytes> torrent(const Digest& root, const std::stop_token& stop);
    /// Asks for no blob at all, three times: the least time to any answer is the latency. Without
    /// one until `stop`, the time until then is. Lists and pieces say nothing of it, because a
    /// mirror may fetch them first. @errors as http::Connection.
    Status measure_latency(const std::stop_token& stop);
    /// Another source was much faster with the same piece. One that sent right pieces before may
    /// fetch this one itself: it is left when it happens again.
    void note_stall(std::chrono::milliseconds took);

    [[nodiscard]] bool is_banned(Moment now) const;
    [[nodiscard]] Measured measured() const;
    /// Lists that it lacked since the last that it had: a source that is fast at having nothing is
    /// no good one.
    [[nodiscard]] std::uint32_t absences() const;
    /// Whether its last answer was a right piece.
    [[nodiscard]] bool is_proven() const;
    [[nodiscard]] const std::string& url() const { return text_; }
    [[nodiscard]] SourceReport report() const;
    /// Of the last failure; empty without one.
    [[nodiscard]] std::string last_failure() const;

  private:
    using Connection = std::unique_ptr<http::Connection>;
    [[nodiscard]] Connection take();
    void put_back(Connection connection);
    [[nodiscard]] Result<http::Reply> get(const http::Request& request);
    [[nodiscard]] Result<blob::PieceList> ask_list(const Digest& root, const std::stop_token& stop);
    [[nodiscard]] Result<Bytes> ask_piece(const blob::PieceList& list, std::uint64_t index,
                                          const std::stop_token& stop);
    /// The answer to GET of a small file. @errors those of its status; of the connection.
    [[nodiscard]] Result<http::Reply> get_file(const Digest& root, const char* suffix,
                                               const std::stop_token& stop);
    [[nodiscard]] std::string target_of(const std::string& path) const;
    void note_failure(const Error& error);
    void ban(std::uint64_t ms, const std::string& why);

    const http::Url url_;
    const std::string text_;
    const FetchOptions options_;

    mutable std::mutex mutex_;
    std::vector<Connection> idle_;
    SourceReport report_;
    Moment banned_until_{};
    std::uint32_t failures_in_a_row_ = 0;
    std::uint32_t absences_ = 0;
    bool is_proven_ = false;
    std::string last_failure_;
};

}  // namespace gym::mirror
