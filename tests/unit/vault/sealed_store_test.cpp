// A store of sealed blobs beside what a plain store left.
#include "gym/vault/sealed_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "gym/common/file.hpp"
#include "gym/vault/sealed_file.hpp"
#include "temporary_folder.hpp"

namespace gym::vault {
namespace {

namespace fs = std::filesystem;

class SealedStoreTest : public ::testing::Test {
  protected:
    /// Files below the folder that hold the words.
    std::size_t files_with(std::string_view words) const {
        std::size_t found = 0;
        for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
            if (!entry.is_regular_file()) continue;
            const Bytes bytes = read_file(entry.path()).value();
            found += std::ranges::search(bytes, words).empty() ? 0 : 1;
        }
        return found;
    }

    static constexpr std::string_view kText = "what nobody else may read";
    testing::TemporaryFolder dir_;
    const fs::path folder_ = dir_.path() / "blobs";
    const StoreKey key_ = StoreKey::random();
    SealedStore store_ = SealedStore::open(folder_, key_).value();
    const Digest root_ = blob::blob_root(as_bytes(kText));
};

TEST_F(SealedStoreTest, KeepsBlobsUnderTheirRootsAndTheTextNowhere) {
    EXPECT_EQ(store_.put(as_bytes(kText)).value(), root_) << "a root is that of the content";
    EXPECT_EQ(store_.get(root_).value(), Bytes(kText.begin(), kText.end()));
    EXPECT_TRUE(store_.has(root_).value());
    EXPECT_EQ(files_with(kText), 0U);
    EXPECT_EQ(files_with("GYMSEAL1"), 1U);
    ASSERT_TRUE(store_.remove(root_).ok());
    EXPECT_FALSE(store_.has(root_).value());
    EXPECT_EQ(store_.get(root_).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(store_.remove(root_).ok());
}

TEST_F(SealedStoreTest, WhatWasStoredInTheClearStaysReadableUntilItIsSealed) {
    auto plain = blob::DirectoryStore::open(folder_).value();
    ASSERT_TRUE(plain.put(as_bytes(kText)).ok());
    EXPECT_TRUE(store_.has(root_).value());
    EXPECT_EQ(store_.get(root_).value(), Bytes(kText.begin(), kText.end()));
    ASSERT_TRUE(store_.put(as_bytes(kText)).ok());
    EXPECT_EQ(files_with(kText), 0U);
    EXPECT_EQ(store_.get(root_).value(), Bytes(kText.begin(), kText.end()));
}

TEST_F(SealedStoreTest, AnAlteredFileIsAnErrorAndStoringAgainRepairsIt) {
    ASSERT_TRUE(store_.put(as_bytes(kText)).ok());
    Bytes bytes = read_file(store_.path_of(root_)).value();
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(write_file_atomic(store_.path_of(root_), bytes).ok());
    EXPECT_EQ(store_.get(root_).error().code, ErrorCode::kMismatch);
    ASSERT_TRUE(store_.put(as_bytes(kText)).ok());
    EXPECT_TRUE(store_.get(root_).ok());
}

TEST_F(SealedStoreTest, ErasesTheSealedFileAndOneInTheClear) {
    auto plain = blob::DirectoryStore::open(folder_).value();
    ASSERT_TRUE(store_.put(as_bytes(kText)).ok());
    ASSERT_TRUE(plain.put(as_bytes(kText)).ok());
    const auto listed = store_.list_idle(root_.data[0], std::chrono::milliseconds(0)).value();
    ASSERT_EQ(listed.size(), 1U) << "one blob of two files";
    EXPECT_EQ(listed[0].root, root_);
    EXPECT_EQ(listed[0].bytes, kText.size() + fs::file_size(store_.path_of(root_)));
    blob::StoredBlob before = listed[0];
    before.written_ns -= 1'000'000'000;
    ASSERT_TRUE(store_.hold(root_).value());
    EXPECT_FALSE(store_.erase(before).value());
    EXPECT_TRUE(store_.has(root_).value());
    const auto now = store_.list_idle(root_.data[0], std::chrono::milliseconds(0)).value();
    ASSERT_EQ(now.size(), 1U);
    EXPECT_TRUE(store_.erase(now[0]).value());
    EXPECT_FALSE(store_.has(root_).value());
    EXPECT_FALSE(store_.hold(root_).value());
    EXPECT_EQ(files_with(kText), 0U);
}

TEST_F(SealedStoreTest, TakesABlobOverInPieces) {
    blob::MemoryStore other;
    const Bytes content(2 * (std::size_t{1} << 20) + 5, 'x');
    const Digest root = other.put(content).value();
    ASSERT_TRUE(store_.adopt(root, *other.open_reader(root).value()).ok());
    EXPECT_EQ(store_.get(root).value(), content);
    EXPECT_EQ(files_with("xxxxxxxx"), 0U);
}

TEST_F(SealedStoreTest, LinksAFileThatIsSealedWithItsKeyAndSealsAnotherKeysAgain) {
    const Bytes content(100, 'x');
    const Digest root = blob::blob_root(content);
    for (const bool own : {true, false}) {
        const StoreKey key = own ? key_.clone() : StoreKey::random();
        const fs::path file = dir_.path() / "upload";
        auto writer = SealWriter::create(file, key, root, content.size()).value();
        ASSERT_TRUE(writer.append(content).ok() && writer.finish().ok());
        const auto reader = open_sealed(file, key, root).value();
        ASSERT_TRUE(store_.adopt(root, *reader).ok());
        EXPECT_EQ(store_.get(root).value(), content) << own;
        EXPECT_EQ(fs::equivalent(file, store_.path_of(root)), own);
        ASSERT_TRUE(store_.adopt(root, *reader).ok()) << "again";
        fs::remove(file);
        EXPECT_EQ(store_.get(root).value(), content) << own;
        ASSERT_TRUE(store_.remove(root).ok());
        EXPECT_EQ(store_.adopt(root, *reader).ok(), true) << "what is open is what counts";
        EXPECT_EQ(store_.get(root).value(), content) << own;
    }
}

TEST_F(SealedStoreTest, ASealedFileIsTakenOverOnlyIfItsContentHasTheRoot) {
    const fs::path file = dir_.path() / "part";
    const Bytes wrong(10, 'y');
    {
        auto writer = SealWriter::create(file, key_, root_, wrong.size()).value();
        ASSERT_TRUE(writer.append(wrong).ok() && writer.finish().ok());
    }
    EXPECT_EQ(store_.adopt_sealed(root_, file).error().code, ErrorCode::kMismatch);
    EXPECT_FALSE(store_.has(root_).value());
    {
        auto writer = SealWriter::create(file, key_, root_, kText.size()).value();
        ASSERT_TRUE(writer.append(as_bytes(kText)).ok() && writer.finish().ok());
    }
    EXPECT_EQ(store_.adopt_sealed(root_, file)->root(), root_);
    EXPECT_TRUE(store_.get(root_).ok());
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(SealedStoreTest, ANetworksStoreHasItsKeyBesideItAndDoesNotReplaceALostOne) {
    const fs::path folder = dir_.path() / "network";
    {
        auto first = SealedStore::open(folder, fs::path()).value();
        auto second = SealedStore::open(folder, fs::path()).value();
        ASSERT_TRUE(first.put(as_bytes(kText)).ok());
        EXPECT_TRUE(second.get(root_).ok()) << "coordinator and gym-api share it";
    }
    fs::remove(folder.string() + ".key");
    const auto lost = SealedStore::open(folder, fs::path());
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, ErrorCode::kNotFound);
    EXPECT_NE(lost.error().message.find("put it back"), std::string::npos);
}

}  // namespace
}  // namespace gym::vault
