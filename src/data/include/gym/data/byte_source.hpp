#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "gym/common/result.hpp"

namespace gym::data {

/// Bytes in order, a part at a time. Not thread-safe.
class ByteSource {
  public:
    virtual ~ByteSource() = default;
    /// Fills the beginning of `out`. @return how much; 0 at the end.
    /// @errors kIo; kMalformed for a compressed stream that is damaged or cut off.
    [[nodiscard]] virtual Result<std::size_t> read(std::span<std::uint8_t> out) = 0;
};

/// A file, decompressed if its first bytes are those of gzip (RFC 1952; several members may follow
/// each other) or zstd (RFC 8878). Memory: at most 128 MiB, a zstd frame's window.
/// @errors kNotFound, kIo; kMalformed for a name that ends in .gz or .zst and another content.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);

/// Lines of any source. Not thread-safe.
class LineReader {
  public:
    explicit LineReader(ByteSource& source);
    /// The next line without its line feed. @return false at the end.
    /// @errors those of the source; kOutOfRange for a line of more than `bytes_max`.
    [[nodiscard]] Result<bool> next(std::string& line, std::size_t bytes_max);
    /// Number of the line that next() returned last, from 1.
    [[nodiscard]] std::uint64_t number() const { return number_; }

  private:
    ByteSource& source_;
    std::string buffer_;
    std::size_t begin_ = 0;
    bool at_end_ = false;
    std::uint64_t number_ = 0;
};

}  // namespace gym::data
