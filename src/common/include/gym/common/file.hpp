#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym {

/// The whole of a regular file, or of a pipe if the limit is at most 1 MiB. Its size is judged
/// before anything is allocated.
/// @errors kNotFound, kIo (also for devices, folders and sockets), kOutOfRange above
/// `size_bytes_max` or what memory the machine has left.
[[nodiscard]] Result<Bytes> read_file(const std::filesystem::path& path,
                                      std::uint64_t size_bytes_max = std::uint64_t{1} << 40);

/// The `size_bytes` bytes of a regular file from `offset`; fewer where the file ends.
/// @errors kNotFound, kIo (also for devices, pipes, folders and sockets).
[[nodiscard]] Result<Bytes> read_range(const std::filesystem::path& path, std::uint64_t offset,
                                       std::size_t size_bytes);

/// Writes through a temporary file, fsync and rename, so that a reader (or a crash) sees the old
/// content or the new, never a part. A symbolic link stays, and the file it names is replaced;
/// devices, pipes, sockets and folders are refused. `mode` are the permission bits.
/// @errors kIo, with the path and the reason.
Status write_file_atomic(const std::filesystem::path& path, ByteView content, unsigned mode = 0644);
/// The same for content in parts, written one after the other.
Status write_file_atomic(const std::filesystem::path& path, std::span<const ByteView> parts,
                         unsigned mode);

/// A file that is written piece by piece and appears at once: through a temporary file beside it,
/// fsync and rename. Without commit() nothing is left of it. Not thread-safe.
class AtomicFile {
  public:
    /// Replaces what write_file_atomic() would replace, and refuses what it refuses. @errors kIo.
    static Result<AtomicFile> create(const std::filesystem::path& path, unsigned mode = 0644);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    /// Appends. @errors kIo, with the path and the reason.
    Status write(ByteView content);
    /// Gives the file its name. Nothing may be written afterwards. @errors kIo.
    Status commit();

  private:
    AtomicFile(std::filesystem::path path, std::filesystem::path target, std::string temporary,
               int descriptor);
    std::filesystem::path path_;    // as the caller names it, for errors
    std::filesystem::path target_;  // behind symbolic links
    std::string temporary_;         // empty: committed, or moved from
    int descriptor_;
};

/// A file that grows at its end. Not thread-safe.
class FileAppender {
  public:
    /// Makes the file unless it is there. @errors kIo.
    static Result<FileAppender> open(const std::filesystem::path& path, unsigned mode = 0644);
    FileAppender(FileAppender&& other) noexcept
        : path_(std::move(other.path_)),
          descriptor_(std::exchange(other.descriptor_, -1)),
          size_bytes_(other.size_bytes_) {}
    FileAppender& operator=(FileAppender&&) = delete;
    ~FileAppender();

    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    /// @errors kIo; kOutOfRange for a disk that is full. What fitted is there.
    Status append(ByteView content);
    /// Returns when the disk has it. @errors kIo.
    Status sync();

  private:
    FileAppender(std::filesystem::path path, int descriptor, std::uint64_t size_bytes)
        : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}
    std::filesystem::path path_;
    int descriptor_;
    std::uint64_t size_bytes_;
};

/// Whether write_file_atomic could write there: to be asked before hours of work, not after.
/// @errors kIo, as write_file_atomic's.
[[nodiscard]] Status check_writable(const std::filesystem::path& path);

/// Whether the file system of `path`, which need not exist yet, has `bytes` free: to be asked
/// before hours of work. @errors kIo, with what is needed and what there is.
[[nodiscard]] Status check_free_space(const std::filesystem::path& path, std::uint64_t bytes);

}  // namespace gym
