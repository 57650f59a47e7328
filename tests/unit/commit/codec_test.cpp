#include "gym/commit/codec.hpp"

#include <gtest/gtest.h>

namespace gym::commit {
namespace {

TEST(Codec, WritesBigEndianAndReadsItBack) {
    Encoder out;
    out.u8(1).u16(0x0203).u32(0x04050607).u64(0x08090a0b0c0d0e0f).i64(-2).boolean(true);
    EXPECT_EQ(to_hex(out.view()), "0102030405060708090a0b0c0d0e0ffffffffffffffffe01");
    Decoder in(out.view());
    EXPECT_EQ(in.u8().value(), 1);
    EXPECT_EQ(in.u16().value(), 0x0203);
    EXPECT_EQ(in.u32().value(), 0x04050607u);
    EXPECT_EQ(in.u64().value(), 0x08090a0b0c0d0e0fu);
    EXPECT_EQ(in.i64().value(), -2);
    EXPECT_TRUE(in.boolean().value());
    EXPECT_TRUE(in.expect_end().ok());
}

TEST(Codec, LengthPrefixedPartsRoundTrip) {
    Digest digest;
    digest.data.fill(0xab);
    Encoder out;
    out.string("loss").bytes(Bytes{1, 2, 3}).fixed(digest).u32(2);
    EXPECT_EQ(to_hex(out.view()).substr(0, 16), "000000046c6f7373");
    Decoder in(out.view());
    EXPECT_EQ(in.string(16).value(), "loss");
    EXPECT_EQ(to_hex(in.bytes(3).value()), "010203");
    EXPECT_EQ(in.digest().value(), digest);
    EXPECT_EQ(in.count(2).value(), 2u);
    EXPECT_TRUE(in.expect_end().ok());
}

TEST(Codec, EveryTruncationIsAnErrorThatNamesTheOffset) {
    const Bytes whole = Encoder().u32(7).string("abc").u64(9).take();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        Decoder in(ByteView(whole).first(size));
        const bool complete = in.u32().ok() && in.string(8).ok() && in.u64().ok();
        EXPECT_FALSE(complete) << size;
    }
    Decoder in(ByteView(whole).first(2));
    const Error error = in.u32().error();
    EXPECT_EQ(error.code, ErrorCode::kMalformed);
    EXPECT_NE(error.message.find("at byte 0"), std::string::npos);
}

TEST(Codec, RejectsTrailingBytesOverlongPartsCountsAndOddBooleans) {
    const Bytes one{1, 2};
    Decoder trailing(one);
    ASSERT_TRUE(trailing.u8().ok());
    EXPECT_EQ(trailing.expect_end().error().code, ErrorCode::kMalformed);
    const Bytes part = Encoder().bytes(Bytes(9)).take();
    EXPECT_EQ(Decoder(part).bytes(8).error().code, ErrorCode::kMalformed);
    EXPECT_TRUE(Decoder(part).bytes(9).ok());
    EXPECT_EQ(Decoder(part).count(8).error().code, ErrorCode::kMalformed);
    const Bytes two{2};
    EXPECT_EQ(Decoder(two).boolean().error().code, ErrorCode::kMalformed);
}

TEST(Codec, AHugeDeclaredLengthNeverReadsPastTheEnd) {
    const Bytes hostile{0xff, 0xff, 0xff, 0xff, 1, 2, 3};
    EXPECT_EQ(Decoder(hostile).bytes(0xffffffff).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(Decoder(hostile).string(0xffffffff).error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::commit
