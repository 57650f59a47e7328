#include "gym/crypto/keccak.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "rules_common.hpp"

// contracts/src/dispute/OuterProofs.sol: a value of a column, the element that the outer step makes
// of it, a tensor under the record's state root.
namespace gym::game::rules {
namespace {

using dispute::TraceHeader;

/// That the column was posted of this element and these are its values.
Status enter_column(const Cursor& c, const OpFrame& op, const OuterFrame& outer,
                    const Bytes& values) {
    GYM_CHECK(expect(c, Stage::kColumn, true));
    GYM_CHECK(check_frame(c, hash_of(op)));
    if (hash_of(outer) != op.step)
        return fail(ErrorCode::kMismatch, "the tensor is another aggregate's");
    if (crypto::keccak256(values) != c.twin)
        return fail(ErrorCode::kMismatch, "the values are not those that were posted");
    if (values.empty() || values.size() % kWordBytes != 0)
        return fail(ErrorCode::kMalformed, "a column has a value of every delta");
    return {};
}

std::uint64_t value_at(const Bytes& values, std::uint64_t position) {
    return little_endian(ByteView(values).subspan(position * kWordBytes, kWordBytes));
}

/// The four bytes at `offset` of a tensor of `total`.
Result<std::uint64_t> word_in(const dispute::ChunksOpening& opening, std::uint64_t total,
                              std::uint64_t offset) {
    if (total < kWordBytes || offset > total - kWordBytes)
        return fail(ErrorCode::kOutOfRange, "the tensor has no such element");
    GYM_TRY(const Bytes bytes, dispute::check_chunks(opening, {total, offset, kWordBytes}));
    return little_endian(bytes);
}

/// The element of a parameter under a root over all parameters' tensors.
Result<float> element_before(const Cursor& c, const OpFrame& op, const Digest& root,
                             const TraceHeader& header, const dispute::ChunksOpening& opening) {
    if (!op.shape) return fail(ErrorCode::kMismatch, "no tensor was picked");
    const Digest tensor = dispute::tensor_digest(*op.shape, opening.tree_root);
    GYM_CHECK(commit::merkle_verify(root, {op.primitive, header.parameters}, tensor, opening.path));
    const std::uint64_t total = dispute::size_bytes(*op.shape);
    if (c.index >= total / kWordBytes)
        return fail(ErrorCode::kOutOfRange, "the tensor has no such element");
    GYM_TRY(const std::uint64_t bits, word_in(opening, total, c.index * kWordBytes));
    return kernels::f32::from_bits(static_cast<std::uint32_t>(bits));
}

}  // namespace

Result<Finding> decide(const Cursor& c, const move::ProveColumn& m) {
    GYM_CHECK(enter_column(c, m.op, m.outer, m.values));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    if (dispute::state_record_digest(m.slot.record) != m.op.record)
        return fail(ErrorCode::kMismatch, "the record is not the parameter's that was picked");
    GYM_TRY(const dispute::StateRecord slot, dispute::check_state_record(header, m.slot));
    if (m.position >= m.values.size() / kWordBytes)
        return fail(ErrorCode::kOutOfRange, "no delta has this position");
    const dispute::Shape shape{program::DType::u8,
                               {static_cast<std::uint32_t>(header.delta_bytes)}};
    const Digest delta = dispute::tensor_digest(shape, m.delta.tree_root);
    GYM_CHECK(commit::merkle_verify(m.outer.deltas_root, {m.position, m.outer.deltas}, delta,
                                    m.delta.path));
    if (c.index >= header.delta_bytes / kWordBytes)
        return fail(ErrorCode::kOutOfRange, "the delta has no such element");
    GYM_TRY(const std::uint64_t word,
            word_in(m.delta, header.delta_bytes, slot.delta_offset + c.index * kWordBytes));
    return unequal(m.position, word_of(value_at(m.values, m.position)), word_of(word));
}

Result<Finding> decide(const Cursor& c, const move::ProveOuter& m) {
    GYM_CHECK(enter_column(c, m.op, m.outer, m.values));
    if (hash_of(m.facts) != m.outer.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the aggregate's");
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    dispute::OuterElement before;
    GYM_TRY(before.base, element_before(c, m.op, m.facts.base_root, header, m.base));
    GYM_TRY(before.momentum, element_before(c, m.op, m.facts.momentum_root, header, m.momentum));
    const auto count = static_cast<std::uint32_t>(m.values.size() / kWordBytes);
    std::vector<float> column;
    for (std::uint32_t i = 0; i < count; ++i)
        column.push_back(
            kernels::f32::from_bits(static_cast<std::uint32_t>(value_at(m.values, i))));
    const kernels::ExactFloatEnvironment environment;
    const dispute::OuterElement after =
        dispute::outer_element(header, before, column.data(), count);
    const float computed = m.outer.tree == OuterTree::kBase ? after.base : after.momentum;
    return unequal(c.index, c.node, word_of(kernels::f32::to_bits(computed)));
}

Result<Finding> decide(const Cursor& c, const move::ProveOuterSlot& m) {
    GYM_CHECK(expect(c, Stage::kOuterState, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    if (m.frame.tree != OuterTree::kBoth)
        return fail(ErrorCode::kConflict, "the tree is one that was committed to");
    if (hash_of(m.facts) != m.frame.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the aggregate's");
    GYM_TRY(const TraceHeader header, open_header(m.header, m.frame.program));
    GYM_CHECK(check_leaf_pick(c, m.leaf));
    const std::uint64_t count = header.parameters;
    const bool parameter = m.leaf.index < count;
    const Digest& root = parameter ? m.facts.final_state_root : m.facts.momentum_after;
    const std::uint64_t index = parameter ? m.leaf.index : m.leaf.index - count;
    if (m.source.index != index)
        return fail(ErrorCode::kMismatch, "not the tensor in the same place");
    GYM_CHECK(commit::merkle_verify(root, {index, count}, m.source.node, m.source.path));
    return unequal(m.leaf.index, m.leaf.node, m.source.node);
}

}  // namespace gym::game::rules
