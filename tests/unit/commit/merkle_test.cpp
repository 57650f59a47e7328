#include "gym/commit/merkle.hpp"

#include <gtest/gtest.h>

#include "merkle_vectors.hpp"

namespace gym::commit {
namespace {

using test::numbered_leaf;
using test::numbered_leaves;
using test::pattern;
using test::vector_rows;

TEST(Sha256, EqualsHashlib) {
    const auto rows = vector_rows("sha256");
    ASSERT_EQ(rows.size(), 10u);
    for (const auto& row : rows)
        EXPECT_EQ(to_hex(sha256(pattern(std::stoul(row[0]))).view()), row[1]) << row[0];
}

TEST(Sha256, HasherGivesTheSameForAnyPiecesAndIsEmptyAfterFinish) {
    Hasher hasher;
    const Bytes data = pattern(1000);
    for (const std::size_t piece : {1, 7, 63, 64, 65, 999}) {
        for (std::size_t i = 0; i < data.size(); i += piece)
            hasher.update(ByteView(data).subspan(i, std::min(piece, data.size() - i)));
        EXPECT_EQ(hasher.finish(), sha256(data));
    }
    EXPECT_EQ(hasher.finish(), sha256({}));
}

TEST(Merkle, RootsEqualTheIndependentVectors) {
    ASSERT_EQ(vector_rows("absent").size(), 1u);
    EXPECT_EQ(to_hex(absent_leaf().view()), vector_rows("absent")[0][0]);
    const auto rows = vector_rows("root");
    ASSERT_EQ(rows.size(), 29u);
    for (const auto& row : rows) {
        const auto leaves = numbered_leaves(std::stoul(row[0]));
        EXPECT_EQ(to_hex(merkle_root(leaves).view()), row[1]) << row[0];
        EXPECT_EQ(to_hex(MerkleTree(leaves).root().view()), row[1]) << row[0];
    }
}

TEST(Merkle, ProofsEqualTheIndependentVectors) {
    const auto rows = vector_rows("proof");
    ASSERT_EQ(rows.size(), 8u);
    for (const auto& row : rows) {
        const std::uint64_t count = std::stoul(row[0]);
        const auto proof = merkle_prove(numbered_leaves(count), std::stoul(row[1]));
        ASSERT_TRUE(proof.ok());
        ASSERT_EQ(proof->size(), row.size() - 3);
        for (std::size_t i = 0; i < proof->size(); ++i)
            EXPECT_EQ(to_hex((*proof)[i].view()), row[3 + i]);
    }
}

TEST(Merkle, EveryLeafOfEverySmallTreeIsProven) {
    for (std::uint64_t count = 1; count <= 40; ++count) {
        const MerkleTree tree(numbered_leaves(count));
        for (std::uint64_t index = 0; index < count; ++index) {
            const auto proof = tree.prove(index);
            ASSERT_TRUE(proof.ok());
            EXPECT_TRUE(
                merkle_verify(tree.root(), {index, count}, numbered_leaf(index), *proof).ok());
        }
        EXPECT_EQ(tree.prove(count).error().code, ErrorCode::kOutOfRange);
    }
}

TEST(Merkle, NodesAreThoseOfThePaddedTree) {
    const MerkleTree tree(numbered_leaves(5));
    EXPECT_EQ(tree.node(0, 4), numbered_leaf(4));
    EXPECT_EQ(tree.node(0, 5), absent_leaf());
    EXPECT_EQ(tree.node(1, 2), merkle_node(numbered_leaf(4), absent_leaf()));
    EXPECT_EQ(tree.node(1, 3), merkle_node(absent_leaf(), absent_leaf()));
    EXPECT_EQ(tree.node(2, 1), merkle_node(tree.node(1, 2), tree.node(1, 3)));
    EXPECT_EQ(tree.node(3, 0), tree.root());
}

class OneProof : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kCount = 11;
    static constexpr std::uint64_t kIndex = 6;
    MerkleTree tree_{numbered_leaves(kCount)};
    std::vector<Digest> proof_ = tree_.prove(kIndex).value();

    Status verify(LeafPosition position) const {
        return merkle_verify(tree_.root(), position, numbered_leaf(kIndex), proof_);
    }
};

TEST_F(OneProof, FailsWithAnyFlippedBitOfLeafRootOrSibling) {
    for (unsigned bit = 0; bit < 256; ++bit) {
        const auto flip = [bit](Digest digest) {
            digest.data[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
            return digest;
        };
        const Digest leaf = numbered_leaf(kIndex);
        EXPECT_EQ(merkle_verify(tree_.root(), {kIndex, kCount}, flip(leaf), proof_).error().code,
                  ErrorCode::kMismatch);
        EXPECT_EQ(merkle_verify(flip(tree_.root()), {kIndex, kCount}, leaf, proof_).error().code,
                  ErrorCode::kMismatch);
        for (std::size_t i = 0; i < proof_.size(); ++i) {
            auto altered = proof_;
            altered[i] = flip(altered[i]);
            EXPECT_EQ(merkle_verify(tree_.root(), {kIndex, kCount}, leaf, altered).error().code,
                      ErrorCode::kMismatch);
        }
    }
}

TEST_F(OneProof, FailsAtAnotherPosition) {
    for (std::uint64_t index = 0; index < kCount; ++index)
        EXPECT_EQ(verify({index, kCount}).ok(), index == kIndex) << index;
    EXPECT_EQ(verify({kCount, kCount}).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(verify({kIndex, 0}).error().code, ErrorCode::kMalformed);
}

TEST_F(OneProof, RejectsProofsOfAnotherLengthAndZeroRoots) {
    const auto whole = proof_;
    proof_.push_back(absent_leaf());
    EXPECT_EQ(verify({kIndex, kCount}).error().code, ErrorCode::kMalformed);
    proof_ = whole;
    proof_.pop_back();
    EXPECT_EQ(verify({kIndex, kCount}).error().code, ErrorCode::kMalformed);
    proof_.clear();
    EXPECT_EQ(verify({kIndex, kCount}).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(merkle_verify(Digest{}, {kIndex, kCount}, numbered_leaf(kIndex), whole).error().code,
              ErrorCode::kMalformed);
}

TEST_F(OneProof, AnInnerNodeDoesNotPassForALeaf) {
    const Digest parent = merkle_node(numbered_leaf(kIndex), numbered_leaf(kIndex + 1));
    const std::span<const Digest> shorter = std::span(proof_).subspan(1);
    EXPECT_EQ(merkle_verify(tree_.root(), {kIndex / 2, kCount}, parent, shorter).error().code,
              ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::commit
