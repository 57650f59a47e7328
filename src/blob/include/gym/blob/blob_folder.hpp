#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "gym/blob/stored_blob.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::blob {

/// The folder of a store of files: DIR/ab/cd/NAME, where NAME is the root in hexadecimal, perhaps
/// with a suffix. The date of a file says when its blob was last put or held. The lock
/// DIR/.lock (flock(2)) is shared by all that date files and exclusive for one that erases them, so
/// that a file whose date is being renewed is never erased. Several processes may share a
/// folder. Thread-safe.
class BlobFolder {
  public:
    explicit BlobFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}

    /// Where a blob lives or would live, without a suffix.
    [[nodiscard]] std::filesystem::path path_of(const Digest& root) const;
    /// Moves `file` to `path`, which is in this folder, and dates it now. @errors kIo.
    Status place(const std::filesystem::path& file, const std::filesystem::path& path) const;
    /// Dates the files now that are there. @return whether any is. @errors kIo.
    Result<bool> touch(std::span<const std::filesystem::path> paths) const;
    /// Blobs whose root begins with the byte `first` and whose files are older than `idle`, by
    /// root. Removes what is as old and was never finished. @errors kIo.
    [[nodiscard]] Result<std::vector<StoredBlob>> list_idle(std::uint8_t first,
                                                            std::chrono::milliseconds idle) const;
    /// Removes the files of a listed blob, unless one was dated since. @return whether.
    /// @errors kIo.
    Result<bool> erase(const StoredBlob& blob, std::span<const std::filesystem::path> paths) const;

  private:
    std::filesystem::path directory_;
};

}  // namespace gym::blob
