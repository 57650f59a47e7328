#include "gym/rpc/blob_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "blob_site.hpp"
#include "gym/common/file.hpp"
#include "gym/vault/sealed_file.hpp"
#include "gym/vault/sealed_parts.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

class BlobCacheTest : public ::testing::Test {
  protected:
    testing::MemoryHandler handler_;
    testing::LocalCoordinator coordinator_{handler_, testing::test_key(1).address()};
    testing::TemporaryFolder dir_;
    const vault::StoreKey key_ = vault::StoreKey::random();
    BlobCache cache_ = BlobCache::open(dir_.path(), coordinator_, key_).value();
    Bytes content_ = make_content();
    Digest root_ = handler_.blobs.put(content_).value();

    static Bytes make_content() {
        Bytes out(10'500);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<std::uint8_t>(i * 7);
        return out;
    }
    std::filesystem::path partial() const { return dir_.path() / "partial" / to_hex(root_.view()); }
};

TEST_F(BlobCacheTest, DownloadsOnceAndThenReadsTheDisk) {
    std::uint64_t last_received = 0;
    const auto progress = [&](std::uint64_t received, std::uint64_t size) {
        EXPECT_EQ(size, content_.size());
        last_received = received;
    };
    EXPECT_EQ(cache_.fetch(root_, progress).value().take(), content_);
    EXPECT_EQ(last_received, content_.size());
    handler_.failures["get_blob"] = fail(ErrorCode::kInternal, "asked twice");
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_);
    EXPECT_FALSE(std::filesystem::exists(partial()));
}

TEST_F(BlobCacheTest, TheDiskShowsNothingOfABlob) {
    ASSERT_TRUE(cache_.fetch(root_).ok());
    const Bytes part(content_.begin() + 100, content_.begin() + 164);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
        if (!entry.is_regular_file()) continue;
        ++files;
        const Bytes stored = read_file(entry.path()).value();
        EXPECT_TRUE(std::ranges::search(stored, part).empty());
    }
    EXPECT_EQ(files, 2U) << "the blob, and the lock of the folder";
    BlobCache other = BlobCache::open(dir_.path(), coordinator_, vault::StoreKey::random()).value();
    handler_.failures["get_blob"] = fail(ErrorCode::kUnavailable, "gone");
    EXPECT_FALSE(other.fetch(root_).ok()) << "another node's key opens nothing";
}

TEST_F(BlobCacheTest, GoesOnWhereABrokenDownloadStopped) {
    coordinator_.chunks_until_cut = 4;
    EXPECT_EQ(cache_.fetch(root_).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(vault::SealWriter::resume(partial(), key_, root_)->received_bytes(), 4'000u);
    const Bytes first(content_.begin(), content_.begin() + 64);
    const Bytes stored = read_file(partial()).value();
    EXPECT_TRUE(std::ranges::search(stored, first).empty()) << "what has arrived is sealed, too";
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_);
    EXPECT_EQ(coordinator_.bytes_sent, content_.size()) << "no byte came twice";
}

TEST_F(BlobCacheTest, AnAlteredOrTruncatedBlobFromTheCoordinatorIsAMismatch) {
    Bytes altered = content_;
    altered[5'000] ^= 1;
    handler_.lies[root_] = altered;
    EXPECT_EQ(cache_.fetch(root_).error().code, ErrorCode::kMismatch);
    handler_.lies[root_] = Bytes(content_.begin(), content_.end() - 1);
    EXPECT_EQ(cache_.fetch(root_).error().code, ErrorCode::kMismatch);
    EXPECT_FALSE(cache_.store().has(root_).value());
    handler_.lies.clear();
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_);
}

TEST_F(BlobCacheTest, ARottenPartialFileIsThrownAwayAndTheBlobFetchedWhole) {
    ASSERT_TRUE(write_file_atomic(partial(), Bytes(3'000, 0xee)).ok());
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_);
    ASSERT_TRUE(cache_.store().remove(root_).ok());
    ASSERT_TRUE(write_file_atomic(partial(), Bytes(content_.size() + 1, 0xee)).ok());
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_);
}

TEST_F(BlobCacheTest, ARottenBlobOnDiskIsFetchedAgain) {
    ASSERT_TRUE(cache_.fetch(root_).ok());
    ASSERT_TRUE(write_file_atomic(cache_.store().path_of(root_), Bytes(10, 1)).ok());
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_);
}

TEST_F(BlobCacheTest, WhatNobodyHasIsNotFound) {
    EXPECT_EQ(cache_.fetch(blob::blob_root(Bytes{1})).error().code, ErrorCode::kNotFound);
}

TEST_F(BlobCacheTest, WhatIsIdleGoesUnlessItIsNeeded) {
    constexpr std::chrono::hours kWeek{24 * 7};
    const auto age = [&](const std::filesystem::path& file) {
        std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - kWeek);
    };
    const Digest needed = handler_.blobs.put(Bytes(100, 1)).value();
    const Digest used = handler_.blobs.put(Bytes(100, 2)).value();
    for (const Digest& blob : {root_, needed, used}) {
        ASSERT_TRUE(cache_.fetch(blob).ok());
        age(cache_.store().path_of(blob));
    }
    ASSERT_TRUE(cache_.fetch(used).ok()) << "from the disk, which counts as use";
    ASSERT_TRUE(write_file_atomic(partial(), Bytes(3'000, 1)).ok());
    const auto fresh = partial().string() + ".pieces";
    ASSERT_TRUE(write_file_atomic(fresh, Bytes(10, 1)).ok());
    age(partial());
    const std::uint64_t bytes = std::filesystem::file_size(cache_.store().path_of(root_));
    const auto needs = [&](const Digest& blob) { return blob == needed; };
    EXPECT_EQ(cache_.remove_idle(std::chrono::hours(24), needs).value(), bytes);
    EXPECT_FALSE(cache_.store().has(root_).value());
    EXPECT_TRUE(cache_.store().has(needed).value());
    EXPECT_TRUE(cache_.store().has(used).value());
    EXPECT_FALSE(std::filesystem::exists(partial()));
    EXPECT_TRUE(std::filesystem::exists(fresh)) << "a download that is under way";
    EXPECT_EQ(cache_.fetch(root_).value().take(), content_) << "and comes back when it is needed";
}

/// With a mirror that the network names, over a real socket.
class MirroredBlobCache : public BlobCacheTest {
  protected:
    void SetUp() override {
        content_ = testing::noise(5 * blob::kPieceBytes + 100);
        root_ = handler_.blobs.put(content_).value();
        handler_.info.mirrors = {mirror_.url()};
    }
    [[nodiscard]] std::filesystem::path pieces() const { return partial().string() + ".pieces"; }

    testing::BlobSite mirror_{handler_.blobs};
};

TEST_F(MirroredBlobCache, TheCoordinatorSendsNothing) {
    std::uint64_t last = 0;
    const auto progress = [&](std::uint64_t received, std::uint64_t size) {
        EXPECT_EQ(size, content_.size());
        last = std::max(last, received);
    };
    EXPECT_TRUE(cache_.fetch(root_, progress).value().take() == content_);
    EXPECT_EQ(last, content_.size());
    EXPECT_EQ(coordinator_.bytes_sent, 0U);
    EXPECT_EQ(cache_.traffic().mirror_bytes, content_.size());
    EXPECT_EQ(cache_.traffic().coordinator_bytes, 0U);
    EXPECT_FALSE(std::filesystem::exists(pieces()));
    EXPECT_TRUE(cache_.fetch(root_).ok());
    EXPECT_EQ(mirror_.pieces, 6U) << "the disk has it";
}

TEST_F(MirroredBlobCache, WhatNoMirrorHasComesFromTheCoordinator) {
    mirror_.fault = testing::Fault::kAbsent;
    EXPECT_TRUE(cache_.fetch(root_).value().take() == content_);
    EXPECT_EQ(cache_.traffic().coordinator_bytes, content_.size());
    EXPECT_EQ(cache_.fetch(blob::blob_root(Bytes{1})).error().code, ErrorCode::kNotFound);
}

TEST_F(MirroredBlobCache, TheCoordinatorSendsWhatALyingMirrorDoesNot) {
    mirror_.fault = testing::Fault::kLies;
    EXPECT_TRUE(cache_.fetch(root_).value().take() == content_);
    EXPECT_EQ(cache_.traffic().mirror_bytes, 0U);
    EXPECT_EQ(cache_.traffic().coordinator_bytes, content_.size());
    EXPECT_FALSE(std::filesystem::exists(pieces()));
}

TEST_F(MirroredBlobCache, GoesOnWithThePiecesOfAnEarlierProcess) {
    const blob::PieceList list = blob::PieceList::of(content_);
    {
        auto parts = vault::SealedParts::open(pieces(), key_, root_, content_.size()).value();
        for (const std::uint64_t i : {0, 1, 4})
            ASSERT_TRUE(parts
                            .write(list.offset(i),
                                   ByteView(content_).subspan(list.offset(i), list.size_of(i)))
                            .ok());
    }
    EXPECT_TRUE(cache_.fetch(root_).value().take() == content_);
    EXPECT_EQ(mirror_.pieces, 3U);
    EXPECT_EQ(cache_.traffic().mirror_bytes, 2 * blob::kPieceBytes + 100);
}

TEST_F(MirroredBlobCache, TheCoordinatorGoesOnBehindTheFirstPieces) {
    const blob::PieceList list = blob::PieceList::of(content_);
    {
        auto parts = vault::SealedParts::open(pieces(), key_, root_, content_.size()).value();
        for (const std::uint64_t i : {0, 1})
            ASSERT_TRUE(parts
                            .write(list.offset(i),
                                   ByteView(content_).subspan(list.offset(i), list.size_of(i)))
                            .ok());
    }
    mirror_.fault = testing::Fault::kTruncates;
    EXPECT_TRUE(cache_.fetch(root_).value().take() == content_);
    EXPECT_EQ(coordinator_.bytes_sent, 3 * blob::kPieceBytes + 100);
    handler_.lies[root_] = Bytes(content_.size(), 7);
    ASSERT_TRUE(cache_.store().remove(root_).ok());
    EXPECT_EQ(cache_.fetch(root_).error().code, ErrorCode::kMismatch);
}

TEST_F(MirroredBlobCache, AnAddressThatIsNoneIsIgnored) {
    handler_.info.mirrors = {"not an address"};
    EXPECT_TRUE(cache_.fetch(root_).value().take() == content_);
    EXPECT_EQ(coordinator_.bytes_sent, content_.size());
}

}  // namespace
}  // namespace gym::rpc
