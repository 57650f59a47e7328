#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/crypto/secret.hpp"

namespace gym::crypto {

/// Cost of deriving a key from a passphrase: about 128 * n * r bytes of memory, time as n * r * p.
struct ScryptCost {
    std::uint32_t n = 1U << 17;  ///< a power of two
    std::uint32_t r = 8;
    std::uint32_t p = 1;

    /// 4 MiB and some milliseconds: for tests and throw-away networks only.
    static constexpr ScryptCost light() { return {1U << 12, 8, 1}; }
};

/// Largest cost that a keystore file may demand; a more expensive file is refused before any work
/// is done.
inline constexpr std::uint64_t kScryptMemoryBytesMax = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kScryptWorkMax = std::uint64_t{1} << 23;  ///< n * r * p
inline constexpr std::uint64_t kKeystoreBytesMax = 16 << 10;

/// Web3 Secret Storage version 3 (scrypt, AES-128-CTR, Keccak-256 MAC), readable by other Ethereum
/// tools.
/// @errors kInvalidArgument for a cost out of bounds or an empty passphrase.
[[nodiscard]] Result<std::string> encrypt_keystore(const PrivateKey& key,
                                                   const SecretBytes& passphrase,
                                                   const ScryptCost& cost = {});

/// @errors kMalformed for text that is not such a keystore; kOutOfRange for a cost beyond the
/// bounds; kPermissionDenied "wrong passphrase" when the MAC differs; kMismatch when the file names
/// another address.
[[nodiscard]] Result<PrivateKey> decrypt_keystore(std::string_view json,
                                                  const SecretBytes& passphrase);

/// Writes a new file, mode 0600, atomically. @errors kAlreadyExists (a key is never overwritten),
/// kIo, and as encrypt_keystore.
Status save_keystore(const std::filesystem::path& path, const PrivateKey& key,
                     const SecretBytes& passphrase, const ScryptCost& cost = {});

/// @errors kNotFound, kIo, and as decrypt_keystore; messages name the file.
[[nodiscard]] Result<PrivateKey> load_keystore(const std::filesystem::path& path,
                                               const SecretBytes& passphrase);

/// The address a keystore file names, without its passphrase (informative: nothing proves it).
/// @errors kNotFound, kIo, kMalformed.
[[nodiscard]] Result<Address> keystore_address(const std::filesystem::path& path);

}  // namespace gym::crypto
