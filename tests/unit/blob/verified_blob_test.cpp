#include "gym/blob/verified_blob.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace gym::blob {
namespace {

const Bytes kContent(5'000, 7);

static_assert(!std::is_constructible_v<VerifiedBlob, Digest, Bytes>,
              "bytes get a root only where they are hashed");

TEST(VerifiedBlob, HasTheRootOfItsBytes) {
    const VerifiedBlob blob = VerifiedBlob::hash(kContent);
    EXPECT_EQ(blob.root(), blob_root(kContent));
    EXPECT_TRUE(std::ranges::equal(blob.bytes(), kContent));
    EXPECT_EQ(VerifiedBlob::hash(kContent, 4), blob) << "threads change nothing";
    EXPECT_EQ(VerifiedBlob().root(), blob_root({}));
    EXPECT_TRUE(VerifiedBlob().bytes().empty());
}

TEST(VerifiedBlob, AnAlteredOrCutBlobIsRefused) {
    const Digest root = blob_root(kContent);
    EXPECT_EQ(VerifiedBlob::check(root, kContent)->root(), root);
    Bytes altered = kContent;
    altered[4'321] ^= 1;
    EXPECT_EQ(VerifiedBlob::check(root, altered).error().code, ErrorCode::kMismatch);
    altered[4'321] ^= 1;
    altered.pop_back();
    EXPECT_EQ(VerifiedBlob::check(root, altered).error().code, ErrorCode::kMismatch);
}

TEST(VerifiedBlob, NeverHoldsARootWithoutItsBytes) {
    VerifiedBlob blob = VerifiedBlob::hash(kContent);
    const VerifiedBlob moved = std::move(blob);
    EXPECT_EQ(blob.root(), blob_root(blob.bytes()));
    VerifiedBlob taken = moved;
    EXPECT_EQ(std::move(taken).take(), kContent);
    EXPECT_EQ(taken.root(), blob_root({}));
    EXPECT_TRUE(std::ranges::equal(moved.bytes(), kContent)) << "other holders keep theirs";
}

TEST(BlobReceiver, PartsThatArriveMakeTheSameBlob) {
    const ByteView content = kContent;
    BlobReceiver whole;
    for (std::size_t at = 0; at < content.size(); at += 999)
        whole.append(content.subspan(at, std::min<std::size_t>(999, content.size() - at)));
    EXPECT_EQ(whole.size(), kContent.size());
    EXPECT_EQ(std::move(whole).finish(blob_root(kContent)).value(), VerifiedBlob::hash(kContent));
    BlobReceiver cut;
    cut.append(content.first(4'999));
    EXPECT_EQ(std::move(cut).finish(blob_root(kContent)).error().code, ErrorCode::kMismatch);
}

}  // namespace
}  // namespace gym::blob
