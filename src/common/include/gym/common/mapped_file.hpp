#pragma once

#include <cstddef>
#include <filesystem>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym {

/// A regular file's bytes in the address space, read from the disk as they are used: a file may be
/// larger than the memory that is free. The file must not become shorter meanwhile. Immutable.
class MappedFile {
  public:
    /// @errors kNotFound, kIo (also for what is no regular file).
    [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
    MappedFile(MappedFile&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile();

    [[nodiscard]] ByteView bytes() const {
        return {static_cast<const std::uint8_t*>(data_), size_};
    }

  private:
    MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}
    void* data_;  // null: an empty file, or moved from
    std::size_t size_;
};

}  // namespace gym
