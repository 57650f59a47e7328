#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/vault/sealed_file.hpp"

namespace gym::vault {

/// A sealed file (sealed_file.hpp) whose parts arrive in any order. From the start it has the size
/// of the whole; what was not written reads as absent, as does what a crash tore, so nothing else
/// needs to be remembered to continue it. Thread-safe for different parts.
class SealedParts {
  public:
    /// Continues `path` if it is a file of this blob, size and key, and else begins it anew.
    /// @errors kIo; kOutOfRange for a size above kSealedBytesMax.
    [[nodiscard]] static Result<SealedParts> open(const std::filesystem::path& path,
                                                  const StoreKey& key, const Digest& root,
                                                  std::uint64_t size_bytes);
    SealedParts(SealedParts&&) noexcept;
    ~SealedParts();

    /// Writes whole records: `offset` is a multiple of kPieceBytes, and `bytes` are a multiple of
    /// it or reach to the end. @errors kOutOfRange for a disk that is full; kIo.
    Status write(std::uint64_t offset, ByteView bytes);
    /// Fills `out` with a part as above. @return whether all of it was written. @errors kIo.
    [[nodiscard]] Result<bool> read(std::uint64_t offset, std::span<std::uint8_t> out) const;
    /// Has the file on the disk; open_sealed() reads it if every part was written. @errors as
    /// write().
    Status finish();

  private:
    struct Impl;
    explicit SealedParts(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::vault
