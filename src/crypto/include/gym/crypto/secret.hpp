#pragma once

#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::crypto {

/// Bytes that are cleared when their owner goes: a passphrase, a derived key. Not copyable and
/// without a stream operator, so that they do not spread into copies or logs.
class SecretBytes {
  public:
    SecretBytes() = default;
    explicit SecretBytes(Bytes bytes) : bytes_(std::move(bytes)) {}
    explicit SecretBytes(std::size_t size_bytes) : bytes_(size_bytes) {}
    explicit SecretBytes(std::string_view text) : bytes_(text.begin(), text.end()) {}
    SecretBytes(SecretBytes&& other) noexcept : bytes_(std::move(other.bytes_)) {}
    SecretBytes& operator=(SecretBytes&& other) noexcept;
    SecretBytes(const SecretBytes&) = delete;
    SecretBytes& operator=(const SecretBytes&) = delete;
    ~SecretBytes();

    [[nodiscard]] ByteView view() const noexcept { return bytes_; }
    [[nodiscard]] std::span<std::uint8_t> writable() noexcept { return bytes_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

  private:
    Bytes bytes_;
};

/// Fills `out` from the operating system's generator (through OpenSSL). Aborts if there is no
/// entropy: no caller can continue safely without it. Thread-safe.
void secure_random(std::span<std::uint8_t> out);
/// 32 random bytes, for salts and nonces.
[[nodiscard]] Digest random_digest();

/// Clears memory in a way that the compiler keeps.
void secure_clear(std::span<std::uint8_t> bytes) noexcept;

/// Compares without an early exit; sizes may differ (false) and are not secret. Thread-safe.
[[nodiscard]] bool equal_constant_time(ByteView a, ByteView b) noexcept;

/// The first line of a file that holds a secret (passphrase, hexadecimal key), without its line
/// end.
/// @errors kNotFound, kIo; kPermissionDenied if group or others may read it (the group may read a
/// file right in $CREDENTIALS_DIRECTORY); kMalformed when it is empty or longer than 4 KiB.
[[nodiscard]] Result<SecretBytes> read_secret_file(const std::string& path);

}  // namespace gym::crypto
