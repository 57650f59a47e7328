#include "gym/game/calldata.hpp"

#include <gtest/gtest.h>

#include "gym/crypto/keccak.hpp"
#include "move_samples.hpp"
#include "random_seed.hpp"

namespace gym::game {
namespace {

using namespace testing;  // NOLINT: samples

std::string hash_of_call(const Move& move) {
    return crypto::keccak256(encode_call({filled(50), sample_cursor(), move})).hex();
}

// Made by `cast calldata` and `cast keccak`.
TEST(Calldata, IsWhatTheContractsTake) {
    move::PickStep pick_step{sample_facts(), {filled(51), sample_pick(), {}}};
    EXPECT_EQ(hash_of_call(pick_step),
              "0x59a05a6ffcc7a0adadcd703382c68b58c29533aea6ce104204e7a976c7d819e5");
    EXPECT_EQ(hash_of_call(move::PostChunk{sample_op(), {1, 2, 3}}),
              "0xe60036e4f119b82e4f3c3e13bba045ab132f065a6e1457706f58b392b7ba2865");
    move::ProveElement element{sample_op(), sample_step(), {10, 11}, {12}, 99, {13}, {}};
    element.operands = {{{{{14, 15}, {filled(60)}}}, filled(61), {filled(62), filled(63)}}, {}};
    EXPECT_EQ(hash_of_call(element),
              "0xfd6910b2e5d4fbb4a06fcabb9d43dce3f093bf609eabac73fa8d4880203a590a");
    const move::PickLeaf leaf{sample_step(), {10, 11}, sample_pick(), {70, {1, 2}, {filled(71)}}};
    EXPECT_EQ(hash_of_call(leaf),
              "0x26b0bda854e24ffedcdb4431f50a894da7e7b9923632c1ffb3192f02a379e7ce");
}

TEST(Calldata, OfEveryMoveIsReadBack) {
    Rng rng(gym::testing::random_seed());
    for (std::size_t i = 0; i < 20 * std::variant_size_v<Move>; ++i) {
        SentMove sent{random_digest(rng), {}, random_move(rng, i % std::variant_size_v<Move>)};
        randomise(rng, sent.cursor);
        const Bytes call = encode_call(sent);
        const auto read = decode_call(call);
        ASSERT_TRUE(read.ok()) << name_of(sent.move) << ": " << read.error().message;
        EXPECT_EQ(read->game, sent.game);
        EXPECT_EQ(read->cursor, sent.cursor);
        EXPECT_EQ(read->move.index(), sent.move.index());
        EXPECT_EQ(encode_call(*read), call) << name_of(sent.move);
    }
}

TEST(Calldata, IsReadStrictly) {
    Rng rng(gym::testing::random_seed());
    EXPECT_EQ(decode_call({}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(decode_call(Bytes{1, 2, 3, 4}).error().code, ErrorCode::kNotFound);
    for (std::size_t i = 0; i < std::variant_size_v<Move>; ++i) {
        const Bytes call = encode_call({random_digest(rng), sample_cursor(), random_move(rng, i)});
        Bytes other = call;
        other.push_back(0);
        EXPECT_EQ(decode_call(other).error().code, ErrorCode::kMalformed);
        other = call;
        other.pop_back();
        EXPECT_EQ(decode_call(other).error().code, ErrorCode::kMalformed);
        for (const std::uint8_t stage : {0, 11, 255}) {
            other = call;
            other[4 + 32 + 31] = stage;  // the first word of the cursor
            EXPECT_EQ(decode_call(other).error().code, ErrorCode::kMalformed);
        }
    }
}

TEST(Calldata, ShapesHaveOneWord) {
    const SentMove sent{filled(50), sample_cursor(), move::PostChunk{sample_op(), {1}}};
    const Bytes call = encode_call(sent);
    // The last word of the frame, before the chunk's offset.
    const std::size_t at = 4 + 32 + 8 * 32 + 9 * 32;
    const auto code_with = [&](std::size_t byte, std::uint8_t value) {
        Bytes other = call;
        other[at + byte] = value;
        const auto read = decode_call(other);
        return read.ok() ? std::optional<ErrorCode>() : read.error().code;
    };
    EXPECT_FALSE(code_with(10, 2).has_value());             // i32
    EXPECT_EQ(code_with(10, 0), ErrorCode::kMalformed);     // no dtype
    EXPECT_EQ(code_with(10, 8), ErrorCode::kMalformed);     // no dtype
    EXPECT_EQ(code_with(11, 0), ErrorCode::kMalformed);     // no rank
    EXPECT_EQ(code_with(11, 2), ErrorCode::kMalformed);     // a dim behind the rank
    EXPECT_EQ(code_with(11, 4), ErrorCode::kMalformed);     // a dim of 0
    EXPECT_EQ(code_with(31, 1), ErrorCode::kMalformed);     // a dim behind the rank
    EXPECT_EQ(code_with(0, 1), ErrorCode::kMalformed);      // more than a shape has
    EXPECT_EQ(code_with(12, 0x80), ErrorCode::kMalformed);  // too many elements
}

}  // namespace
}  // namespace gym::game
