#pragma once

#include <array>
#include <filesystem>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/crypto/secret.hpp"

namespace gym::vault {

inline constexpr std::size_t kStoreKeyBytes = 32;

/// The secret under which a store keeps its blobs. Whoever has only the disk has nothing to read.
/// Every file has an AES-256 key of its own, derived from this one by HKDF with SHA-256 (RFC 5869).
/// Immutable; safe to use from many threads.
class StoreKey {
  public:
    [[nodiscard]] static StoreKey random();
    /// Of a node: derived from its signing key, which the keystore holds encrypted.
    [[nodiscard]] static StoreKey of(const crypto::PrivateKey& key);
    /// From a file of 64 hexadecimal digits, mode 0600.
    /// @errors as crypto::read_secret_file(); kMalformed.
    [[nodiscard]] static Result<StoreKey> load(const std::filesystem::path& file);
    /// The same; makes the file with a random key if there is none. Of several processes that make
    /// it at once, one does. @errors also kIo.
    [[nodiscard]] static Result<StoreKey> load_or_create(const std::filesystem::path& file);

    [[nodiscard]] StoreKey clone() const;
    /// Tells keys apart, and nothing of the key: in the header of every file.
    [[nodiscard]] std::array<std::uint8_t, 8> id() const;
    /// Of one file. @param salt new for each file.
    [[nodiscard]] crypto::SecretBytes file_key(ByteView salt, const Digest& root) const;

  private:
    explicit StoreKey(crypto::SecretBytes secret) : secret_(std::move(secret)) {}
    crypto::SecretBytes secret_;
};

}  // namespace gym::vault
