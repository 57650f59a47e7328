#include "gym/crypto/keccak.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/game/column_parts.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/train_program.hpp"
#include "outer_proofs.hpp"

// One element of all deltas of an aggregate. contracts/src/dispute/OuterRules.sol: its values, or
// of many what each part of them adds. OuterProofs.sol: a value, a part, the element that the outer
// step makes of all.
namespace gym::game::rules {
namespace {

using dispute::TraceHeader;

dispute::DeltaCount count_of(const OuterFrame& frame) {
    return {frame.deltas, counted_by(frame, frame.deltas)};
}

}  // namespace

Status enter_column(const Cursor& c, const OpFrame& op, const OuterFrame& outer,
                    const Bytes& posted) {
    if ((c.stage != Stage::kColumn && c.stage != Stage::kPart) || !c.answered)
        return wrong_stage(c);
    GYM_CHECK(check_frame(c, hash_of(op)));
    if (hash_of(outer) != op.step || outer.deltas != c.leaves)
        return fail(ErrorCode::kMismatch, "the tensor is another aggregate's");
    if (crypto::keccak256(posted) != c.twin)
        return fail(ErrorCode::kMismatch, "the values are not those that were posted");
    if (posted.empty() || posted.size() != column_bytes(c))
        return fail(ErrorCode::kMalformed, "a column has a value of every delta");
    if (outer.deltas > program::kDeltasMax)
        return fail(ErrorCode::kOutOfRange, "no aggregate has so many deltas");
    return {};
}

dispute::OuterElement step_of(const TraceHeader& header, const dispute::OuterElement& before,
                              const Bytes& posted, const OuterFrame& frame) {
    if (dispute::column_parts(frame.deltas) != 0)
        return dispute::outer_element(header, before, decode_parts(posted), count_of(frame));
    const std::vector<float> values = floats_of(posted);
    return dispute::outer_element(header, before, values.data(), count_of(frame));
}

Result<Step> decide(const Cursor& c, const move::PostColumn& m) {
    if ((c.stage != Stage::kColumn && c.stage != Stage::kPart) || c.answered) return wrong_stage(c);
    if (first_of_column(c) > c.leaves)
        return fail(ErrorCode::kOutOfRange, "the column has no such part");
    if (m.values.size() != column_bytes(c))
        return fail(ErrorCode::kMalformed,
                    "a column has a value of every delta, and a long one 9 bytes a part");
    Cursor next = c;
    next.answered = true;
    next.twin = crypto::keccak256(m.values);
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PickPart& m) {
    GYM_CHECK(expect(c, Stage::kColumn, true));
    if (crypto::keccak256(m.added) != c.twin || m.added.size() != column_bytes(c))
        return fail(ErrorCode::kMismatch, "the parts are not those that were posted");
    if (m.part >= dispute::column_parts(c.leaves))
        return fail(ErrorCode::kOutOfRange, "the column has no such part");
    const std::vector<dispute::ColumnPart> parts = decode_parts(m.added);
    Cursor next;
    next.stage = Stage::kPart;
    next.height = m.part;
    next.index = c.index;
    next.leaves = c.leaves;
    next.node = part_node(parts[m.part], dispute::exponent_of(parts));
    next.frame = c.frame;
    return Step{next};
}

Result<Finding> decide(const Cursor& c, const move::ProvePart& m) {
    if (c.stage != Stage::kPart) return wrong_stage(c);
    GYM_CHECK(enter_column(c, m.op, m.outer, m.values));
    const kernels::ExactFloatEnvironment environment;
    return unequal(c.height, c.node, part_node_of(floats_of(m.values), c, count_of(m.outer)));
}

Result<Finding> decide(const Cursor& c, const move::ProveColumn& m) {
    GYM_CHECK(enter_column(c, m.op, m.outer, m.values));
    if (c.stage == Stage::kColumn && dispute::column_parts(c.leaves) != 0)
        return fail(ErrorCode::kConflict, "what parts add is no value of a delta");
    const std::uint32_t first = first_of_column(c);
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    if (dispute::state_record_digest(m.slot.record) != m.op.record)
        return fail(ErrorCode::kMismatch, "the record is not the parameter's that was picked");
    GYM_TRY(const dispute::StateRecord slot, dispute::check_state_record(header, m.slot));
    if (m.position < first || m.position - first >= m.values.size() / kWordBytes)
        return fail(ErrorCode::kOutOfRange, "no delta has this position");
    const Digest delta = dispute::tensor_digest(dispute::delta_shape(header), m.delta.tree_root);
    GYM_CHECK(commit::merkle_verify(m.outer.deltas_root, {m.position, m.outer.deltas}, delta,
                                    m.delta.path));
    // Every codec gives an element half a byte at least, so that nothing below overflows.
    const bool has_element = slot.delta_offset != 0 && c.index < 2 * header.delta_bytes;
    const auto span =
        has_element ? dispute::delta_span(header.delta_codec, slot, c.index) : dispute::DeltaSpan{};
    if (!has_element || span.begin + span.length > header.delta_bytes)
        return fail(ErrorCode::kOutOfRange, "the delta has no such element");
    GYM_TRY(const Bytes bytes,
            dispute::check_chunks(m.delta, {header.delta_bytes, span.begin, span.length}));
    const std::uint64_t claimed =
        little_endian(ByteView(m.values).subspan((m.position - first) * kWordBytes, kWordBytes));
    const std::uint64_t word = dispute::delta_element(header.delta_codec, c.index, bytes);
    return unequal(m.position, word_of(claimed), word_of(word));
}

Result<Finding> decide(const Cursor& c, const move::ProveOuter& m) {
    GYM_CHECK(expect(c, Stage::kColumn, true));
    GYM_CHECK(enter_column(c, m.op, m.outer, m.values));
    if (hash_of(m.facts) != m.outer.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the aggregate's");
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    const bool is_base = m.outer.tree == OuterTree::kBase;
    if (m.op.primitive >= header.parameters || (is_base && has_update(header)))
        return fail(ErrorCode::kConflict, "proveUpdate decides what an update moves or leaves");
    dispute::OuterElement before;
    GYM_TRY(before.base, element_under({m.facts.base_root, m.op.primitive, header.parameters}, m.op,
                                       c.index, m.base));
    GYM_TRY(before.momentum,
            element_under({m.facts.momentum_root, m.op.primitive, outer_count(header)}, m.op,
                          c.index, m.momentum));
    const kernels::ExactFloatEnvironment environment;
    const dispute::OuterElement after = step_of(header, before, m.values, m.outer);
    const float computed = is_base ? after.base : after.momentum;
    return unequal(c.index, c.node, word_of(kernels::f32::to_bits(computed)));
}

}  // namespace gym::game::rules
