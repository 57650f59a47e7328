#include "gym/blob/blob_store.hpp"

#include <algorithm>
#include <utility>

#include "gym/blob/read_once.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/assert.hpp"

namespace gym::blob {
namespace {

class MemoryReader final : public BlobReader {
  public:
    explicit MemoryReader(Bytes bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        GYM_ASSERT(offset <= bytes_.size() && out.size() <= bytes_.size() - offset,
                   "a read beyond the blob");
        std::ranges::copy(ByteView(bytes_).subspan(offset, out.size()), out.begin());
        return {};
    }

  private:
    const Bytes bytes_;
};

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

}  // namespace

Result<Digest> blob_root(const BlobReader& blob) {
    const std::uint64_t size = blob.size();
    commit::ChunkTreeHasher hasher;
    Bytes piece;
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, size - at)));
        GYM_CHECK(blob.read(at, piece));
        hasher.update(piece);
    }
    return commit::tensor_digest(commit::DType::kU8, {&size, 1}, hasher.root());
}

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

Status BlobStore::adopt(const Digest& root, const BlobReader& reader) {
    Bytes content(reader.size());
    GYM_CHECK(reader.read(0, content));
    GYM_TRY(const VerifiedBlob blob, VerifiedBlob::check(root, std::move(content)));
    return put(blob);
}

Status MemoryStore::write(const Digest& root, ByteView content) {
    const std::scoped_lock lock(mutex_);
    Held& held = blobs_.try_emplace(root, Held{{content.begin(), content.end()}, 0}).first->second;
    held.written_ns = tick_ns();
    return {};
}

Result<Bytes> MemoryStore::read(const Digest& root) const {
    const std::scoped_lock lock(mutex_);
    const auto found = blobs_.find(root);
    if (found == blobs_.end()) return fail(ErrorCode::kNotFound, "no blob " + root.hex());
    return found->second.bytes;
}

Result<std::unique_ptr<const BlobReader>> MemoryStore::open_reader(const Digest& root) const {
    GYM_TRY(Bytes bytes, read(root));
    return std::unique_ptr<const BlobReader>(std::make_unique<MemoryReader>(std::move(bytes)));
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

std::int64_t MemoryStore::tick_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    last_ns_ = std::max<std::int64_t>(
        last_ns_ + 1, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    return last_ns_;
}

Result<bool> MemoryStore::hold(const Digest& root) {
    const std::scoped_lock lock(mutex_);
    const auto found = blobs_.find(root);
    if (found == blobs_.end()) return false;
    found->second.written_ns = tick_ns();
    return true;
}

Result<std::vector<StoredBlob>> MemoryStore::list_idle(std::uint8_t first,
                                                       std::chrono::milliseconds idle) {
    const std::scoped_lock lock(mutex_);
    const std::int64_t before_ns =
        tick_ns() - std::chrono::duration_cast<std::chrono::nanoseconds>(idle).count();
    std::vector<StoredBlob> out;
    for (const auto& [root, held] : blobs_)
        if (root.data[0] == first && held.written_ns <= before_ns)
            out.push_back({root, held.bytes.size(), held.written_ns});
    return out;
}

Result<bool> MemoryStore::erase(const StoredBlob& blob) {
    const std::scoped_lock lock(mutex_);
    const auto found = blobs_.find(blob.root);
    if (found == blobs_.end() || found->second.written_ns > blob.written_ns) return false;
    blobs_.erase(found);
    return true;
}

}  // namespace gym::blob
