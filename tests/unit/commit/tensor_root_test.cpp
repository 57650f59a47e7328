#include "gym/commit/tensor_root.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "merkle_vectors.hpp"

namespace gym::commit {
namespace {

using test::pattern;
using test::vector_rows;

std::vector<std::uint64_t> parse_dims(const std::string& text) {
    std::vector<std::uint64_t> dims;
    if (text == "scalar") return dims;
    std::istringstream in(text);
    for (std::string dim; std::getline(in, dim, 'x');)
        dims.push_back(std::stoull(dim));
    return dims;
}

TEST(TensorRoot, EqualsTheIndependentVectors) {
    const auto rows = vector_rows("tensor");
    ASSERT_EQ(rows.size(), 12u);
    for (const auto& row : rows) {
        const DType dtype = dtype_from(row[0]).value();
        const auto dims = parse_dims(row[1]);
        std::size_t size = size_bytes(dtype);
        for (const std::uint64_t dim : dims)
            size *= dim;
        EXPECT_EQ(to_hex(tensor_root(dtype, dims, pattern(size)).view()), row[2]) << row[1];
    }
}

TEST(TensorRoot, ChunkTreesEqualTheVectorsForEveryThreadCountAndPieceSize) {
    const auto rows = vector_rows("chunks");
    ASSERT_EQ(rows.size(), 11u);
    for (const auto& row : rows) {
        const Bytes data = pattern(std::stoul(row[0]));
        for (const unsigned threads : {0, 1, 2, 3, 16})
            EXPECT_EQ(to_hex(chunk_tree_root(data, threads).view()), row[1]) << row[0];
        EXPECT_EQ(to_hex(merkle_root(chunk_leaves(data)).view()), row[1]);
        for (const std::size_t piece : {std::size_t{100}, std::size_t{1024}, std::size_t{3000}}) {
            ChunkTreeHasher hasher;
            for (std::size_t i = 0; i < data.size(); i += piece)
                hasher.update(ByteView(data).subspan(i, std::min(piece, data.size() - i)));
            EXPECT_EQ(to_hex(hasher.root().view()), row[1]) << row[0] << " in " << piece;
            EXPECT_EQ(hasher.size_bytes(), data.size());
        }
    }
}

TEST(TensorRoot, PartsAndPairsEqualChunkByChunk) {
    // Around whole pairs of chunks and whole parts of a tree.
    for (const std::size_t chunks : {1, 2, 3, 4, 511, 512, 513, 1023, 1024, 1025, 2048, 2600}) {
        for (const std::size_t missing : {0, 1, 1023}) {
            const Bytes data = pattern(chunks * kChunkBytes - missing);
            MerkleAccumulator tree;
            for (std::size_t i = 0; i < chunks; ++i) {
                const auto rest = ByteView(data).subspan(i * kChunkBytes);
                tree.add(chunk_leaf(rest.first(std::min(rest.size(), kChunkBytes))));
            }
            for (const unsigned threads : {1, 2, 3}) {
                EXPECT_EQ(chunk_tree_root(data, threads), tree.root())
                    << chunks << " chunks less " << missing << " bytes";
                EXPECT_EQ(merkle_root(chunk_leaves(data, threads)), tree.root());
            }
        }
    }
}

TEST(TensorRoot, ManyTensorsTogetherEqualEachAlone) {
    std::vector<Bytes> data;
    std::vector<std::vector<std::uint64_t>> dims;
    for (const std::size_t size : {0, 4, 1024, 700000, 8, 1500000, 4096}) {
        data.push_back(pattern(size));
        dims.push_back({size / 4});
    }
    std::vector<TensorView> tensors;
    for (std::size_t i = 0; i < data.size(); ++i)
        tensors.push_back({DType::kF32, dims[i], data[i]});
    for (const unsigned threads : {1, 2, 5}) {
        const std::vector<Digest> roots = tensor_roots(tensors, threads);
        ASSERT_EQ(roots.size(), data.size());
        for (std::size_t i = 0; i < data.size(); ++i)
            EXPECT_EQ(roots[i], tensor_root(DType::kF32, dims[i], data[i])) << i;
    }
    EXPECT_TRUE(tensor_roots({}, 2).empty());
}

TEST(TensorRoot, DtypeRankDimsAndLengthAllCount) {
    const Bytes data = pattern(24);
    const std::vector<std::uint64_t> two_three{2, 3}, three_two{3, 2}, six{6}, one_six{1, 6};
    const Digest root = tensor_root(DType::kF32, two_three, data);
    EXPECT_NE(root, tensor_root(DType::kF32, three_two, data));
    EXPECT_NE(root, tensor_root(DType::kF32, six, data));
    EXPECT_NE(tensor_root(DType::kF32, six, data), tensor_root(DType::kF32, one_six, data));
    EXPECT_NE(tensor_root(DType::kF32, six, data), tensor_root(DType::kI32, six, data));
    // Zero padding of the last chunk is not data: the length is in the dims.
    Bytes longer = data;
    longer.resize(28);
    const std::vector<std::uint64_t> seven{7};
    EXPECT_EQ(chunk_tree_root(data), chunk_tree_root(longer));
    EXPECT_NE(tensor_root(DType::kF32, six, data), tensor_root(DType::kF32, seven, longer));
}

TEST(TensorRoot, OneFlippedBitAnywhereChangesIt) {
    Bytes data = pattern(3000);
    const std::vector<std::uint64_t> dims{3000};
    const Digest root = tensor_root(DType::kU8, dims, data);
    for (std::size_t i = 0; i < data.size(); i += 37) {
        data[i] ^= static_cast<std::uint8_t>(1 << (i % 8));
        EXPECT_NE(tensor_root(DType::kU8, dims, data), root) << i;
        data[i] ^= static_cast<std::uint8_t>(1 << (i % 8));
    }
}

TEST(DType, CodesAndNamesRoundTripAndOthersAreRejected) {
    for (std::uint8_t code = 1; code <= 7; ++code) {
        const DType dtype = dtype_from(code).value();
        EXPECT_EQ(static_cast<std::uint8_t>(dtype), code);
        EXPECT_EQ(dtype_from(to_string(dtype)).value(), dtype);
    }
    EXPECT_EQ(size_bytes(DType::kI64), 8u);
    EXPECT_EQ(size_bytes(DType::kU16), 2u);
    EXPECT_EQ(dtype_from(std::uint8_t{0}).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(dtype_from(std::uint8_t{8}).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(dtype_from("f64").error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::commit
