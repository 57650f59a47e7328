#include "gym/crypto/keccak.hpp"

#include <gtest/gtest.h>

#include "ethereum_vectors.hpp"

namespace gym::crypto {
namespace {

TEST(Keccak, AgreesWithCast) {
    for (const auto& vector : testing::ethereum_vectors().at("keccak").as_array()) {
        const Bytes input = testing::bytes_at(vector, "input");
        EXPECT_EQ(keccak256(input).hex(), testing::text_at(vector, "hash"));
    }
}

TEST(Keccak, PartsHashAsTheirConcatenation) {
    const Bytes whole{1, 2, 3, 4, 5};
    const ByteView view(whole);
    EXPECT_EQ(keccak256({view.first(2), ByteView(), view.subspan(2)}), keccak256(whole));
    EXPECT_NE(keccak256({view.first(2)}), keccak256(whole));
}

TEST(Keccak, TextIsItsBytes) {
    EXPECT_EQ(keccak256_text("Transfer(address,address,uint256)").hex(),
              "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
}

}  // namespace
}  // namespace gym::crypto
