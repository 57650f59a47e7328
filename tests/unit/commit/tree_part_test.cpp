#include "gym/commit/tree_part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gym/commit/sha256.hpp"

namespace gym::commit {
namespace {

std::vector<Digest> leaves_of(std::uint64_t count) {
    std::vector<Digest> out;
    for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(sha256(as_bytes("leaf " + std::to_string(i))));
    return out;
}

std::vector<TreePart> cut(const std::vector<Digest>& leaves, std::vector<std::uint64_t> cuts) {
    std::ranges::sort(cuts);
    cuts.push_back(leaves.size());
    std::vector<TreePart> out;
    std::uint64_t first = 0;
    for (const std::uint64_t end : cuts) {
        out.push_back(tree_part(std::span(leaves).subspan(first, end - first), first));
        first = end;
    }
    return out;
}

TEST(TreePart, PartsGiveTheRootOfTheWholeWhereverTheyAreCut) {
    std::mt19937_64 random(11);
    for (const std::uint64_t count : {0U, 1U, 2U, 3U, 5U, 8U, 31U, 32U, 33U, 100U, 1000U, 1025U}) {
        const auto leaves = leaves_of(count);
        for (int round = 0; round < 20; ++round) {
            std::vector<std::uint64_t> cuts;
            for (std::uint64_t k = random() % 9; k > 0; --k)
                cuts.push_back(random() % (count + 1));
            const auto root = root_of_parts(cut(leaves, cuts), count);
            ASSERT_TRUE(root.ok()) << root.error().message;
            EXPECT_EQ(*root, merkle_root(leaves)) << count << " leaves";
        }
    }
}

TEST(TreePart, TakesTheFewestNodes) {
    const auto leaves = leaves_of(64);
    EXPECT_EQ(tree_part(leaves, 0).nodes, std::vector{merkle_root(leaves)});
    EXPECT_EQ(tree_part(std::span(leaves).first(7), 64).nodes.size(), 3U) << "4 + 2 + 1";
    EXPECT_EQ(tree_part(std::span(leaves).first(7), 1).nodes.size(), 3U) << "1 + 2 + 4";
    EXPECT_TRUE(tree_part({}, 5).nodes.empty());
}

TEST(TreePart, PartsThatAreNotAllOfTheTreeGiveNoRoot) {
    const auto leaves = leaves_of(100);
    const auto parts = cut(leaves, {40, 70});
    const auto code = [&](std::vector<TreePart> of, std::uint64_t count = 100) {
        return root_of_parts(of, count).error().code;
    };
    EXPECT_EQ(code({parts[0], parts[1]}), ErrorCode::kMismatch) << "the last one is missing";
    EXPECT_EQ(code({parts[0], parts[2]}), ErrorCode::kMismatch);
    EXPECT_EQ(code({parts[1], parts[2]}), ErrorCode::kMismatch);
    EXPECT_EQ(code({parts[0], parts[0], parts[1], parts[2]}), ErrorCode::kMismatch);
    EXPECT_EQ(code(parts, 99), ErrorCode::kMismatch);
    EXPECT_EQ(code(parts, 101), ErrorCode::kMismatch);
    auto changed = parts;
    changed[1].nodes.pop_back();
    EXPECT_EQ(code(changed), ErrorCode::kMalformed);
    changed = parts;
    changed[1].nodes.push_back(leaves[0]);
    EXPECT_EQ(code(changed), ErrorCode::kMalformed);
    changed = parts;
    changed[1].count = std::uint64_t{1} << 63;
    EXPECT_EQ(code(changed), ErrorCode::kMismatch);
    changed = parts;
    changed[2].nodes[0].data[0] ^= 1;
    EXPECT_NE(root_of_parts(changed, 100).value(), merkle_root(leaves));
}

}  // namespace
}  // namespace gym::commit
