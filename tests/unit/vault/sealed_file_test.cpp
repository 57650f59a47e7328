// Sealed files: what they hold, what an altered one is, and how a writer continues.
#include "gym/vault/sealed_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gym/common/file.hpp"
#include "random_seed.hpp"
#include "temporary_folder.hpp"

namespace gym::vault {
namespace {

class SealedFile : public ::testing::Test {
  protected:
    static Bytes text(std::size_t size) {
        Bytes out(size);
        for (std::size_t i = 0; i < size; ++i)
            out[i] = static_cast<std::uint8_t>('a' + i % 23);
        return out;
    }
    void seal(const Bytes& content) {
        root_ = blob::blob_root(content);
        auto writer = SealWriter::create(path_, key_, root_, content.size());
        ASSERT_TRUE(writer.ok() && writer->append(content).ok() && writer->finish().ok());
    }
    /// A blob of `size` bytes of which `received` have arrived.
    Bytes begin(std::size_t size, std::size_t received) {
        Bytes content = text(size);
        root_ = blob::blob_root(content);
        auto writer = SealWriter::create(path_, key_, root_, size).value();
        EXPECT_TRUE(writer.append(ByteView(content).first(received)).ok() && writer.flush().ok());
        return content;
    }
    Result<Bytes> open(const StoreKey& key) const {
        GYM_TRY(const auto reader, open_sealed(path_, key, root_));
        Bytes out(reader->size());
        GYM_CHECK(reader->read(0, out));
        return out;
    }
    Bytes file() const { return read_file(path_).value(); }
    void put(const Bytes& bytes) { ASSERT_TRUE(write_file_atomic(path_, bytes).ok()); }

    testing::TemporaryFolder dir_;
    const std::filesystem::path path_ = dir_.path() / "file";
    const StoreKey key_ = StoreKey::random();
    Digest root_;
};

TEST_F(SealedFile, GivesBackWhatWasSealedAndShowsNothingOfIt) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{100}, kPieceBytes - 1, kPieceBytes,
          kPieceBytes + 1, 3 * kPieceBytes + 77}) {
        const Bytes content = text(size);
        seal(content);
        EXPECT_EQ(open(key_).value(), content) << size;
        const Bytes stored = file();
        EXPECT_EQ(stored.size(), sealed_size(size));
        const std::string_view word = "abcdefgh";
        EXPECT_EQ(std::ranges::search(stored, word).begin(), stored.end()) << size;
    }
}

TEST_F(SealedFile, TheSameBlobIsSealedDifferentlyEachTime) {
    seal(text(1'000));
    const Bytes first = file();
    seal(text(1'000));
    const Bytes second = file();
    EXPECT_NE(Bytes(first.begin() + 64, first.end()), Bytes(second.begin() + 64, second.end()));
}

TEST_F(SealedFile, AnyPartCanBeRead) {
    const Bytes content = text(3 * kPieceBytes + 77);
    seal(content);
    const auto reader = open_sealed(path_, key_, root_).value();
    std::mt19937_64 random(testing::random_seed());
    for (int i = 0; i < 50; ++i) {
        const std::size_t at = random() % content.size();
        Bytes part(random() % (content.size() - at + 1));
        ASSERT_TRUE(reader->read(at, part).ok());
        EXPECT_TRUE(std::ranges::equal(part, ByteView(content).subspan(at, part.size()))) << at;
    }
}

TEST_F(SealedFile, EveryFlippedBitIsFound) {
    seal(text(300));
    const Bytes good = file();
    for (std::size_t i = 0; i < good.size(); ++i) {
        Bytes bad = good;
        bad[i] ^= 1;
        put(bad);
        const auto opened = open(key_);
        ASSERT_FALSE(opened.ok()) << i;
        EXPECT_EQ(opened.error().code, ErrorCode::kMismatch) << i;
        EXPECT_NE(opened.error().message.find(path_.string()), std::string::npos);
    }
    put(good);
    EXPECT_TRUE(open(key_).ok());
}

TEST_F(SealedFile, PiecesCannotBeMovedLeftOutOrTakenFromAnotherFile) {
    seal(text(3 * kPieceBytes));
    const Bytes good = file();
    const auto piece = [&](std::size_t i) {
        return good.begin() +
               static_cast<std::ptrdiff_t>(kSealHeaderBytes + i * (kPieceBytes + kSealRecordExtra));
    };
    Bytes swapped(good.begin(), piece(0));
    for (const std::size_t i : {1U, 0U, 2U})
        swapped.insert(swapped.end(), piece(i), piece(i + 1));
    put(swapped);
    EXPECT_EQ(open(key_).error().code, ErrorCode::kMismatch);
    put(Bytes(good.begin(), piece(2)));
    EXPECT_EQ(open(key_).error().code, ErrorCode::kMismatch) << "cut behind a piece";
    Bytes longer = good;
    longer.push_back(0);
    put(longer);
    EXPECT_EQ(open(key_).error().code, ErrorCode::kMismatch);
    seal(text(3 * kPieceBytes));  // the same blob and key, another file
    Bytes mixed = file();
    std::copy(piece(1), piece(2), mixed.begin() + (piece(1) - good.begin()));
    put(mixed);
    EXPECT_EQ(open(key_).error().code, ErrorCode::kMismatch);
}

TEST_F(SealedFile, AnotherKeyOrAnotherRootOpensNothing) {
    seal(text(100));
    const auto opened = open(StoreKey::random());
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("another key"), std::string::npos);
    root_.data[0] ^= 1;
    EXPECT_EQ(open(key_).error().code, ErrorCode::kMismatch) << "stored under another name";
}

TEST_F(SealedFile, AWriterContinuesWhereAnotherStopped) {
    const Bytes content = text(2 * kPieceBytes + 500);
    root_ = blob::blob_root(content);
    ASSERT_TRUE(SealWriter::create(path_, key_, root_, content.size()).ok());
    std::size_t at = 0;
    // Within pieces, at their ends, and nothing at all.
    for (const std::size_t part : {std::size_t{10}, kPieceBytes - 10, std::size_t{0},
                                   std::size_t{5}, kPieceBytes, std::size_t{495}}) {
        auto writer = SealWriter::resume(path_, key_, root_);
        ASSERT_TRUE(writer.ok()) << writer.error().message;
        EXPECT_EQ(writer->received_bytes(), at);
        EXPECT_EQ(writer->size_bytes(), content.size());
        ASSERT_TRUE(writer->append(ByteView(content).subspan(at, part)).ok());
        ASSERT_TRUE(writer->flush().ok());
        at += part;
    }
    EXPECT_EQ(SealWriter::resume(path_, key_, root_)->append(Bytes{1}).error().code,
              ErrorCode::kOutOfRange);
    ASSERT_TRUE(SealWriter::resume(path_, key_, root_)->finish().ok());
    EXPECT_EQ(open(key_).value(), content);
}

TEST_F(SealedFile, AnIncompleteFileIsNoBlob) {
    begin(kPieceBytes + 500, kPieceBytes + 100);
    EXPECT_EQ(open(key_).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(received_bytes(path_, key_, root_).value(), kPieceBytes + 100);
    EXPECT_EQ(SealWriter::resume(path_, key_, root_)->finish().error().code, ErrorCode::kMismatch);
    put(Bytes(100, 0xee));
    EXPECT_EQ(SealWriter::resume(path_, key_, root_).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(received_bytes(path_, key_, root_).error().code, ErrorCode::kMismatch);
    std::filesystem::remove(path_);
    EXPECT_EQ(SealWriter::resume(path_, key_, root_).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(received_bytes(path_, key_, root_).error().code, ErrorCode::kNotFound);
}

TEST_F(SealedFile, ATornEndIsLeftOutAndComesAgain) {
    const Bytes content = begin(3 * kPieceBytes, 2 * kPieceBytes + 100);
    const Bytes whole = file();
    struct Torn {
        std::size_t cut;       ///< bytes missing at the end
        std::size_t flipped;   ///< byte altered, counted from the end; 0: none
        std::uint64_t pieces;  ///< that are left
    };
    const std::size_t tail = 100 + kSealRecordExtra;
    for (const Torn& torn : {Torn{1, 0, 2}, Torn{tail - 1, 0, 2}, Torn{tail, 0, 2}, Torn{0, 5, 2},
                             Torn{tail, 9, 1}, Torn{tail + 1, 0, 1}}) {
        Bytes bad(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(torn.cut));
        if (torn.flipped != 0) bad[bad.size() - torn.flipped] ^= 1;
        put(bad);
        EXPECT_EQ(received_bytes(path_, key_, root_).value(), torn.pieces * kPieceBytes);
        EXPECT_EQ(file(), bad) << "to look alters nothing";
        auto writer = SealWriter::resume(path_, key_, root_).value();
        ASSERT_EQ(writer.received_bytes(), torn.pieces * kPieceBytes) << torn.cut;
        ASSERT_TRUE(writer.append(ByteView(content).subspan(writer.received_bytes())).ok());
        ASSERT_TRUE(writer.finish().ok());
        EXPECT_EQ(open(key_).value(), content);
    }
}

TEST_F(SealedFile, WhatNoCrashDoesIsFoundInAnIncompleteFile) {
    begin(4 * kPieceBytes, 3 * kPieceBytes);
    const Bytes good = file();
    const auto piece = [&](std::size_t i) {
        return static_cast<std::ptrdiff_t>(kSealHeaderBytes + i * (kPieceBytes + kSealRecordExtra));
    };
    Bytes swapped(good.begin(), good.begin() + piece(1));
    swapped.insert(swapped.end(), good.begin() + piece(2), good.end());
    swapped.insert(swapped.end(), good.begin() + piece(1), good.begin() + piece(2));
    put(swapped);
    EXPECT_EQ(SealWriter::resume(path_, key_, root_).error().code, ErrorCode::kMismatch);
    put(good);
    Digest other = root_;
    other.data[0] ^= 1;
    EXPECT_EQ(SealWriter::resume(path_, key_, other).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(SealWriter::resume(path_, StoreKey::random(), root_).error().code,
              ErrorCode::kMismatch);
    EXPECT_EQ(file(), good) << "a refusal alters nothing";
    Bytes longer = good;
    longer.resize(sealed_size(4 * kPieceBytes) + 1);
    put(longer);
    EXPECT_EQ(SealWriter::resume(path_, key_, root_).error().code, ErrorCode::kMismatch);
}

TEST_F(SealedFile, AReadersFileIsLinkedForItsKeyAndRootAlone) {
    seal(text(100));
    const auto reader = open_sealed(path_, key_, root_).value();
    const auto name = dir_.path() / "link";
    EXPECT_FALSE(link_sealed(*reader, StoreKey::random(), root_, name));
    EXPECT_FALSE(link_sealed(*reader, key_, Digest{}, name));
    blob::MemoryStore memory;
    const Digest stored = memory.put(text(100)).value();
    EXPECT_FALSE(link_sealed(*memory.open_reader(stored).value(), key_, stored, name));
    EXPECT_FALSE(std::filesystem::exists(name));
    EXPECT_TRUE(link_sealed(*reader, key_, root_, name));
    EXPECT_TRUE(std::filesystem::equivalent(path_, name));
}

TEST_F(SealedFile, AKeyFileIsMadeOnceAndForItsOwnerAlone) {
    const auto place = dir_.path() / "blobs.key";
    EXPECT_EQ(StoreKey::load(place).error().code, ErrorCode::kNotFound);
    const auto made = StoreKey::load_or_create(place);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(StoreKey::load_or_create(place)->id(), made->id());
    EXPECT_EQ(std::filesystem::status(place).permissions() & std::filesystem::perms::all,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::permissions(place, std::filesystem::perms::group_read,
                                 std::filesystem::perm_options::add);
    EXPECT_EQ(StoreKey::load(place).error().code, ErrorCode::kPermissionDenied);
    ASSERT_TRUE(write_file_atomic(place, as_bytes("too short\n"), 0600).ok());
    EXPECT_EQ(StoreKey::load(place).error().code, ErrorCode::kMalformed);
}

TEST_F(SealedFile, ANodesKeyFollowsFromItsSigningKey) {
    const auto one = crypto::PrivateKey::generate(), other = crypto::PrivateKey::generate();
    EXPECT_EQ(StoreKey::of(one).id(), StoreKey::of(one).id());
    EXPECT_NE(StoreKey::of(one).id(), StoreKey::of(other).id());
}

}  // namespace
}  // namespace gym::vault
