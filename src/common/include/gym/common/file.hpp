#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym {

/// The whole file. @errors kNotFound, kIo, kOutOfRange above `size_bytes_max`.
[[nodiscard]] Result<Bytes> read_file(const std::filesystem::path& path,
                                      std::uint64_t size_bytes_max = std::uint64_t{1} << 34);

/// Writes through a temporary file, fsync and rename, so that a reader (or a crash) sees the old
/// content or the new, never a part. `mode` are the permission bits. @errors kIo, with the path and
/// the system's reason.
Status write_file_atomic(const std::filesystem::path& path, ByteView content, unsigned mode = 0644);
/// The same for content in parts, written one after the other.
Status write_file_atomic(const std::filesystem::path& path, std::span<const ByteView> parts,
                         unsigned mode);

}  // namespace gym
