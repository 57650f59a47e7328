#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "gym/blob/stored_blob.hpp"
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

    /// Keeps what is stored under `root` from being idle, as putting it again would: to be asked
    /// before a row names a blob that was stored before. @return whether something is stored.
    /// @errors kIo, kUnavailable.
    virtual Result<bool> hold(const Digest& root) = 0;
    /// Blobs whose root begins with the byte `first` and that nobody put or held for `idle`, by
    /// root. Also removes what a crash left of blobs that were being stored then.
    /// @errors kIo, kUnavailable.
    [[nodiscard]] virtual Result<std::vector<StoredBlob>> list_idle(
        std::uint8_t first, std::chrono::milliseconds idle) = 0;
    /// Removes a listed blob unless it was put or held since. Readers that are open go on reading.
    /// @return whether it was removed. @errors kIo, kUnavailable.
    virtual Result<bool> erase(const StoredBlob& blob) = 0;

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
    Result<bool> hold(const Digest& root) override;
    [[nodiscard]] Result<std::vector<StoredBlob>> list_idle(
        std::uint8_t first, std::chrono::milliseconds idle) override;
    Result<bool> erase(const StoredBlob& blob) override;

  protected:
    Status write(const Digest& root, ByteView content) override;
    [[nodiscard]] Result<Bytes> read(const Digest& root) const override;

  private:
    struct Held {
        Bytes bytes;
        std::int64_t written_ns = 0;
    };
    /// Of the store's clock, never the same twice.
    std::int64_t tick_ns();

    mutable std::mutex mutex_;
    std::map<Digest, Held> blobs_;
    std::int64_t last_ns_ = 0;
};

}  // namespace gym::blob
