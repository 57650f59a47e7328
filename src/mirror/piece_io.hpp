#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::mirror {

/// What the file system counts. 0 without a file.
[[nodiscard]] std::uint64_t bytes_on_disk(const std::filesystem::path& path);

/// @param path names the file in messages. @errors kOutOfRange for a disk that is full; kIo.
Status write_at(int file, const std::filesystem::path& path, std::uint64_t offset, ByteView bytes);
/// @return false where the file ends before. @errors kIo.
[[nodiscard]] Result<bool> read_at(int file, const std::filesystem::path& path,
                                   std::uint64_t offset, std::span<std::uint8_t> out);

}  // namespace gym::mirror
