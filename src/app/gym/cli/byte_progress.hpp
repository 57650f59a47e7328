#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace gym::app {

/// One line on standard error while bytes travel: redrawn in a terminal, repeated now and then
/// elsewhere.
class ByteProgress {
  public:
    /// @param verb "downloading", "uploading".
    explicit ByteProgress(std::string verb) : verb_(std::move(verb)) {}
    void show(std::uint64_t done, std::uint64_t total);
    /// Ends the line; the destructor does so too.
    void finish();
    ~ByteProgress() { finish(); }
    ByteProgress(const ByteProgress&) = delete;
    ByteProgress& operator=(const ByteProgress&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    const std::string verb_;
    const Clock::time_point start_ = Clock::now();
    Clock::time_point last_ = start_;
    std::uint64_t first_ = 0;  // bytes that were there, or came with the first piece
    bool open_line_ = false;
};

}  // namespace gym::app
