#pragma once

#include <memory>

#include "gym/common/bytes.hpp"

namespace gym::commit {

/// Incremental SHA-256 (FIPS 180-4) over OpenSSL's context, which is allocated once and reused
/// after every finish(). Movable, not copyable, not thread-safe: one per thread.
class Hasher {
  public:
    Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    ~Hasher();

    Hasher& update(ByteView bytes);
    Hasher& update_u8(std::uint8_t value);
    /// Eight bytes, big-endian.
    Hasher& update_u64(std::uint64_t value);
    Hasher& update(const Digest& digest) { return update(digest.view()); }
    /// The digest of everything since the start or the last finish(); the hasher is empty
    /// afterwards.
    [[nodiscard]] Digest finish();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// SHA-256 of `bytes`. Thread-safe (one cached context per thread).
[[nodiscard]] Digest sha256(ByteView bytes);

}  // namespace gym::commit
