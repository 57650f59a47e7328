#pragma once

#include <array>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/secret.hpp"

namespace gym::crypto {

/// r (32 bytes) | s (32 bytes, low half only) | v (1 byte, 27 or 28): what Solidity's ECDSA.recover
/// takes.
using Signature = FixedBytes<65, struct SignatureTag>;

/// A secp256k1 private key. Cleared on destruction, movable, copied only by clone(), never
/// printable. Signing is deterministic (RFC 6979) and constant-time (libsecp256k1). Thread-safe for
/// const use.
class PrivateKey {
  public:
    /// @errors kInvalidArgument unless `bytes` are 32 bytes that encode a number in [1, group
    /// order).
    static Result<PrivateKey> from_bytes(ByteView bytes);
    /// `text` is 64 hexadecimal digits, "0x" optional. The error never repeats the text.
    /// @errors kMalformed, kInvalidArgument.
    static Result<PrivateKey> parse(std::string_view text);
    /// A fresh key from the operating system's generator.
    static PrivateKey generate();

    PrivateKey(PrivateKey&& other) noexcept;
    PrivateKey& operator=(PrivateKey&& other) noexcept;
    PrivateKey(const PrivateKey&) = delete;
    PrivateKey& operator=(const PrivateKey&) = delete;
    ~PrivateKey();

    /// An explicit second owner of the same secret.
    [[nodiscard]] PrivateKey clone() const;
    /// The key's Ethereum address.
    [[nodiscard]] const Address& address() const noexcept { return address_; }
    /// x (32 bytes) | y (32 bytes).
    [[nodiscard]] std::array<std::uint8_t, 64> public_key() const;
    /// Signs a 32-byte hash; the same digest gives the same signature. Callers hash with EIP-712 or
    /// as a transaction: never sign a digest that a peer chose.
    [[nodiscard]] Signature sign_digest(const Digest& digest) const;
    /// The 32 secret bytes, for the keystore.
    [[nodiscard]] SecretBytes reveal() const;

  private:
    PrivateKey() = default;
    std::array<std::uint8_t, 32> secret_{};
    Address address_{};
};

/// The address whose key made `signature` over `digest`. High-s values and other v than 27/28 are
/// refused, so a signature has exactly one accepted encoding.
/// @errors kUnauthenticated for anything that is not such a signature. Thread-safe.
[[nodiscard]] Result<Address> recover_address(const Digest& digest, const Signature& signature);

/// kOk only if `signature` over `digest` was made by `signer`. @errors kUnauthenticated naming both
/// addresses.
Status verify_signature(const Digest& digest, const Signature& signature, const Address& signer);

/// The address of an uncompressed public key (x | y).
[[nodiscard]] Address address_of_public_key(const std::array<std::uint8_t, 64>& public_key);

/// The address with the mixed-case checksum of EIP-55, for people.
[[nodiscard]] std::string to_checksum(const Address& address);
/// Parses 40 hexadecimal digits; text of mixed case must carry a right EIP-55 checksum.
/// @errors kMalformed.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

}  // namespace gym::crypto
