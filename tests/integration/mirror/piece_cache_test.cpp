#include "gym/mirror/piece_cache.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "blob_site.hpp"
#include "temporary_folder.hpp"

namespace gym::mirror {
namespace {

namespace fs = std::filesystem;
using testing::noise;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class PieceCacheTest : public ::testing::Test {
  protected:
    std::unique_ptr<PieceCache> open(std::uint64_t bytes_max = 64 * kMiB) {
        return PieceCache::open(dir_.path(), bytes_max).value();
    }
    static ByteView piece(const Bytes& blob, std::uint64_t index) {
        return ByteView(blob).subspan(index * kMiB, std::min(kMiB, blob.size() - index * kMiB));
    }
    static bool has(CachedBlob& blob, const Bytes& content, std::uint64_t index) {
        Bytes out(piece(content, index).size());
        const bool there = blob.read(index, 0, out).value();
        EXPECT_TRUE(!there || std::ranges::equal(out, piece(content, index)));
        return there;
    }
    static void fill(CachedBlob& blob, const Bytes& content) {
        for (std::uint64_t i = 0; i < blob.pieces()->count(); ++i)
            ASSERT_TRUE(blob.write(i, piece(content, i)).ok());
    }
    [[nodiscard]] fs::path file_of(const Digest& root) const {
        const std::string name = to_hex(root.view());
        return dir_.path() / name.substr(0, 2) / name;
    }
    testing::TemporaryFolder dir_;
};

TEST_F(PieceCacheTest, KeepsPiecesInAnyOrderAndOverARestart) {
    const Bytes content = noise(3 * kMiB + 5);
    const blob::PieceList list = blob::PieceList::of(content);
    {
        const auto cache = open();
        EXPECT_EQ(cache->find(list.root()).value(), nullptr);
        const auto blob = cache->add(list).value();
        EXPECT_FALSE(has(*blob, content, 3));
        ASSERT_TRUE(blob->write(3, piece(content, 3)).ok());
        ASSERT_TRUE(blob->write(1, piece(content, 1)).ok());
        EXPECT_TRUE(has(*blob, content, 3));
        EXPECT_FALSE(has(*blob, content, 0));
    }
    const auto cache = open();
    const auto blob = cache->find(list.root()).value();
    ASSERT_NE(blob, nullptr);
    EXPECT_TRUE(has(*blob, content, 1));
    EXPECT_TRUE(has(*blob, content, 3));
    EXPECT_FALSE(has(*blob, content, 0));
    EXPECT_FALSE(has(*blob, content, 2));
}

TEST_F(PieceCacheTest, WhatRottedOrWasTornIsAbsentAndCanBeWrittenAgain) {
    const Bytes content = noise(2 * kMiB);
    const blob::PieceList list = blob::PieceList::of(content);
    fill(*open()->add(list).value(), content);
    {
        std::fstream file(file_of(list.root()), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(kMiB + 77);
        file.put('x').put('y').put('z');
    }
    {
        const auto cache = open();
        const auto blob = cache->find(list.root()).value();
        EXPECT_TRUE(has(*blob, content, 0));
        EXPECT_FALSE(has(*blob, content, 1));
        ASSERT_TRUE(blob->write(1, piece(content, 1)).ok());
        EXPECT_TRUE(has(*blob, content, 1));
    }
    fs::resize_file(file_of(list.root()), kMiB / 2);
    const auto cache = open();
    const auto blob = cache->find(list.root()).value();
    EXPECT_FALSE(has(*blob, content, 0));
    EXPECT_FALSE(has(*blob, content, 1));
}

TEST_F(PieceCacheTest, AnAlteredListIsDroppedWithItsPieces) {
    const Bytes content = noise(kMiB);
    const blob::PieceList list = blob::PieceList::of(content);
    fill(*open()->add(list).value(), content);
    std::ofstream(file_of(list.root()).string() + ".pieces") << "<html>";
    const auto cache = open();
    EXPECT_EQ(cache->find(list.root()).value(), nullptr);
    EXPECT_FALSE(fs::exists(file_of(list.root())));
    EXPECT_EQ(cache->bytes(), 0U);
}

TEST_F(PieceCacheTest, TheLeastRecentlyUsedGoesFirstAndTheBoundHolds) {
    const auto cache = open(5 * kMiB);
    std::vector<Bytes> contents;
    std::vector<Digest> roots;
    for (std::uint32_t i = 0; i < 4; ++i) {
        contents.push_back(noise(2 * kMiB, i + 1));
        const blob::PieceList list = blob::PieceList::of(contents.back());
        roots.push_back(list.root());
        fill(*cache->add(list).value(), contents.back());
        EXPECT_LE(cache->bytes(), 5 * kMiB);
        EXPECT_NE(cache->find(roots.front()).value(), nullptr) << "used each time";
    }
    EXPECT_EQ(cache->find(roots[1]).value(), nullptr);
    EXPECT_EQ(cache->find(roots[2]).value(), nullptr);
    EXPECT_NE(cache->find(roots[3]).value(), nullptr);
    EXPECT_EQ(cache->evicted(), 2U);
    EXPECT_FALSE(fs::exists(file_of(roots[1])));
}

TEST_F(PieceCacheTest, WhatIsBeingReadStaysAndWhatHasNoRoomIsNotKept) {
    const auto cache = open(3 * kMiB);
    const Bytes first = noise(2 * kMiB, 1), second = noise(2 * kMiB, 2), huge = noise(4 * kMiB, 3);
    const auto reading = cache->add(blob::PieceList::of(first)).value();
    fill(*reading, first);
    const auto other = cache->add(blob::PieceList::of(second)).value();
    EXPECT_EQ(other->write(0, piece(second, 0)).error().code, ErrorCode::kOutOfRange);
    EXPECT_TRUE(has(*reading, first, 0));
    const auto large = cache->add(blob::PieceList::of(huge)).value();
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < 4; ++i)
        kept += large->write(i, piece(huge, i)).ok() ? 1 : 0;
    EXPECT_LT(kept, 4U);
    EXPECT_LE(cache->bytes(), 3 * kMiB);
}

TEST_F(PieceCacheTest, ALowerBoundHoldsFromTheStart) {
    for (std::uint32_t i = 0; i < 3; ++i) {
        const Bytes content = noise(2 * kMiB, i + 1);
        fill(*open()->add(blob::PieceList::of(content)).value(), content);
    }
    EXPECT_GE(open()->bytes(), 6 * kMiB);
    const auto cache = open(5 * kMiB);
    EXPECT_LE(cache->bytes(), 5 * kMiB);
    EXPECT_EQ(cache->blobs(), 2U);
}

TEST_F(PieceCacheTest, OtherFilesInTheFolderStay) {
    fs::create_directories(dir_.path() / "ab");
    std::ofstream(dir_.path() / "ab" / "notes.txt") << "mine";
    std::ofstream(dir_.path() / "thesis.pieces") << "mine";
    const std::string orphan(64, 'a');
    std::ofstream(dir_.path() / "ab" / orphan) << "data without a list";
    const auto cache = open();
    EXPECT_TRUE(fs::exists(dir_.path() / "ab" / "notes.txt"));
    EXPECT_TRUE(fs::exists(dir_.path() / "thesis.pieces"));
    EXPECT_EQ(cache->blobs(), 0U);
}

TEST_F(PieceCacheTest, OneProcessHasTheFolder) {
    const auto cache = open();
    EXPECT_EQ(PieceCache::open(dir_.path(), kMiB).error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace gym::mirror
