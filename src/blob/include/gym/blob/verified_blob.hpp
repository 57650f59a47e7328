#pragma once

#include <memory>

#include "gym/commit/tensor_root.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::blob {

/// The name of a blob: the tensor root of its bytes as u8 [size].
[[nodiscard]] Digest blob_root(ByteView content, unsigned threads = 1);

/// Bytes together with the root that they hash to. Every way to make one hashes the bytes, so no
/// holder needs to hash them again. Immutable; copies share the bytes. Thread-safe as a shared_ptr.
class VerifiedBlob {
  public:
    /// The blob of no bytes.
    VerifiedBlob();
    // No moves: a moved-from blob would have lost its bytes and kept its root.
    VerifiedBlob(const VerifiedBlob&) = default;
    VerifiedBlob& operator=(const VerifiedBlob&) = default;

    [[nodiscard]] static VerifiedBlob hash(Bytes content, unsigned threads = 1);
    /// @errors kMismatch, with both roots, unless `content` hashes to `root`.
    [[nodiscard]] static Result<VerifiedBlob> check(const Digest& root, Bytes content);

    [[nodiscard]] const Digest& root() const { return content_->root; }
    [[nodiscard]] ByteView bytes() const { return content_->bytes; }
    /// The bytes, without a copy if no other blob shares them; leaves the blob of no bytes.
    [[nodiscard]] Bytes take() &&;

    friend bool operator==(const VerifiedBlob& a, const VerifiedBlob& b) {
        return a.root() == b.root();
    }

  private:
    friend class BlobReceiver;
    struct Content {
        Digest root;
        Bytes bytes;
    };
    explicit VerifiedBlob(std::shared_ptr<Content> content) : content_(std::move(content)) {}
    std::shared_ptr<Content> content_;  ///< never null
};

/// Collects a blob's bytes as they arrive, and hashes them on the way. Not thread-safe.
class BlobReceiver {
  public:
    void append(ByteView part);
    [[nodiscard]] std::uint64_t size() const { return content_.size(); }
    /// @errors kMismatch, with both roots, unless all parts together hash to `root`.
    [[nodiscard]] Result<VerifiedBlob> finish(const Digest& root) &&;

  private:
    Bytes content_;
    commit::ChunkTreeHasher hasher_;
};

}  // namespace gym::blob
