#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "gym/blob/verified_blob.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::blob {

/// A stored blob, read piece by piece: for blobs larger than what may be held in memory. The bytes
/// are as they are stored: the receiver checks them against the root. Thread-safe.
class BlobReader {
  public:
    virtual ~BlobReader() = default;
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    /// Fills `out` with the bytes from `offset` on; offset + out.size() is at most size().
    /// @errors kIo, also if the blob became shorter; kUnavailable.
    virtual Status read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;
};

/// Content-addressed storage. Every byte is checked against its root on the way in and on the way
/// out: a store, disk or peer that lies is an error, never data. Implementations are thread-safe.
class BlobStore {
  public:
    virtual ~BlobStore() = default;
    /// Keeps a blob; storing what is there already succeeds. @errors kIo, kUnavailable.
    Status put(const VerifiedBlob& blob) { return write(blob.root(), blob.bytes()); }
    /// Keeps `content` under its own root. @return the root. @errors as above.
    Result<Digest> put(ByteView content);
    /// Keeps the bytes of a reader that were found to hash to `root`. A store of files may take
    /// blobs that are larger than memory. @errors kMismatch, kIo, kUnavailable.
    virtual Status adopt(const Digest& root, const BlobReader& reader);
    /// @errors kNotFound; kMismatch if what is stored was altered or cut; kIo, kUnavailable.
    [[nodiscard]] Result<VerifiedBlob> load(const Digest& root) const;
    /// The bytes of load().
    [[nodiscard]] Result<Bytes> get(const Digest& root) const;
    /// The stored bytes, unchecked, for readers that pass them on. They stay readable when the blob
    /// is removed meanwhile. @errors kNotFound, kIo, kUnavailable.
    [[nodiscard]] virtual Result<std::unique_ptr<const BlobReader>> open_reader(
        const Digest& root) const = 0;
    /// Whether something is stored under `root` (its bytes are checked by load()).
    [[nodiscard]] virtual Result<bool> has(const Digest& root) const = 0;
    /// Removes a blob; absent is success. @errors kIo, kUnavailable.
    virtual Status remove(const Digest& root) = 0;

  protected:
    /// Keeps bytes that hash to `root`.
    virtual Status write(const Digest& root, ByteView content) = 0;
    /// The stored bytes, unchecked. @errors kNotFound, kIo, kUnavailable.
    [[nodiscard]] virtual Result<Bytes> read(const Digest& root) const = 0;
};

/// A store in memory, for tests and short-lived tools.
class MemoryStore final : public BlobStore {
  public:
    [[nodiscard]] Result<std::unique_ptr<const BlobReader>> open_reader(
        const Digest& root) const override;
    [[nodiscard]] Result<bool> has(const Digest& root) const override;
    Status remove(const Digest& root) override;

  protected:
    Status write(const Digest& root, ByteView content) override;
    [[nodiscard]] Result<Bytes> read(const Digest& root) const override;

  private:
    mutable std::mutex mutex_;
    std::map<Digest, Bytes> blobs_;
};

}  // namespace gym::blob
