#include "gym/blob/blob_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "gym/blob/directory_store.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::blob {
namespace {

Bytes text(std::string_view content) {
    return {content.begin(), content.end()};
}

TEST(BlobRoot, IsTheTensorRootOfItsBytes) {
    const Bytes content = text("some bytes");
    const std::uint64_t size = content.size();
    EXPECT_EQ(blob_root(content), commit::tensor_root(commit::DType::kU8, {&size, 1}, content));
    EXPECT_NE(blob_root({}), blob_root(Bytes{0}));
}

template <class Store>
struct StoreHolder;
template <>
struct StoreHolder<MemoryStore> {
    MemoryStore store;
};
template <>
struct StoreHolder<DirectoryStore> {
    testing::TemporaryFolder dir;
    DirectoryStore store = DirectoryStore::open(dir.path() / "blobs").value();
};

template <class Store>
class EveryStore : public ::testing::Test {
  protected:
    StoreHolder<Store> holder_;
};
using Stores = ::testing::Types<MemoryStore, DirectoryStore>;
TYPED_TEST_SUITE(EveryStore, Stores);

TYPED_TEST(EveryStore, GivesABlobInPieces) {
    auto& store = this->holder_.store;
    Bytes content(100'000);
    for (std::size_t i = 0; i < content.size(); ++i)
        content[i] = static_cast<std::uint8_t>(i * 7);
    const Digest root = store.put(content).value();
    const auto reader = store.open_reader(root).value();
    ASSERT_EQ(reader->size(), content.size());
    Bytes piece(1'000);
    ASSERT_TRUE(reader->read(99'000, piece).ok());
    EXPECT_TRUE(std::ranges::equal(piece, ByteView(content).last(1'000)));
    ASSERT_TRUE(store.remove(root).ok());
    EXPECT_TRUE(reader->read(0, piece).ok()) << "readers outlive the blob's name";
    EXPECT_EQ(store.open_reader(root).error().code, ErrorCode::kNotFound);
}

TYPED_TEST(EveryStore, KeepsAndReturnsWhatWasPut) {
    auto& store = this->holder_.store;
    const Bytes content = text("weights");
    const Digest root = store.put(content).value();
    EXPECT_TRUE(store.has(root).value());
    EXPECT_EQ(store.get(root).value(), content);
    EXPECT_EQ(store.put(content).value(), root) << "storing it again succeeds";
    EXPECT_TRUE(store.remove(root).ok());
    EXPECT_FALSE(store.has(root).value());
    EXPECT_EQ(store.get(root).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(store.remove(root).ok());
}

TYPED_TEST(EveryStore, ReturnsABlobWithItsRoot) {
    auto& store = this->holder_.store;
    const VerifiedBlob blob = VerifiedBlob::hash(text("weights"));
    ASSERT_TRUE(store.put(blob).ok());
    EXPECT_EQ(store.load(blob.root()).value(), blob);
    EXPECT_EQ(store.get(blob.root()).value(), text("weights"));
}

TYPED_TEST(EveryStore, HoldsTheEmptyBlobAndManyThreads) {
    auto& store = this->holder_.store;
    EXPECT_EQ(store.get(store.put(Bytes{}).value()).value(), Bytes{});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&store] {
            for (std::uint8_t i = 0; i < 20; ++i)
                EXPECT_TRUE(store.put(Bytes(100, i)).ok());
        });
    for (auto& thread : threads)
        thread.join();
    for (std::uint8_t i = 0; i < 20; ++i)
        EXPECT_EQ(store.get(blob_root(Bytes(100, i))).value(), Bytes(100, i));
}

/// Of all first bytes.
std::vector<StoredBlob> idle_blobs(BlobStore& store, std::chrono::milliseconds idle) {
    std::vector<StoredBlob> out;
    for (int first = 0; first < 256; ++first) {
        const auto listed = store.list_idle(static_cast<std::uint8_t>(first), idle);
        EXPECT_TRUE(listed.ok());
        out.insert(out.end(), listed->begin(), listed->end());
    }
    return out;
}

constexpr std::chrono::milliseconds kNow{0};
constexpr std::chrono::hours kLong{1};

TYPED_TEST(EveryStore, ListsWhatIsIdleAndErasesIt) {
    auto& store = this->holder_.store;
    const Digest first = store.put(text("weights")).value();
    const Digest second = store.put(text("more weights")).value();
    EXPECT_TRUE(idle_blobs(store, kLong).empty());
    const auto listed = idle_blobs(store, kNow);
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_TRUE(std::ranges::is_sorted(listed, {}, &StoredBlob::root));
    for (const StoredBlob& blob : listed) {
        EXPECT_TRUE(blob.root == first || blob.root == second);
        EXPECT_EQ(blob.bytes, blob.root == first ? 7U : 12U);
        const auto reader = store.open_reader(blob.root).value();
        EXPECT_TRUE(store.erase(blob).value());
        EXPECT_FALSE(store.has(blob.root).value());
        Bytes content(blob.bytes);
        EXPECT_TRUE(reader->read(0, content).ok()) << "a download that has begun ends";
        EXPECT_FALSE(store.erase(blob).value()) << "it is gone";
    }
    EXPECT_TRUE(idle_blobs(store, kNow).empty());
    EXPECT_FALSE(store.hold(first).value());
}

TYPED_TEST(EveryStore, WhatWasPutOrHeldSinceItWasListedStays) {
    auto& store = this->holder_.store;
    const Digest root = store.put(text("weights")).value();
    for (const bool puts : {false, true}) {
        auto listed = idle_blobs(store, kNow);
        ASSERT_EQ(listed.size(), 1U);
        listed[0].written_ns -= 1'000'000'000;  // a second ago: the file system's ticks are coarse
        if (puts)
            ASSERT_TRUE(store.put(text("weights")).ok());
        else
            ASSERT_TRUE(store.hold(root).value());
        EXPECT_FALSE(store.erase(listed[0]).value());
        EXPECT_TRUE(store.has(root).value());
    }
}

/// A file as it was an hour ago.
void age(const std::filesystem::path& file) {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - kLong);
}

class IdleFiles : public ::testing::Test {
  protected:
    testing::TemporaryFolder dir_;
    DirectoryStore store_ = DirectoryStore::open(dir_.path()).value();
    Digest root_ = store_.put(Bytes(5000, 7)).value();
    std::filesystem::path file_ = store_.path_of(root_);
};

TEST_F(IdleFiles, TheDateOfAFileSaysSinceWhen) {
    age(file_);
    EXPECT_EQ(idle_blobs(store_, kLong - std::chrono::minutes(1)).size(), 1U);
    EXPECT_TRUE(idle_blobs(store_, kLong + std::chrono::minutes(1)).empty());
    ASSERT_TRUE(store_.put(Bytes(5000, 7)).ok());
    EXPECT_TRUE(idle_blobs(store_, std::chrono::minutes(1)).empty()) << "putting it again dates it";
    age(file_);
    ASSERT_TRUE(store_.hold(root_).value());
    EXPECT_TRUE(idle_blobs(store_, std::chrono::minutes(1)).empty());
}

TEST_F(IdleFiles, OtherFilesOfTheFolderAreNoBlobs) {
    const std::string name = to_hex(root_.view());
    const auto folder = file_.parent_path();
    const std::vector<std::filesystem::path> others{
        dir_.path() / ".uploads" / "part",      // a folder of gym-api
        folder / "README",                      //
        folder / (name + ".bak"),               // of an operator
        folder / name.substr(0, 63),            //
        folder / ("ff" + name.substr(2)),       // in the wrong place
        dir_.path() / name.substr(0, 2) / "x",  //
    };
    for (const auto& path : others) {
        std::filesystem::create_directories(path.parent_path());
        ASSERT_TRUE(write_file_atomic(path, Bytes(10, 1)).ok());
    }
    const auto listed = idle_blobs(store_, kNow);
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].root, root_);
    for (const auto& path : others)
        EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

TEST_F(IdleFiles, WhatACrashLeftOfAWriteIsRemovedWhenItIsOld) {
    const auto unfinished = file_.parent_path() / ("." + file_.filename().string() + ".AbCdEf");
    ASSERT_TRUE(write_file_atomic(unfinished, Bytes(10, 1)).ok());
    EXPECT_EQ(idle_blobs(store_, kLong).size(), 0U);
    EXPECT_TRUE(std::filesystem::exists(unfinished)) << "somebody may be writing it";
    age(unfinished);
    EXPECT_EQ(idle_blobs(store_, std::chrono::minutes(1)).size(), 0U);
    EXPECT_TRUE(std::filesystem::exists(unfinished)) << "a link to an old file, made just now";
    EXPECT_EQ(idle_blobs(store_, kNow).size(), 1U);
    EXPECT_FALSE(std::filesystem::exists(unfinished));
}

class RottenFile : public ::testing::Test {
  protected:
    testing::TemporaryFolder dir_;
    DirectoryStore store_ = DirectoryStore::open(dir_.path()).value();
    Bytes content_ = Bytes(5000, 7);
    Digest root_ = store_.put(content_).value();

    void overwrite(ByteView content) {
        ASSERT_TRUE(write_file_atomic(store_.path_of(root_), content).ok());
    }
};

TEST_F(RottenFile, AnAlteredCutOrExtendedFileIsAMismatch) {
    Bytes altered = content_;
    altered[4321] ^= 1;
    overwrite(altered);
    EXPECT_EQ(store_.get(root_).error().code, ErrorCode::kMismatch);
    overwrite(ByteView(content_).first(4999));
    EXPECT_EQ(store_.get(root_).error().code, ErrorCode::kMismatch);
    Bytes longer = content_;
    longer.push_back(0);
    overwrite(longer);
    EXPECT_EQ(store_.get(root_).error().code, ErrorCode::kMismatch);
}

TEST_F(RottenFile, PuttingItAgainRepairsIt) {
    overwrite(Bytes(5000, 8));
    ASSERT_TRUE(store_.put(content_).ok());
    EXPECT_EQ(store_.get(root_).value(), content_);
}

TEST_F(RottenFile, AnotherProcessSeesTheSameBlobs) {
    const DirectoryStore other = DirectoryStore::open(dir_.path()).value();
    EXPECT_EQ(other.get(root_).value(), content_);
    EXPECT_EQ(DirectoryStore::open(store_.path_of(root_)).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace gym::blob
