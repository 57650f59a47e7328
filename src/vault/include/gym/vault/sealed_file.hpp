#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/vault/store_key.hpp"

/// A blob in a file, encrypted and authenticated piece by piece, so that no more than a piece of it
/// is in memory.
///
/// Header, 64 bytes: "GYMSEAL1" | id of the store key, 8 | size of the blob u64 | salt, 32 |
/// size of a piece u32 | zero u32 (numbers big-endian). Then a record for each piece of 65,536
/// bytes, of which the last is shorter: nonce, 12 | AES-256-GCM ciphertext | tag, 16. The key is
/// HKDF(store key, salt, "gym.blob.v1" | root): one for each file. What is authenticated with a
/// piece is the header and the piece's number, so no piece can be moved, left out or put into
/// another file.
///
/// Nonces are random, 96 bits for every record that is written, under a key that writes at most
/// 2^36 / 2^16 pieces and a rewritten end now and then: a repeated nonce is less likely than 2^-50.
namespace gym::vault {

inline constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
inline constexpr std::size_t kSealHeaderBytes = 64;
inline constexpr std::size_t kSealRecordExtra = 12 + 16;
inline constexpr std::uint64_t kSealedBytesMax = std::uint64_t{1} << 44;

/// The file's size for a blob of `size_bytes`.
[[nodiscard]] std::uint64_t sealed_size(std::uint64_t size_bytes);

/// Writes a sealed file, or continues one that was not completed. Not thread-safe.
class SealWriter {
  public:
    /// Begins `path` anew. @errors kIo; kOutOfRange for a size above kSealedBytesMax.
    [[nodiscard]] static Result<SealWriter> create(const std::filesystem::path& path,
                                                   const StoreKey& key, const Digest& root,
                                                   std::uint64_t size_bytes);
    /// Continues behind what a writer left. A last piece that a crash has torn counts as not
    /// received. @errors kNotFound; kMismatch for a file that is none of this blob or of this key;
    /// kIo.
    [[nodiscard]] static Result<SealWriter> resume(const std::filesystem::path& path,
                                                   const StoreKey& key, const Digest& root);
    SealWriter(SealWriter&&) noexcept;
    SealWriter& operator=(SealWriter&&) noexcept;
    ~SealWriter();

    [[nodiscard]] std::uint64_t size_bytes() const;      ///< of the whole blob
    [[nodiscard]] std::uint64_t received_bytes() const;  ///< appended so far
    /// @errors kOutOfRange for more than the blob has, nothing is written then, and for a disk that
    /// is full: a writer that continues the file has what fitted; kIo.
    Status append(ByteView bytes);
    /// Everything so far is in the file: a writer that continues it has lost nothing.
    /// @errors kOutOfRange for a disk that is full; kIo.
    Status flush();
    /// The same, and the disk has it.
    Status sync();
    /// Completes the file and has it on the disk. @errors kMismatch if bytes are missing; kIo.
    Status finish();

  private:
    struct Impl;
    explicit SealWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Bytes that a writer would continue behind. The file may be written meanwhile.
/// @errors as SealWriter::resume().
[[nodiscard]] Result<std::uint64_t> received_bytes(const std::filesystem::path& path,
                                                   const StoreKey& key, const Digest& root);

/// A reader of a complete sealed file. Each read decrypts and authenticates the pieces that it
/// touches. Thread-safe.
/// @errors kNotFound; kMismatch: altered, cut, of another blob, or sealed with another key; kIo.
[[nodiscard]] Result<std::unique_ptr<const blob::BlobReader>> open_sealed(
    const std::filesystem::path& path, const StoreKey& key, const Digest& root);

/// Gives the file behind `reader` a second name, without copying it.
/// @return whether `reader` is one of open_sealed() with this key and root, whose file has the name
/// now; not on another file system.
[[nodiscard]] bool link_sealed(const blob::BlobReader& reader, const StoreKey& key,
                               const Digest& root, const std::filesystem::path& name);

}  // namespace gym::vault
