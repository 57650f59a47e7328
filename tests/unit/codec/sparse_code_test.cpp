#include "gym/codec/sparse_code.hpp"

#include <functional>

#include "codec_cases.hpp"
#include "random_seed.hpp"

namespace gym::codec {
namespace {

using ::testing::HasSubstr;

constexpr TensorGrid kOneBlock{1000, -20};

kernels::SparseBlock block_of(std::initializer_list<std::pair<int, int>> entries, int scale) {
    kernels::SparseBlock block;
    block.scale = scale;
    for (const auto& [index, level] : entries) {
        block.index[block.count] = static_cast<std::uint16_t>(index);
        block.level[block.count++] = static_cast<std::int8_t>(level);
    }
    return block;
}
Bytes bytes_of(const kernels::SparseBlock& block) {
    Bytes bytes(kSparseBlockBytes);
    write_sparse_block(block, bytes.data());
    return bytes;
}

TEST(SparseCode, BitsAreWhereTheHeaderSays) {
    Bytes expected(kSparseBlockBytes);
    expected[0] = 0x05;              // index 5 at bit 0
    expected[1] = 0xE7 << 2 & 0xFF;  // 999 = 0b11'1110'0111 at bit 10: six bits in byte 1
    expected[2] = 999 >> 6;          // four in byte 2
    expected[20] = 0b0111;           // 5: -6; 999: +6 at bit 2
    expected[24] = 16 * (9 + 1) + 1;
    EXPECT_EQ(bytes_of(block_of({{5, -6}, {999, 6}}, 9)), expected);
    const auto code = SparseCode::decode(kOneBlock, expected).value();
    EXPECT_EQ(code.squared_norm(), 2 * 36ULL << 18);
    std::vector<std::int64_t> sums(1000, 1);
    code.add_to(sums, -3);
    EXPECT_EQ(sums[5], 1 + 3 * 6 * 512);
    EXPECT_EQ(sums[999], 1 - 3 * 6 * 512);
    EXPECT_EQ(std::ranges::count(sums, 1), 998);
}

struct Wrong {
    const char* name;
    std::function<void(Bytes&)> change;
    const char* message;
};

TEST(SparseCode, DecodersSayWhatIsWrong) {
    const Bytes valid = bytes_of(block_of({{5, -6}, {7, 3}}, 9));
    ASSERT_TRUE(SparseCode::decode(kOneBlock, valid).ok());
    const std::vector<Wrong> wrongs{
        {"truncated", [](Bytes& b) { b.pop_back(); }, "has 25 bytes, not 24"},
        {"too long", [](Bytes& b) { b.push_back(0); }, "has 25 bytes, not 26"},
        {"unsorted",
         [](Bytes& b) {
             b = bytes_of(block_of({{7, -6}, {5, 3}}, 9));
         },
         "not above the one before"},
        {"twice",
         [](Bytes& b) {
             b = bytes_of(block_of({{7, -6}, {7, 3}}, 9));
         },
         "not above the one before"},
        {"outside",
         [](Bytes& b) {
             b = bytes_of(block_of({{7, -6}, {1000, 3}}, 9));
         },
         "index 1000 of 1000"},
        {"scale 15", [](Bytes& b) { b[24] = 0x01; }, "its scale is 0"},
        {"scale too large",
         [](Bytes& b) {
             b = bytes_of(block_of({{5, -3}, {7, 3}}, 9));
         },
         "could be smaller"},
        {"an index behind the last", [](Bytes& b) { b[3] |= 0x10; }, "entry 2 is absent"},
        {"a level behind the last", [](Bytes& b) { b[20] |= 0x10; }, "an absent entry has a level"},
        {"bytes without entries", [](Bytes& b) { b[24] = 0; }, "it has no entries"},
    };
    for (const Wrong& wrong : wrongs) {
        SCOPED_TRACE(wrong.name);
        Bytes bytes = valid;
        wrong.change(bytes);
        const auto decoded = SparseCode::decode(kOneBlock, bytes);
        ASSERT_FALSE(decoded.ok());
        EXPECT_EQ(decoded.error().code, ErrorCode::kMalformed);
        EXPECT_THAT(decoded.error().message, HasSubstr(wrong.message));
    }
}

TEST(SparseCode, TheErrorNamesTheBlockAndTheLeaf) {
    const TensorGrid tensor{41 * kBlock, -20};
    Bytes bytes(sparse_code_bytes(tensor.elements));
    ASSERT_EQ(bytes.size(), kSparseLeafBytes + kSparseBlockBytes);
    ASSERT_TRUE(SparseCode::decode(tensor, bytes).ok());
    bytes[1010] = 1;
    EXPECT_THAT(SparseCode::decode(tensor, bytes).error().message, HasSubstr("padding of leaf 0"));
    bytes[1010] = 0;
    bytes[1024] = 1;
    EXPECT_THAT(SparseCode::decode(tensor, bytes).error().message,
                HasSubstr("block 40 of a sparse code"));
}

TEST(SparseCode, TiesGoToTheLowestIndex) {
    std::vector<std::int32_t> y(kBlock);
    for (const std::size_t i : {1023UL, 64UL, 0UL, 1UL, 63UL, 512UL})
        y[i] = -700'000;
    for (std::size_t i = 100; i < 200; ++i)
        y[i] = i % 2 == 0 ? 600'000 : -600'000;
    for (const kernels::Isa isa : levels()) {
        const kernels::SparseBlock block = kernels::sparse_block(isa, y.data());
        ASSERT_EQ(block.count, 16);
        const std::vector<int> indices(block.index, block.index + 16);
        EXPECT_EQ(indices, (std::vector<int>{0, 1, 63, 64, 100, 101, 102, 103, 104, 105, 106, 107,
                                             108, 109, 512, 1023}));
    }
}

TEST(SparseCode, SmallOnesAmongTheFirstSixteenAreNotSent) {
    std::vector<std::int32_t> y(kBlock);
    y[3] = 6 << 18;             // the scale is 10
    y[9] = (3 << 18) / 2;       // half a level: sent
    y[10] = (3 << 18) / 2 - 1;  // less
    for (const kernels::Isa isa : levels()) {
        const kernels::SparseBlock block = kernels::sparse_block(isa, y.data());
        ASSERT_EQ(block.count, 2);
        EXPECT_EQ(block.scale, 10);
        EXPECT_EQ(block.index[1], 9);
        EXPECT_EQ(block.level[1], 3);
    }
}

TEST(SparseCode, RangesOfBlocksAddUpToTheWhole) {
    std::mt19937_64 random(testing::random_seed());
    const auto x = random_delta(random, 100 * kBlock + 77);
    const TensorGrid tensor{x.size(), -20};
    const Encoding encoding = encode(tensor, x, kNoBound, nullptr);
    const auto code = SparseCode::decode(tensor, encoding.code).value();
    const auto whole = decoded(tensor, encoding.code);
    std::vector<std::int64_t> parts;
    for (std::uint64_t first = 0; first < blocks_of(tensor.elements); first += 7) {
        std::vector<std::int64_t> part(
            std::min<std::uint64_t>(7 * kBlock, tensor.elements - first * kBlock));
        code.add_to(part, 1, first);
        parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace gym::codec
