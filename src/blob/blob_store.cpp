#include "gym/blob/blob_store.hpp"

#include <utility>

namespace gym::blob {

Result<Digest> BlobStore::put(ByteView content) {
    const Digest root = blob_root(content);
    GYM_CHECK(write(root, content));
    return root;
}

Result<VerifiedBlob> BlobStore::load(const Digest& root) const {
    GYM_TRY(Bytes content, read(root));
    return VerifiedBlob::check(root, std::move(content));
}

Result<Bytes> BlobStore::get(const Digest& root) const {
    GYM_TRY(VerifiedBlob blob, load(root));
    return std::move(blob).take();
}

Status MemoryStore::write(const Digest& root, ByteView content) {
    const std::scoped_lock lock(mutex_);
    blobs_.try_emplace(root, content.begin(), content.end());
    return {};
}

Result<Bytes> MemoryStore::read(const Digest& root) const {
    const std::scoped_lock lock(mutex_);
    const auto found = blobs_.find(root);
    if (found == blobs_.end()) return fail(ErrorCode::kNotFound, "no blob " + root.hex());
    return found->second;
}

Result<bool> MemoryStore::has(const Digest& root) const {
    const std::scoped_lock lock(mutex_);
    return blobs_.contains(root);
}

Status MemoryStore::remove(const Digest& root) {
    const std::scoped_lock lock(mutex_);
    blobs_.erase(root);
    return {};
}

}  // namespace gym::blob
