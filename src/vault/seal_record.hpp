#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/vault/sealed_file.hpp"
#include "gym/vault/store_key.hpp"

/// The header and the records of a sealed file (sealed_file.hpp), for what reads and writes them.
namespace gym::vault {

inline constexpr std::uint64_t kSealRecordBytes = kPieceBytes + kSealRecordExtra;

struct SealHeader {
    std::array<std::uint8_t, 8> key_id{};
    std::uint64_t size_bytes = 0;
    std::array<std::uint8_t, 32> salt{};
};

[[nodiscard]] Bytes encode(const SealHeader& header);

/// AES-256-GCM of one file's pieces. Thread-safe.
class PieceCipher {
  public:
    PieceCipher(const StoreKey& key, const Digest& root, const SealHeader& header)
        : key_(key.file_key(header.salt, root)), header_(encode(header)) {}

    /// @return nonce | ciphertext | tag.
    [[nodiscard]] Bytes seal(std::uint64_t piece, ByteView plain) const;
    /// Fills `plain`. @return whether the record is authentic; nothing of `plain` counts if not.
    [[nodiscard]] bool open(std::uint64_t piece, ByteView record,
                            std::span<std::uint8_t> plain) const;

  private:
    crypto::SecretBytes key_;
    Bytes header_;
};

/// Of an empty blob one, so that its header is authenticated, too.
[[nodiscard]] std::uint64_t pieces_of(std::uint64_t size_bytes);
/// Where the record of a piece begins.
[[nodiscard]] constexpr std::uint64_t record_at(std::uint64_t piece) {
    return kSealHeaderBytes + piece * kSealRecordBytes;
}

/// By errno: kNotFound, kOutOfRange for a disk that is full, else kIo.
[[nodiscard]] Error seal_io_error(const std::filesystem::path& path);
[[nodiscard]] Error altered(const std::filesystem::path& path, const char* how);

Status read_at(int file, const std::filesystem::path& path, std::uint64_t offset,
               std::span<std::uint8_t> out);
Status write_at(int file, const std::filesystem::path& path, std::uint64_t offset, ByteView bytes);
[[nodiscard]] Result<std::uint64_t> size_of(int file, const std::filesystem::path& path);
/// The header of a file that is this key's.
[[nodiscard]] Result<SealHeader> read_header(int file, const std::filesystem::path& path,
                                             const StoreKey& key);

}  // namespace gym::vault
