#include "gym/blob/blob_store.hpp"

#include "gym/commit/tensor_root.hpp"

namespace gym::blob {

Digest blob_root(ByteView content, unsigned threads) {
    const std::uint64_t size = content.size();
    return commit::tensor_root(commit::DType::u8, {&size, 1}, content, threads);
}

Status check_root(const Digest& root, ByteView content) {
    const Digest actual = blob_root(content);
    if (actual == root) return {};
    return fail(ErrorCode::kMismatch, "blob " + root.hex() + " is altered or cut: its " +
                                          std::to_string(content.size()) + " bytes hash to " +
                                          actual.hex());
}

Result<Digest> BlobStore::put(ByteView content) {
    const Digest root = blob_root(content);
    GYM_CHECK(put(root, content));
    return root;
}

Status MemoryStore::put(const Digest& root, ByteView content) {
    GYM_CHECK(check_root(root, content));
    const std::scoped_lock lock(mutex_);
    blobs_.try_emplace(root, content.begin(), content.end());
    return {};
}

Result<Bytes> MemoryStore::get(const Digest& root) const {
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
