#include "gym/blob/blob_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
