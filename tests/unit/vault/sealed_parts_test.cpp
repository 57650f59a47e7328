#include "gym/vault/sealed_parts.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "gym/blob/verified_blob.hpp"
#include "temporary_folder.hpp"

namespace gym::vault {
namespace {

class SealedPartsTest : public ::testing::Test {
  protected:
    SealedParts open() { return SealedParts::open(path_, key_, root_, content_.size()).value(); }
    [[nodiscard]] ByteView part(std::size_t i) const {
        const std::size_t at = i * kPieceBytes;
        return ByteView(content_).subspan(at, std::min(kPieceBytes, content_.size() - at));
    }
    bool is_there(const SealedParts& parts, std::size_t i) {
        Bytes out(part(i).size());
        const bool there = parts.read(i * kPieceBytes, out).value();
        EXPECT_TRUE(!there || std::ranges::equal(out, part(i)));
        return there;
    }
    static Bytes make_content(std::size_t size) {
        Bytes out(size);
        for (std::size_t i = 0; i < size; ++i)
            out[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
        return out;
    }

    testing::TemporaryFolder dir_;
    const std::filesystem::path path_ = dir_.path() / "parts";
    const StoreKey key_ = StoreKey::random();
    Bytes content_ = make_content(3 * kPieceBytes + 100);
    Digest root_ = blob::blob_root(content_);
};

TEST_F(SealedPartsTest, PartsInAnyOrderMakeASealedFile) {
    SealedParts parts = open();
    for (const std::size_t i : {3, 0, 2, 1}) {
        EXPECT_FALSE(is_there(parts, i));
        ASSERT_TRUE(parts.write(i * kPieceBytes, part(i)).ok());
        EXPECT_TRUE(is_there(parts, i));
    }
    ASSERT_TRUE(parts.finish().ok());
    const auto reader = open_sealed(path_, key_, root_).value();
    Bytes out(reader->size());
    ASSERT_TRUE(reader->read(0, out).ok());
    EXPECT_EQ(out, content_);
}

TEST_F(SealedPartsTest, ContinuesWithWhatWasWritten) {
    { ASSERT_TRUE(open().write(2 * kPieceBytes, part(2)).ok()); }
    const SealedParts parts = open();
    EXPECT_FALSE(is_there(parts, 0));
    EXPECT_TRUE(is_there(parts, 2));
    EXPECT_FALSE(is_there(parts, 3));
}

TEST_F(SealedPartsTest, ATornOrAlteredPartIsAbsent) {
    { ASSERT_TRUE(open().write(0, ByteView(content_).first(2 * kPieceBytes)).ok()); }
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(kSealHeaderBytes + 1'000);
        file.write("\0\0\0\0\0\0\0\0", 8);
    }
    const SealedParts parts = open();
    EXPECT_FALSE(is_there(parts, 0));
    EXPECT_TRUE(is_there(parts, 1));
}

TEST_F(SealedPartsTest, AnotherKeysOrSizesFileIsBegunAnew) {
    { ASSERT_TRUE(open().write(0, part(0)).ok()); }
    {
        const SealedParts other =
            SealedParts::open(path_, StoreKey::random(), root_, content_.size()).value();
        EXPECT_FALSE(is_there(other, 0));
    }
    ASSERT_TRUE(open().write(0, part(0)).ok());
    const SealedParts longer =
        SealedParts::open(path_, key_, root_, content_.size() + kPieceBytes).value();
    EXPECT_FALSE(is_there(longer, 0));
    std::ofstream(path_, std::ios::trunc) << "<html>";
    EXPECT_FALSE(is_there(open(), 0));
}

TEST_F(SealedPartsTest, ABlobOfNoBytes) {
    content_.clear();
    root_ = blob::blob_root({});
    ASSERT_TRUE(open().finish().ok());
    EXPECT_EQ(open_sealed(path_, key_, root_).value()->size(), 0U);
}

}  // namespace
}  // namespace gym::vault
