#include "gym/blob/piece_list.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/assert.hpp"

namespace gym::blob {
namespace {

constexpr std::string_view kMagic = "GYMPIEC1";
constexpr unsigned kPieceDepth = 10;  // a piece has 2^10 chunks
static_assert(kPieceBytes == std::uint64_t{commit::kChunkBytes} << kPieceDepth);
static_assert(kPieceListHeadBytes == kMagic.size() + sizeof(std::uint64_t));

std::uint64_t chunks_in(std::uint64_t bytes) {
    return (bytes + commit::kChunkBytes - 1) / commit::kChunkBytes;
}

/// The node over one piece of a blob of `blob_bytes`.
Digest piece_digest(ByteView piece, std::uint64_t blob_bytes, unsigned threads) {
    const Digest own = commit::chunk_tree_root(piece, threads);
    if (blob_bytes <= kPieceBytes) return own;
    const unsigned depth = commit::tree_depth(chunks_in(piece.size()));
    return commit::merkle_fold({own}, depth, kPieceDepth - depth);
}

Digest root_of(std::uint64_t size_bytes, const std::vector<Digest>& digests) {
    Digest tree = commit::absent_leaf();
    if (digests.size() == 1) tree = digests.front();
    if (digests.size() > 1)
        tree = commit::merkle_fold(digests, kPieceDepth,
                                   commit::tree_depth(chunks_in(size_bytes)) - kPieceDepth);
    return commit::tensor_digest(commit::DType::kU8, {&size_bytes, 1}, tree);
}

}  // namespace

PieceList::PieceList(std::uint64_t size_bytes, std::vector<Digest> digests)
    : size_bytes_(size_bytes),
      digests_(std::move(digests)),
      root_(root_of(size_bytes_, digests_)) {}

Result<PieceList> PieceList::of(const BlobReader& blob, unsigned threads) {
    const std::uint64_t size = blob.size();
    std::vector<Digest> digests;
    digests.reserve(piece_count(size));
    Bytes piece;
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, size - at)));
        GYM_CHECK(blob.read(at, piece));
        digests.push_back(piece_digest(piece, size, threads));
    }
    return PieceList(size, std::move(digests));
}

PieceList PieceList::of(ByteView blob, unsigned threads) {
    std::vector<Digest> digests;
    digests.reserve(piece_count(blob.size()));
    for (std::size_t at = 0; at < blob.size(); at += kPieceBytes) {
        const std::size_t size = std::min<std::size_t>(kPieceBytes, blob.size() - at);
        digests.push_back(piece_digest(blob.subspan(at, size), blob.size(), threads));
    }
    return {blob.size(), std::move(digests)};
}

Result<PieceList> PieceList::decode(const Digest& root, ByteView bytes) {
    const auto malformed = [&](const std::string& why) {
        return fail(ErrorCode::kMalformed, "not the list of pieces of " + root.hex() + ": " + why);
    };
    if (bytes.size() < kPieceListHeadBytes ||
        !std::ranges::equal(bytes.first(kMagic.size()), as_bytes(kMagic)))
        return malformed("it does not begin with " + std::string(kMagic));
    commit::Decoder in(bytes.subspan(kMagic.size()));
    GYM_TRY(const std::uint64_t size, in.u64());
    const std::uint64_t listed = bytes.size() - kPieceListHeadBytes;
    if (listed % Digest::kSize != 0 || listed / Digest::kSize != piece_count(size))
        return malformed(std::to_string(bytes.size()) + " bytes are no list for a blob of " +
                         std::to_string(size) + " bytes");
    std::vector<Digest> digests(piece_count(size));
    for (Digest& digest : digests) {
        GYM_TRY(digest, in.digest());
    }
    PieceList list(size, std::move(digests));
    if (list.root_ != root)
        return fail(ErrorCode::kMismatch,
                    "the list of pieces of " + root.hex() + " hashes to " + list.root_.hex());
    return list;
}

Bytes PieceList::encode() const {
    commit::Encoder out;
    out.raw(as_bytes(kMagic)).u64(size_bytes_);
    for (const Digest& digest : digests_)
        out.fixed(digest);
    return out.take();
}

std::uint64_t PieceList::size_of(std::uint64_t index) const {
    GYM_ASSERT(index < count(), "a piece of the blob");
    return std::min(kPieceBytes, size_bytes_ - offset(index));
}

bool PieceList::matches(std::uint64_t index, ByteView bytes, unsigned threads) const {
    return bytes.size() == size_of(index) &&
           piece_digest(bytes, size_bytes_, threads) == digests_[static_cast<std::size_t>(index)];
}

void PieceListBuilder::add(ByteView piece) {
    const std::uint64_t before = digests_.size() * kPieceBytes;
    GYM_ASSERT(before < size_bytes_ && piece.size() == std::min(kPieceBytes, size_bytes_ - before),
               "the next piece of the blob");
    digests_.push_back(piece_digest(piece, size_bytes_, 1));
}

PieceList PieceListBuilder::finish() && {
    GYM_ASSERT(digests_.size() == piece_count(size_bytes_), "all pieces of the blob");
    return {size_bytes_, std::move(digests_)};
}

}  // namespace gym::blob
