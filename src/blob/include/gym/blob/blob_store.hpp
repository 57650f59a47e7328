#pragma once

#include <map>
#include <mutex>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::blob {

/// The name of a blob: the tensor root of its bytes as u8 [size].
[[nodiscard]] Digest blob_root(ByteView content, unsigned threads = 1);
/// @errors kMismatch, with both roots, unless `content` hashes to `root`.
Status check_root(const Digest& root, ByteView content);

/// Content-addressed storage. Every byte is checked against its root on the way in and on the way
/// out: a store, disk or peer that lies is an error, never data. Implementations are thread-safe.
class BlobStore {
  public:
    virtual ~BlobStore() = default;
    /// Keeps `content`; storing what is there already succeeds. @errors kMismatch, kIo,
    /// kUnavailable.
    virtual Status put(const Digest& root, ByteView content) = 0;
    /// @errors kNotFound; kMismatch if what is stored was altered or cut; kIo, kUnavailable.
    virtual Result<Bytes> get(const Digest& root) const = 0;
    /// Whether something is stored under `root` (its bytes are checked by get()).
    [[nodiscard]] virtual Result<bool> has(const Digest& root) const = 0;
    /// Removes a blob; absent is success. @errors kIo, kUnavailable.
    virtual Status remove(const Digest& root) = 0;

    /// put() under its own root. @return the root.
    Result<Digest> put(ByteView content);
};

/// A store in memory, for tests and short-lived tools.
class MemoryStore final : public BlobStore {
  public:
    using BlobStore::put;
    Status put(const Digest& root, ByteView content) override;
    Result<Bytes> get(const Digest& root) const override;
    [[nodiscard]] Result<bool> has(const Digest& root) const override;
    Status remove(const Digest& root) override;

  private:
    mutable std::mutex mutex_;
    std::map<Digest, Bytes> blobs_;
};

}  // namespace gym::blob
