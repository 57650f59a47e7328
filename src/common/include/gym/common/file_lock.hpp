#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "gym/common/result.hpp"

namespace gym {

/// An exclusive lock on a file (flock(2)) against every other that asks for it, in this process
/// too. The kernel drops it with the process, however it ends; programs that it starts do not have
/// it. Not thread-safe.
class FileLock {
  public:
    /// Makes `path` unless it is there, locks it without waiting and writes `holder` into it, for
    /// those who are refused. The file stays when the lock ends.
    /// @errors kConflict with the holder's words, kIo.
    static Result<FileLock> acquire(const std::filesystem::path& path, const std::string& holder);
    /// Locks a file that is there, and leaves it as it is. @errors kConflict, kIo.
    static Result<FileLock> acquire_existing(const std::filesystem::path& path);
    /// Text that the current or last holder of `path` wrote into it; empty if there is none.
    [[nodiscard]] static std::string holder_of(const std::filesystem::path& path);

    FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    FileLock& operator=(FileLock&&) = delete;
    ~FileLock();

  private:
    explicit FileLock(int file) : file_(file) {}
    int file_;
};

}  // namespace gym
