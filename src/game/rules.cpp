#include "gym/game/rules.hpp"

#include <algorithm>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "rules_common.hpp"

namespace gym::game {

unsigned answer_levels(unsigned height, unsigned levels_max) {
    if (height == 0) return 0;
    const unsigned answers = (height + levels_max - 1) / levels_max;
    return (height + answers - 1) / answers;
}

Result<Ruling> decide(const Cursor& at, const Move& move, const crypto::Eip712Domain* commitments) {
    return std::visit(
        [&](const auto& one) -> Result<Ruling> {
            auto decided = rules::decide_any(at, one, commitments);
            if (!decided.ok()) return decided.error();
            if constexpr (requires { decided->next; })
                return Ruling(std::move(decided->next));
            else
                return Ruling(*decided);
        },
        move);
}

namespace rules {
namespace {

std::string count_error(std::size_t count, std::uint64_t expected) {
    return std::to_string(count) + " digests where there must be " + std::to_string(expected);
}

/// Whether the tree has a node `height` levels above the leaves with this index.
bool has_node(const Cursor& c, std::uint64_t index, unsigned height) {
    return index <= (c.leaves - 1) >> height && c.leaves > 0;
}

}  // namespace

Error wrong_stage(const Cursor& c) {
    return fail(ErrorCode::kConflict, "not a move of stage " + std::string(to_string(c.stage)));
}

Status expect(const Cursor& c, Stage stage, bool answered) {
    if (c.stage != stage || c.answered != answered) return wrong_stage(c);
    return {};
}

Status check_frame(const Cursor& c, const Digest& hash) {
    if (c.frame == hash) return {};
    return fail(ErrorCode::kMismatch,
                "the frame has hash " + hash.hex() + ", the cursor stands for " + c.frame.hex());
}

Status check_not_zero(const Digest& digest) {
    if (!digest.is_zero()) return {};
    return fail(ErrorCode::kMalformed, "a digest must not be zero");
}

Result<Cursor> root_of(Stage stage, const Digest& node, std::uint64_t leaves, const Digest& frame) {
    GYM_CHECK(check_not_zero(node));
    const unsigned height = commit::tree_depth(leaves);
    if (leaves == 0 || height > commit::kTreeDepthMax)
        return fail(ErrorCode::kOutOfRange, "no tree has " + std::to_string(leaves) + " leaves");
    return Cursor{.stage = stage,
                  .answered = height == 0,
                  .height = static_cast<std::uint8_t>(height),
                  .leaves = leaves,
                  .node = node,
                  .twin = {},
                  .frame = frame};
}

Status check_children(const Cursor& c, const Digest& node, std::span<const Digest> children,
                      unsigned levels_max) {
    if (c.height > commit::kTreeDepthMax)
        return fail(ErrorCode::kOutOfRange, "no tree is that high");
    const unsigned down = answer_levels(c.height, levels_max);
    const unsigned to = c.height - down;
    std::uint64_t expected = 0;
    if (down > 0) {
        if (!has_node(c, c.index, c.height))
            return fail(ErrorCode::kOutOfRange, "the tree has no such node");
        const std::uint64_t all = ((c.leaves - 1) >> to) + 1;
        expected = std::min(all - (c.index << down), std::uint64_t{1} << down);
    }
    if (children.size() != expected)
        return fail(ErrorCode::kMalformed, count_error(children.size(), expected));
    if (down == 0) return {};
    for (const Digest& child : children)
        GYM_CHECK(check_not_zero(child));
    const Digest computed = commit::merkle_fold({children.begin(), children.end()}, to, down);
    if (computed == node) return {};
    return fail(ErrorCode::kMismatch,
                "the children lead to " + computed.hex() + ", not to " + node.hex());
}

bool lists_leaves(const Cursor& c, unsigned levels_max) {
    return answer_levels(c.height, levels_max) == c.height;
}

Status check_below(const Cursor& c, const Digest& from, const NodeProof& proof) {
    GYM_CHECK(check_not_zero(proof.node));
    const std::size_t down = proof.path.size();
    if (c.height > commit::kTreeDepthMax || down > c.height)
        return fail(ErrorCode::kMalformed, count_error(down, c.height));
    const auto height = static_cast<unsigned>(c.height - down);
    if (proof.index >> down != c.index || !has_node(c, proof.index, height))
        return fail(ErrorCode::kOutOfRange, "the tree has no node " + std::to_string(proof.index) +
                                                " at height " + std::to_string(height));
    Digest node = proof.node;
    for (std::size_t level = 0; level < down; ++level) {
        const Digest& sibling = proof.path[level];
        const bool is_right = (proof.index >> level & 1) != 0;
        node = is_right ? commit::merkle_node(sibling, node) : commit::merkle_node(node, sibling);
    }
    if (node == from) return {};
    return fail(ErrorCode::kMismatch, "the path leads to " + node.hex() + ", not to " + from.hex());
}

Status check_leaf_below(const Cursor& c, const Digest& from, const NodeProof& proof) {
    if (proof.path.size() != c.height)
        return fail(ErrorCode::kMalformed, count_error(proof.path.size(), c.height));
    return check_below(c, from, proof);
}

Status check_leaf_pick(const Cursor& c, const Pick& pick) {
    return check_leaf_below(c, c.node, {pick.index, pick.node, pick.path});
}

Result<dispute::TraceHeader> open_header(ByteView header, const Digest& program) {
    GYM_TRY(const dispute::TraceHeader decoded, dispute::decode_trace_header(header));
    if (dispute::trace_root(decoded) == program) return decoded;
    return fail(ErrorCode::kMismatch, "the header is not the trace program's");
}

Result<engine::StepRecord> open_record(ByteView record, const Digest& before, const Digest& link) {
    commit::Hasher hasher;
    if (hasher.update(before).update(record).finish() != link)
        return fail(ErrorCode::kMismatch, "the record is not the chain's");
    return engine::decode_step_record(record);
}

Result<Finding> unequal(std::uint64_t element, const Digest& claimed, const Digest& computed) {
    if (claimed == computed) return fail(ErrorCode::kConflict, "there is no fault");
    return Finding{element, claimed, computed};
}

Digest word_of(std::uint64_t number) {
    Digest word;
    for (std::size_t i = 0; i < sizeof number; ++i)
        word.data[Digest::kSize - 1 - i] = static_cast<std::uint8_t>(number >> (8 * i));
    return word;
}

std::uint64_t chunk_count(const dispute::Shape& shape) {
    return (dispute::size_bytes(shape) + commit::kChunkBytes - 1) / commit::kChunkBytes;
}

}  // namespace rules
}  // namespace gym::game
