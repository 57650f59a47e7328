#include "gym/blob/piece_list.hpp"

#include <gtest/gtest.h>

#include "gym/blob/verified_blob.hpp"

namespace gym::blob {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Bytes pattern(std::uint64_t size) {
    Bytes out(size);
    std::uint32_t state = 12'345;
    for (std::uint8_t& byte : out) {
        state = state * 1'664'525 + 1'013'904'223;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return out;
}

class PieceListTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PieceListTest, TheListOfPiecesHasTheBlobsRoot) {
    const Bytes content = pattern(GetParam());
    const PieceList list = PieceList::of(content);
    EXPECT_EQ(list.root(), blob_root(content));
    EXPECT_EQ(list.size_bytes(), content.size());
    EXPECT_EQ(list.count(), (content.size() + kMiB - 1) / kMiB);
    EXPECT_EQ(list.encode().size(), piece_list_bytes(content.size()));
}

TEST_P(PieceListTest, EachPieceIsCheckedAloneAndInAnyOrder) {
    const Bytes content = pattern(GetParam());
    const PieceList list =
        PieceList::decode(blob_root(content), PieceList::of(content, 2).encode()).value();
    for (std::uint64_t i = list.count(); i-- > 0;) {
        Bytes piece(
            content.begin() + static_cast<std::ptrdiff_t>(list.offset(i)),
            content.begin() + static_cast<std::ptrdiff_t>(list.offset(i) + list.size_of(i)));
        EXPECT_TRUE(list.matches(i, piece)) << "piece " << i;
        piece.back() ^= 1;
        EXPECT_FALSE(list.matches(i, piece)) << "an altered byte of piece " << i;
        piece.pop_back();
        EXPECT_FALSE(list.matches(i, piece)) << "piece " << i << " cut by a byte";
        for (std::uint64_t j = 0; j < list.count(); ++j) {
            const ByteView other = ByteView(content).subspan(list.offset(j), list.size_of(j));
            EXPECT_EQ(list.matches(i, other), i == j);
        }
    }
}

TEST_P(PieceListTest, AReaderGivesTheSameList) {
    const Bytes content = pattern(GetParam());
    MemoryStore store;
    const Digest root = store.put(content).value();
    const PieceList list = PieceList::of(*store.open_reader(root).value()).value();
    EXPECT_EQ(list.root(), root);
    EXPECT_EQ(list.encode(), PieceList::of(content).encode());
}

TEST_P(PieceListTest, AnAlteredListIsRefused) {
    const Bytes content = pattern(GetParam());
    const Digest root = blob_root(content);
    const Bytes good = PieceList::of(content).encode();
    for (std::size_t at = 0; at < good.size(); at += 7) {
        Bytes bad = good;
        bad[at] ^= 0x40;
        EXPECT_FALSE(PieceList::decode(root, bad).ok()) << "byte " << at;
    }
    Bytes shorter(good.begin(), good.end() - 1), longer = good;
    longer.resize(longer.size() + Digest::kSize);
    EXPECT_EQ(PieceList::decode(root, shorter).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(PieceList::decode(root, longer).error().code, ErrorCode::kMalformed);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PieceListTest,
                         ::testing::Values(0, 1, 1'024, 1'025, kMiB - 1, kMiB, kMiB + 1, 2 * kMiB,
                                           3 * kMiB + 77, 5 * kMiB));

TEST(PieceListBytes, OtherContentIsNoList) {
    const Digest root = blob_root(Bytes{1});
    EXPECT_EQ(PieceList::decode(root, {}).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(PieceList::decode(root, as_bytes("<!DOCTYPE html><html></html>")).error().code,
              ErrorCode::kMalformed);
    EXPECT_EQ(PieceList::decode(root, PieceList::of(Bytes{2}).encode()).error().code,
              ErrorCode::kMismatch);
    Bytes huge = PieceList::of(Bytes{1}).encode();
    for (std::size_t i = 8; i < 16; ++i)
        huge[i] = 0xff;
    EXPECT_EQ(PieceList::decode(root, huge).error().code, ErrorCode::kMalformed)
        << "a size of 2^64 - 1 allocates nothing";
}

}  // namespace
}  // namespace gym::blob
