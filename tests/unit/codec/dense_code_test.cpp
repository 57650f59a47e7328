#include "gym/codec/dense_code.hpp"

#include <functional>

#include "codec_cases.hpp"
#include "random_seed.hpp"

namespace gym::codec {
namespace {

using ::testing::HasSubstr;

// 65 elements: 33 bytes of levels, whose last half is empty, and one byte with two scales.
constexpr TensorGrid kShort{65, -20};

Bytes valid_short() {
    Bytes bytes(dense_code_bytes(kShort.elements));
    bytes[0] = 0x97;   // element 0: 7, element 1: -7
    bytes[32] = 0x04;  // element 64: 4
    bytes[33] = 0x3E;  // scales 14 and 3
    return bytes;
}

TEST(DenseCode, BitsAreWhereTheHeaderSays) {
    const Bytes bytes = valid_short();
    ASSERT_EQ(bytes.size(), 34U);
    const auto code = DenseCode::decode(kShort, bytes).value();
    std::vector<std::int64_t> sums(65, 1);
    code.add_to(sums, 5);
    EXPECT_EQ(sums[0], 1 + 5 * 7 * 16384);
    EXPECT_EQ(sums[1], 1 - 5 * 7 * 16384);
    EXPECT_EQ(sums[64], 1 + 5 * 4 * 8);
    EXPECT_EQ(std::ranges::count(sums, 1), 62);
    EXPECT_EQ(code.squared_norm(), (2 * 49ULL << 28) + (16ULL << 6));
}

struct Wrong {
    const char* name;
    std::function<void(Bytes&)> change;
    const char* message;
};

TEST(DenseCode, DecodersSayWhatIsWrong) {
    const std::vector<Wrong> wrongs{
        {"truncated", [](Bytes& b) { b.pop_back(); }, "has 34 bytes, not 33"},
        {"too long", [](Bytes& b) { b.push_back(0); }, "has 34 bytes, not 35"},
        {"level -8", [](Bytes& b) { b[5] = 0x08; }, "element 10 has level -8"},
        {"scale 15", [](Bytes& b) { b[33] = 0x3F; }, "span 0 has scale 15"},
        {"scale too large", [](Bytes& b) { b[32] = 0x03; },
         "span 1 has scale 3, but its largest level is 3"},
        {"scale of zeros", [](Bytes& b) { b[32] = 0; }, "its largest level is 0"},
        {"a half behind the last level", [](Bytes& b) { b[32] = 0x14; }, "behind its last element"},
    };
    for (const Wrong& wrong : wrongs) {
        SCOPED_TRACE(wrong.name);
        Bytes bytes = valid_short();
        wrong.change(bytes);
        const auto decoded = DenseCode::decode(kShort, bytes);
        ASSERT_FALSE(decoded.ok());
        EXPECT_EQ(decoded.error().code, ErrorCode::kMalformed);
        EXPECT_THAT(decoded.error().message, HasSubstr(wrong.message));
    }
    Bytes one(dense_code_bytes(1));
    one[1] = 0x10;
    EXPECT_THAT(DenseCode::decode({1, -20}, one).error().message,
                HasSubstr("behind its last scale"));
    Bytes second(dense_code_bytes(1500));
    second[520] = 0x08;
    EXPECT_THAT(DenseCode::decode({1500, -20}, second).error().message,
                HasSubstr("block 1 of a dense code"));
}

TEST(DenseCode, RangesOfBlocksAddUpToTheWhole) {
    std::mt19937_64 random(testing::random_seed());
    const auto x = random_delta(random, 10 * kBlock + 77);
    const TensorGrid tensor{x.size(), -20};
    const Encoding encoding = encode(Form::kDense, tensor, x, kNoBound, nullptr);
    const auto whole = decoded(Form::kDense, tensor, encoding.code);
    for (const kernels::Isa isa : levels()) {
        std::vector<std::int64_t> parts;
        for (std::uint64_t first = 0; first < blocks_of(tensor.elements); first += 3) {
            std::vector<std::int64_t> part(
                std::min<std::uint64_t>(3 * kBlock, tensor.elements - first * kBlock));
            DenseCode::decode(tensor, encoding.code).value().add_to(part, 1, first, isa);
            parts.insert(parts.end(), part.begin(), part.end());
        }
        EXPECT_EQ(parts, whole);
    }
}

/// The 4 bits of a delta are within 1/15 of the largest of each 64.
TEST(DenseCode, TheErrorIsBoundedByTheLargestOfSixtyFour) {
    std::mt19937_64 random(testing::random_seed());
    const auto x = random_delta(random, 64 * 200);
    const TensorGrid tensor{x.size(), -20};
    const auto d =
        decoded(Form::kDense, tensor, encode(Form::kDense, tensor, x, kNoBound, nullptr).code);
    for (std::size_t span = 0; span < x.size(); span += 64) {
        float most = 0;
        for (std::size_t i = span; i < span + 64; ++i)
            most = std::max(most, std::abs(x[i]));
        for (std::size_t i = span; i < span + 64; ++i)
            ASSERT_LE(std::abs(std::ldexp(static_cast<float>(d[i]), -20) - x[i]),
                      most / 7.49F + 1e-6F);
    }
}

}  // namespace
}  // namespace gym::codec
