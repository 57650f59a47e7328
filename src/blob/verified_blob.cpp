#include "gym/blob/verified_blob.hpp"

#include <utility>

namespace gym::blob {
namespace {

Error mismatch(const Digest& root, std::uint64_t size_bytes, const Digest& actual) {
    return fail(ErrorCode::kMismatch, "blob " + root.hex() + " is altered or cut: its " +
                                          std::to_string(size_bytes) + " bytes hash to " +
                                          actual.hex());
}

}  // namespace

Digest blob_root(ByteView content, unsigned threads) {
    const std::uint64_t size = content.size();
    return commit::tensor_root(commit::DType::kU8, {&size, 1}, content, threads);
}

VerifiedBlob::VerifiedBlob() {
    static const VerifiedBlob empty = hash({});
    content_ = empty.content_;
}

VerifiedBlob VerifiedBlob::hash(Bytes content, unsigned threads) {
    const Digest root = blob_root(content, threads);
    return VerifiedBlob(std::make_shared<Content>(Content{root, std::move(content)}));
}

Result<VerifiedBlob> VerifiedBlob::check(const Digest& root, Bytes content) {
    const VerifiedBlob blob = hash(std::move(content));
    if (blob.root() != root) return mismatch(root, blob.bytes().size(), blob.root());
    return blob;
}

Bytes VerifiedBlob::take() && {
    const std::shared_ptr<Content> content = std::exchange(content_, VerifiedBlob().content_);
    if (content.use_count() == 1) return std::move(content->bytes);
    return content->bytes;
}

void BlobReceiver::append(ByteView part) {
    content_.insert(content_.end(), part.begin(), part.end());
    hasher_.update(part);
}

Result<VerifiedBlob> BlobReceiver::finish(const Digest& root) && {
    const std::uint64_t size = content_.size();
    const Digest actual = commit::tensor_digest(commit::DType::kU8, {&size, 1}, hasher_.root());
    if (actual != root) return mismatch(root, size, actual);
    return VerifiedBlob(
        std::make_shared<VerifiedBlob::Content>(VerifiedBlob::Content{root, std::move(content_)}));
}

}  // namespace gym::blob
