#include <algorithm>
#include <array>
#include <vector>

#include "gym/codec/row_layout.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "outer_proofs.hpp"

// An aggregate with an update. contracts/src/dispute/UpdateRules.sol: down to the residuals of one
// row. UpdateProofs.sol: a byte of the row, a residual, an element of the base, and a byte of the
// update that no parameter has.
namespace gym::game::rules {
namespace {

using codec::kRowBytes;
using codec::kRowElements;
using dispute::StateRecord;
using dispute::TraceHeader;

/// The frames of a tensor of an aggregate, without the cursor's stage.
template <class M>
Status check_frames(const Cursor& c, const M& m) {
    GYM_CHECK(check_frame(c, hash_of(m.op)));
    if (hash_of(m.outer) != m.op.step || hash_of(m.facts) != m.outer.facts)
        return fail(ErrorCode::kMismatch, "the tensor is another aggregate's");
    return {};
}

Status check_posted_chunk(const Cursor& c) {
    GYM_CHECK(expect(c, Stage::kChunks, true));
    if (c.height != 0) return wrong_stage(c);
    return {};
}

Status check_operands(const move::ProveUpdate& m, std::size_t count) {
    if (m.operands.size() == count) return {};
    return fail(ErrorCode::kShapeMismatch, "not the operands that the element is made from");
}

float float_of(std::uint64_t bits) {
    return kernels::f32::from_bits(static_cast<std::uint32_t>(bits));
}

/// The update's element, out of its row, whatever bytes that has.
Result<float> decoded(const TraceHeader& header, const move::ProveUpdate& m,
                      const dispute::ChunksOpening& update) {
    if (dispute::state_record_digest(m.record) != m.op.record)
        return fail(ErrorCode::kMismatch, "the record is not the parameter's that was picked");
    GYM_TRY(const StateRecord slot, dispute::decode_state_record(m.record, header.delta_codec));
    const Digest tensor = dispute::tensor_digest(dispute::delta_shape(header), update.tree_root);
    GYM_CHECK(commit::merkle_verify(
        m.facts.momentum_after, {update_number(header), outer_count(header)}, tensor, update.path));
    const bool has_element = slot.delta_offset != 0 && m.element < 2 * header.delta_bytes;
    const auto span = has_element ? dispute::delta_span(header.delta_codec, slot, m.element)
                                  : dispute::DeltaSpan{};
    if (!has_element || span.begin + span.length > header.delta_bytes)
        return fail(ErrorCode::kOutOfRange, "the update has no such element");
    GYM_TRY(const Bytes bytes,
            dispute::check_chunks(update, {header.delta_bytes, span.begin, span.length}));
    return float_of(dispute::delta_element(header.delta_codec, m.element, bytes));
}

/// What the row leaves of the step.
Result<Finding> residual(const Cursor& c, const TraceHeader& header, const move::ProveUpdate& m) {
    GYM_CHECK(enter_column(c, m.op, m.outer, m.posted));
    if (!is_residual(header, m.outer.tree, m.op.primitive) || m.element != c.index)
        return fail(ErrorCode::kConflict, "the column is not of this residual");
    GYM_CHECK(check_operands(m, 3));
    const std::uint64_t count = outer_count(header);
    const Digest& state = m.facts.momentum_root;
    dispute::OuterElement before;
    GYM_TRY(before.momentum, element_under({state, m.op.primitive - header.parameters, count}, m.op,
                                           m.element, m.operands[0]));
    GYM_TRY(before.base,
            element_under({state, m.op.primitive, count}, m.op, m.element, m.operands[1]));
    GYM_TRY(const float change, decoded(header, m, m.operands[2]));
    const kernels::ExactFloatEnvironment environment;
    const float step = step_of(header, before, m.posted, m.outer).base;
    const float computed = kernels::f32::sub(step, change);
    return unequal(c.index, c.node, word_of(kernels::f32::to_bits(computed)));
}

/// The bits of the element of the next base.
Result<std::uint64_t> base_element(const TraceHeader& header, const move::ProveUpdate& m) {
    GYM_CHECK(check_operands(m, 2));
    GYM_TRY(const float base, element_under({m.facts.base_root, m.op.primitive, header.parameters},
                                            m.op, m.element, m.operands[0]));
    GYM_TRY(const float change, decoded(header, m, m.operands[1]));
    const kernels::ExactFloatEnvironment environment;
    return std::uint64_t{kernels::f32::to_bits(kernels::f32::add(base, change))};
}

/// A byte of the update that no parameter's row has.
Result<std::uint64_t> bare_byte(const TraceHeader& header, const move::ProveUpdate& m) {
    GYM_CHECK(check_operands(m, 0));
    if (!is_update(header, m.outer.tree, m.op.primitive) || !m.record.empty())
        return fail(ErrorCode::kConflict, "the tensor is not the update");
    const auto at = codec::row_of(m.element);
    if (!at) return std::uint64_t{0};
    if (at->row > 0) return fail(ErrorCode::kOutOfRange, "the byte is one of a parameter's row");
    const Bytes head = delta_head(header);
    return at->place < head.size() ? std::uint64_t{head[at->place]} : std::uint64_t{0};
}

/// The row that its elements and their residuals make.
std::array<std::uint8_t, kRowBytes> row_of_sums(ByteView row, const Bytes& residuals) {
    const kernels::ExactFloatEnvironment environment;
    constexpr std::array<float, kRowElements> kZeros{};
    std::array<float, kRowElements> sums{};
    for (std::size_t i = 0; i < residuals.size() / kWordBytes; ++i) {
        const std::int32_t level = kernels::row_level_at(row.data(), static_cast<std::int32_t>(i));
        const ByteView word = ByteView(residuals).subspan(i * kWordBytes, kWordBytes);
        sums[i] =
            kernels::f32::add(kernels::row_value(level, row[0]), float_of(little_endian(word)));
    }
    std::array<std::uint8_t, kRowBytes> out{};
    kernels::encode_dense_row(kernels::Isa::kScalar, sums.data(), kZeros.data(),
                              static_cast<std::int32_t>(kRowElements), out.data());
    return out;
}

}  // namespace

Result<std::uint64_t> claimed_in_row(const Cursor& c, std::uint64_t element, const Bytes& values) {
    GYM_CHECK(expect(c, Stage::kRow, true));
    if (crypto::keccak256(values) != c.twin)
        return fail(ErrorCode::kMismatch, "the residuals are not those that were posted");
    const std::uint64_t offset = element % kRowElements * kWordBytes;
    if (element / kRowElements != c.index || offset + kWordBytes > values.size())
        return fail(ErrorCode::kOutOfRange, "the row that was picked has no such element");
    return little_endian(ByteView(values).subspan(offset, kWordBytes));
}

Result<Bytes> residuals_in(const Cursor& c, const OpFrame& op,
                           const dispute::ChunksOpening& given) {
    if (!op.shape) return fail(ErrorCode::kMismatch, "no tensor was picked");
    const Digest tensor = dispute::tensor_digest(*op.shape, given.tree_root);
    GYM_CHECK(commit::merkle_verify(c.twin, {op.primitive, c.leaves}, tensor, given.path));
    const std::uint64_t count = dispute::element_count(*op.shape);
    if (c.index >= codec::rows_of(count))
        return fail(ErrorCode::kOutOfRange, "the tensor has no such row");
    const std::uint64_t first = c.index * kRowElements;
    const std::uint64_t length = std::min(kRowElements, count - first) * kWordBytes;
    return dispute::check_chunks(given,
                                 {dispute::size_bytes(*op.shape), first * kWordBytes, length});
}

Result<Step> decide(const Cursor& c, const move::PickRow& m) {
    GYM_CHECK(check_posted_chunk(c));
    GYM_CHECK(check_frames(c, m));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    if (!is_update(header, m.outer.tree, m.op.primitive))
        return fail(ErrorCode::kConflict, "the tensor is not the update");
    GYM_TRY(const StateRecord slot, dispute::check_state_record(header, m.slot));
    if (slot.delta_offset == 0)
        return fail(ErrorCode::kMismatch, "the record is not a parameter's");
    const std::uint64_t first = codec::row_of(slot.delta_offset)->row;
    if (m.row >= codec::rows_of(dispute::element_count(slot.shape)) ||
        (first + m.row) / codec::kRowsOfChunk != c.index)
        return fail(ErrorCode::kOutOfRange, "the posted chunk has no such row of the parameter");
    OpFrame op = m.op;
    op.primitive = static_cast<std::uint32_t>(residual_number(header, slot.parameter));
    op.record = dispute::state_record_digest(m.slot.record);
    op.shape = slot.shape;
    Cursor next;
    next.stage = Stage::kRow;
    next.height = static_cast<std::uint8_t>((first + m.row) % codec::kRowsOfChunk);
    next.index = m.row;
    next.leaves = outer_count(header);
    next.node = c.node;
    next.twin = m.facts.momentum_after;
    next.frame = hash_of(op);
    return Step{next, std::nullopt, op};
}

Result<Step> decide(const Cursor& c, const move::PostRow& m) {
    GYM_CHECK(expect(c, Stage::kRow, false));
    GYM_CHECK(check_frame(c, hash_of(m.op)));
    GYM_TRY(const Bytes values, residuals_in(c, m.op, m.residual));
    Cursor next = c;
    next.answered = true;
    next.twin = crypto::keccak256(values);
    return Step{next};
}

Result<Finding> decide(const Cursor& c, const move::ProveRow& m) {
    GYM_CHECK(expect(c, Stage::kRow, true));
    if (crypto::keccak256(m.residuals) != c.twin)
        return fail(ErrorCode::kMismatch, "the residuals are not those that were posted");
    if (m.residuals.size() / kWordBytes > kRowElements)
        return fail(ErrorCode::kMalformed, "a row has 64 elements at most");
    if (m.chunk.empty() || m.chunk.size() > commit::kChunkBytes)
        return fail(ErrorCode::kMalformed, "a chunk of the wrong size");
    if (commit::chunk_leaf(m.chunk) != c.node)
        return fail(ErrorCode::kMismatch, "the chunk is not the one that was posted");
    const std::uint64_t begin = c.height * kRowBytes;
    if (m.place >= kRowBytes || begin + kRowBytes > m.chunk.size())
        return fail(ErrorCode::kOutOfRange, "the chunk has no such byte of the row");
    const ByteView row = ByteView(m.chunk).subspan(begin, kRowBytes);
    return unequal(m.place, word_of(row[m.place]), word_of(row_of_sums(row, m.residuals)[m.place]));
}

Result<Finding> decide(const Cursor& c, const move::ProveUpdate& m) {
    GYM_CHECK(check_frames(c, m));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    if (c.stage == Stage::kColumn) return residual(c, header, m);
    GYM_CHECK(check_posted_chunk(c));
    const bool is_base = has_update(header) && m.outer.tree == OuterTree::kBase;
    const ElementBytes element{m.element, is_base ? kWordBytes : 1};
    GYM_TRY(const std::uint64_t claimed, claimed_in(c, m.op, element, m.posted));
    GYM_TRY(const std::uint64_t computed, is_base ? base_element(header, m) : bare_byte(header, m));
    return unequal(m.element, word_of(claimed), word_of(computed));
}

}  // namespace gym::game::rules
