#include "gym/chain/rlp.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ethereum_vectors.hpp"
#include "random_seed.hpp"
#include "rlp_decoder.hpp"

namespace gym::chain {
namespace {

using testing::rlp_decode;
using testing::to_amount;
using testing::to_u64;

RlpItem item_from(const boost::json::value& value) {
    if (value.is_string())
        return RlpItem::string(from_hex(std::string_view(value.as_string())).value());
    std::vector<RlpItem> items;
    for (const auto& child : value.as_array())
        items.push_back(item_from(child));
    return RlpItem::list(std::move(items));
}

TEST(Rlp, AgreesWithCastBothWays) {
    for (const auto& vector : testing::ethereum_vectors().at("rlp").as_array()) {
        const RlpItem item = item_from(vector.as_object().at("item"));
        EXPECT_EQ(to_hex0x(rlp_encode(item)), testing::text_at(vector, "encoded"));
        EXPECT_EQ(rlp_decode(testing::bytes_at(vector, "encoded")).value(), item);
    }
}

TEST(Rlp, NumbersHaveNoLeadingZeros) {
    EXPECT_EQ(rlp_encode(RlpItem::number(std::uint64_t{0})), (Bytes{0x80}));
    EXPECT_EQ(rlp_encode(RlpItem::number(std::uint64_t{0x7f})), (Bytes{0x7f}));
    EXPECT_EQ(rlp_encode(RlpItem::number(std::uint64_t{0x0400})), (Bytes{0x82, 0x04, 0x00}));
    EXPECT_EQ(RlpItem::number(Amount(0x0400)), RlpItem::number(std::uint64_t{0x0400}));
    EXPECT_EQ(to_u64(RlpItem::number(UINT64_MAX)).value(), UINT64_MAX);
    EXPECT_FALSE(to_u64(RlpItem::string(Bytes{0, 1})).ok());
    EXPECT_FALSE(to_u64(RlpItem::string(Bytes(9, 1))).ok());
    EXPECT_FALSE(to_amount(RlpItem::string(Bytes(33, 1))).ok());
    EXPECT_FALSE(to_amount(RlpItem::string(Bytes{0})).ok());
}

TEST(Rlp, RefusesEveryFormButTheShortest) {
    const Bytes refused[] = {
        {},                  // nothing
        {0x81, 0x05},        // a single byte with a length
        {0xb8, 0x01, 0x80},  // a short length in the long form
        {0xb9, 0x00, 0x38},  // a length with a leading zero
        {0x83, 0x01, 0x02},  // ends early
        {0xc2, 0x01},        // a list that ends early
        {0xb8},              // a length that ends early
        {0x01, 0x02},        // something follows
        {0xc1, 0x82},        // an item that is longer than its list
        {0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},  // a length near 2^64
    };
    for (const Bytes& bytes : refused)
        EXPECT_EQ(rlp_decode(bytes).error().code, ErrorCode::kMalformed) << to_hex(bytes);
}

TEST(Rlp, RefusesDeepNesting) {
    RlpItem item = RlpItem::list({});
    for (unsigned i = 0; i < testing::kRlpDepthMax; ++i)
        item = RlpItem::list({item});
    EXPECT_TRUE(rlp_decode(rlp_encode(item)).ok());
    EXPECT_FALSE(rlp_decode(rlp_encode(RlpItem::list({item}))).ok());
}

TEST(Rlp, WhatDecodesEncodesToTheSameBytes) {
    std::mt19937_64 random(testing::random_seed());
    std::size_t decoded = 0;
    for (std::uint64_t i = 0; i < 20'000 * testing::test_scale(); ++i) {
        Bytes bytes(1 + random() % 12);
        for (auto& byte : bytes)  // mostly headers, so that a good part of the cases decodes
            byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0x7e + random() % 0x48);
        const auto item = rlp_decode(bytes);
        if (!item.ok()) continue;
        ++decoded;
        EXPECT_EQ(rlp_encode(*item), bytes);
    }
    EXPECT_GT(decoded, 100U);
}

}  // namespace
}  // namespace gym::chain
