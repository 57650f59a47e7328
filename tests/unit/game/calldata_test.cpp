#include "gym/game/calldata.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gym/chain/abi.hpp"
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
    const move::DeclareOuter declare{sample_outer_facts(),     {1, 2},       filled(59),
                                     {filled(60), filled(61)}, {0, 1, 0, 2}, 1};
    EXPECT_EQ(hash_of_call(declare),
              "0x5d68a2127a5088cde2ef72545faa667f0001a43102016001e543558afb550492");
    EXPECT_EQ(hash_of_call(move::PickElement{sample_op(), sample_outer(), 99, {13}}),
              "0x856c9807e491f2be327e98a8154fb9827e51f86886178764242f6321e81ccfbf");
    const move::ProveColumn column{
        sample_op(),
        sample_outer(),
        {10, 11},
        {12},
        9,
        {70, {1, 2}, {filled(71)}},
        {{{{14, 15}, {filled(60)}}}, filled(61), {filled(62), filled(63)}}};
    EXPECT_EQ(hash_of_call(column),
              "0xaeaaaf347684d4810424e91647390963ba045e9097937138d94c79d981564cc3");
    const move::ShowWithheld shown{
        sample_request(), {10, 11}, {12}, {filled(60), filled(61)}, {filled(62)}};
    EXPECT_EQ(hash_of_call(shown),
              "0x2076ad6769c0027d2bec7a88b133e3a0df1591a8e71bdc969c1e6dcbbcb85f03");
}

TEST(Calldata, OfEveryMoveIsReadBack) {
    Rng rng(gym::testing::random_seed());
    for (std::size_t i = 0; i < 20 * std::variant_size_v<Move>; ++i) {
        SentMove sent{random_digest(rng), {}, random_move(rng, i % std::variant_size_v<Move>)};
        randomise(rng, sent.cursor);
        const Bytes call = encode_call(sent);
        const auto read = read_call(call);
        ASSERT_TRUE(read.ok()) << name_of(sent.move) << ": " << read.error().message;
        EXPECT_EQ(read->game, sent.game);
        EXPECT_EQ(read->cursor, sent.cursor);
        EXPECT_EQ(read->move.index(), sent.move.index());
        EXPECT_EQ(encode_call(*read), call) << name_of(sent.move);
    }
}

TEST(Calldata, OfNoMoveOrNoStageIsRefused) {
    Rng rng(gym::testing::random_seed());
    EXPECT_EQ(read_call({}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(read_call(Bytes{1, 2, 3, 4}).error().code, ErrorCode::kNotFound);
    for (std::size_t i = 0; i < std::variant_size_v<Move>; ++i) {
        const Bytes call = encode_call({random_digest(rng), sample_cursor(), random_move(rng, i)});
        for (const std::uint8_t stage : {0, 17, 255}) {
            Bytes other = call;
            other[4 + 32 + 31] = stage;  // the first word of the cursor
            EXPECT_EQ(read_call(other).error().code, ErrorCode::kMalformed);
        }
    }
}

/// An opponent has no reason to write calls as we do.
TEST(Calldata, IsReadAsTheContractsReadIt) {
    Rng rng(gym::testing::random_seed());
    for (std::size_t i = 0; i < 4 * std::variant_size_v<Move>; ++i) {
        const SentMove sent{random_digest(rng), sample_cursor(),
                            random_move(rng, i % std::variant_size_v<Move>)};
        const Bytes call = encode_call(sent);
        Bytes longer = call;
        longer.insert(longer.end(), {1, 2, 3});
        const auto read = read_call(longer);
        ASSERT_TRUE(read.ok()) << name_of(sent.move) << ": " << read.error().message;
        EXPECT_EQ(encode_call(*read), call) << name_of(sent.move);
    }
    EXPECT_EQ(read_call(Bytes{1, 2, 3, 4}).error().code, ErrorCode::kNotFound);
}

constexpr std::size_t kSelector = 4, kWordBytes = 32;

/// Word number `at` behind the selector.
void set_word(Bytes& call, std::size_t at, const Digest& word) {
    std::ranges::copy(word.data, call.begin() + static_cast<long>(kSelector + at * kWordBytes));
}
Digest number(std::uint8_t value) {
    Digest word;
    word.data[31] = value;
    return word;
}

TEST(Calldata, OffsetsMayLeadAnywhere) {
    // pick(game, cursor, to): the path first, then `to`, whose offsets go back and far out.
    const move::PickNode pick{{7, filled(1), {filled(2)}, {}, {}}};
    const Bytes call = encode_call({filled(50), sample_cursor(), Move(pick)});
    Bytes other(call.begin(), call.begin() + kSelector + 9 * kWordBytes);
    other.resize(kSelector + 18 * kWordBytes);
    Digest back = filled(0xFF);
    back.data[31] = 0xC0;  // two words before
    Digest twelve_words = number(0x80);
    twelve_words.data[30] = 1;
    set_word(other, 9, twelve_words);  // where `to` is, from the first argument on
    set_word(other, 10, number(1));
    set_word(other, 11, filled(2));
    set_word(other, 12, number(7));
    set_word(other, 13, filled(1));
    set_word(other, 14, back);
    set_word(other, 16, filled(0x7F));
    const auto read = read_call(other);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(encode_call(*read), call);
}

TEST(Calldata, PartsThatAreSharedDoNotMultiply) {
    const auto type = chain::AbiType::parse("bytes[]");
    ASSERT_TRUE(type.ok());
    constexpr std::size_t kParts = 200;
    Bytes call(kSelector + (2 + kParts) * kWordBytes + 100 * kParts);
    set_word(call, 0, number(32));
    set_word(call, 1, number(kParts));
    for (std::size_t i = 0; i < kParts; ++i)
        set_word(call, 2 + i, number(0));  // each begins at the list of offsets: 0 bytes
    EXPECT_TRUE(chain::abi_read_calldata({*type}, call).ok());
    Digest end;
    end.data[30] = (kParts * kWordBytes) >> 8;
    end.data[31] = (kParts * kWordBytes) & 0xFF;
    for (std::size_t i = 0; i < kParts; ++i)
        set_word(call, 2 + i, end);
    Digest size;
    size.data[30] = 100 * (kParts - 1) >> 8;
    size.data[31] = (100 * (kParts - 1)) & 0xFF;
    set_word(call, 2 + kParts, size);
    EXPECT_EQ(chain::abi_read_calldata({*type}, call).error().code, ErrorCode::kMalformed);
}

TEST(Calldata, ShapesHaveOneWord) {
    const SentMove sent{filled(50), sample_cursor(), move::PostChunk{sample_op(), {1}}};
    const Bytes call = encode_call(sent);
    // The last word of the frame, before the chunk's offset.
    const std::size_t at = 4 + 32 + 8 * 32 + 9 * 32;
    const auto code_with = [&](std::size_t byte, std::uint8_t value) {
        Bytes other = call;
        other[at + byte] = value;
        const auto read = read_call(other);
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
