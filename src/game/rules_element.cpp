#include <algorithm>
#include <array>
#include <vector>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/dispute/element.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/engine/batch.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/philox.h"
#include "rules_common.hpp"

// contracts/src/dispute/ElementRules.sol: one element of one primitive, one token of a window, or a
// word of the unit's delta (with TreeRules.pickDelta): a tensor u8 [size] whose words are a head,
// then for every parameter the difference of its final and its first value; in codec 1 one byte of
// it, whose rows are made of these differences.
namespace gym::game::rules {
namespace {

using dispute::TraceHeader;

/// The last tenth of the tokens, rounded down, validates.
constexpr std::uint64_t kValidationShare = 10;
/// Beyond what any tree has room for.
constexpr std::uint64_t kTokensMax = std::uint64_t{1} << 57;

/// Where in the dataset the token of an element of the windows lies. Training windows begin at
/// multiples of the stride from the first token on.
Result<std::uint64_t> position_of(const move::ProveToken& m, const TraceHeader& header) {
    const std::uint64_t length = std::uint64_t{header.window_tokens} + 1;
    const std::uint64_t training = m.tokens - m.tokens / kValidationShare;
    if (m.tokens > kTokensMax || training < length || header.stride == 0)
        return fail(ErrorCode::kOutOfRange, "the dataset has no room for a window");
    const std::uint64_t starts = (training - length) / header.stride + 1;
    // The fields of a counter are taken modulo their widths.
    const auto low_bits = [](std::uint64_t value, int bits) {
        return value & ((std::uint64_t{1} << bits) - 1);
    };
    const engine::BatchKey key{
        m.facts.job_seed, low_bits(m.facts.round, kernels::kRandomRoundBits),
        static_cast<std::uint32_t>(low_bits(m.facts.slot, kernels::kRandomSlotBits))};
    const std::uint64_t start =
        engine::window_start(key, low_bits(m.step.step, kernels::kRandomStepBits),
                             static_cast<std::uint32_t>(m.element / length), starts);
    return start * header.stride + m.element % length;
}

/// Token number `token` of the dataset. Its root is that of its tokens as a tensor u16, or, with a
/// path of one node, the tree of a head and of its tokens as a tensor u16 or u32: whichever leads
/// to the root.
Result<std::uint64_t> token_at(const move::ProveToken& m, std::uint64_t token) {
    const auto& path = m.dataset.path;
    const Digest& root = m.facts.dataset_root;
    if (path.size() > 1)
        return fail(ErrorCode::kMismatch, "the tokens are not the round's dataset");
    const auto tensor_of = [&](program::DType dtype) {
        return commit::tensor_digest(dtype, {&m.tokens, 1}, m.dataset.tree_root);
    };
    program::DType dtype = program::DType::kU16;
    if (path.size() == 1 && commit::merkle_node(path[0], tensor_of(dtype)) != root)
        dtype = program::DType::kU32;
    GYM_CHECK(commit::merkle_verify(root, {path.size(), path.size() + 1}, tensor_of(dtype), path));
    const std::uint64_t size = commit::size_bytes(dtype);
    GYM_TRY(const Bytes bytes,
            dispute::check_chunks(m.dataset, {m.tokens * size, token * size, size}));
    return little_endian(bytes);
}

/// All of the dtype's bytes.
Result<std::uint64_t> claimed_element(const Cursor& c, const OpFrame& op, std::uint64_t element,
                                      const Bytes& chunk) {
    const std::uint64_t size = op.shape ? commit::size_bytes(op.shape->dtype) : 1;
    return claimed_in(c, op, {element, size}, chunk);
}

using dispute::StateRecord;

constexpr std::string_view kMagic = "GYMDLTA1";

bool is_empty(const dispute::ChunksOpening& opening) {
    return opening.chunks.empty() && opening.path.empty() && opening.tree_root.is_zero();
}

/// The head of a delta, for which nothing is shown.
Result<Bytes> head_of(const TraceHeader& header, const move::ProveDelta& m) {
    if (m.slot_record != dispute::RecordProof{} || !is_empty(m.final) || !is_empty(m.base))
        return fail(ErrorCode::kMalformed, "nothing is to be shown for the delta's head");
    return delta_head(header);
}

/// Some elements of a parameter, before and after the unit.
struct Sides {
    std::vector<float> end, begin;
};

/// Elements `first`, first + 1, ... of the parameter under a state's root.
Result<std::vector<float>> elements(const Digest& state, std::uint32_t slots,
                                    const move::ProveDelta& m, const dispute::ChunksOpening& given,
                                    const StateRecord& slot, const dispute::ByteSpan& span) {
    const Digest root = dispute::tensor_digest(slot.shape, given.tree_root);
    GYM_CHECK(commit::merkle_verify(state, {m.slot_record.index, slots}, root, given.path));
    GYM_TRY(const Bytes bytes, dispute::check_chunks(given, span));
    std::vector<float> values;
    for (std::size_t at = 0; at < bytes.size(); at += kWordBytes)
        values.push_back(kernels::f32::from_bits(
            static_cast<std::uint32_t>(little_endian(ByteView(bytes).subspan(at, kWordBytes)))));
    return values;
}

Result<Sides> both_sides(const TraceHeader& header, const move::ProveDelta& m,
                         const StateRecord& slot, std::uint64_t first, std::uint64_t count) {
    const dispute::ByteSpan span{dispute::size_bytes(slot.shape), first * kWordBytes,
                                 count * kWordBytes};
    Sides sides;
    GYM_TRY(sides.end,
            elements(m.facts.final_state_root, header.state_slots, m, m.final, slot, span));
    GYM_TRY(sides.begin,
            elements(m.facts.initial_state_root, header.state_slots, m, m.base, slot, span));
    return sides;
}

/// The correct word of a delta, from the parameter before and after the unit.
Result<std::uint64_t> difference(const TraceHeader& header, const move::ProveDelta& m) {
    GYM_TRY(const StateRecord slot, dispute::check_state_record(header, m.slot_record));
    const std::uint64_t at = m.word * kWordBytes;
    if (slot.delta_offset == 0 || at < slot.delta_offset ||
        at - slot.delta_offset >= dispute::size_bytes(slot.shape))
        return fail(ErrorCode::kMismatch, "the word does not lie in this slot");
    GYM_TRY(const Sides sides,
            both_sides(header, m, slot, (at - slot.delta_offset) / kWordBytes, 1));
    const kernels::ExactFloatEnvironment environment;
    return std::uint64_t{kernels::f32::to_bits(kernels::f32::sub(sides.end[0], sides.begin[0]))};
}

/// The correct byte of a row, from its elements before and after the unit.
Result<std::uint64_t> row_byte(const TraceHeader& header, const move::ProveDelta& m,
                               const codec::RowByte& at) {
    GYM_TRY(const StateRecord slot, dispute::check_state_record(header, m.slot_record));
    const auto first = codec::row_of(slot.delta_offset);
    const std::uint64_t all = dispute::element_count(slot.shape);
    if (slot.delta_offset == 0 || at.row < first->row || at.row - first->row >= codec::rows_of(all))
        return fail(ErrorCode::kMismatch, "the byte does not lie in this slot");
    const std::uint64_t element = (at.row - first->row) * codec::kRowElements;
    const std::uint64_t count = std::min(codec::kRowElements, all - element);
    GYM_TRY(const Sides sides, both_sides(header, m, slot, element, count));
    const kernels::ExactFloatEnvironment environment;
    std::array<std::uint8_t, codec::kRowBytes> row{};
    kernels::encode_dense_row(kernels::Isa::kScalar, sides.end.data(), sides.begin.data(),
                              static_cast<std::int32_t>(count), row.data());
    return std::uint64_t{row[at.place]};
}

/// The correct byte of a delta of codec 1.
Result<std::uint64_t> dense_byte(const TraceHeader& header, const move::ProveDelta& m) {
    const auto at = codec::row_of(m.word);
    if (at && at->row > 0) return row_byte(header, m, *at);
    GYM_TRY(const Bytes head, head_of(header, m));
    return at && at->place < head.size() ? std::uint64_t{head[at->place]} : std::uint64_t{0};
}

/// The correct word of a delta of codec 0.
Result<std::uint64_t> plain_word(const TraceHeader& header, const move::ProveDelta& m) {
    if (m.word >= dispute::kDeltaHeadBytes / kWordBytes) return difference(header, m);
    GYM_TRY(const Bytes head, head_of(header, m));
    return little_endian(ByteView(head).subspan(m.word * kWordBytes, kWordBytes));
}

}  // namespace

Bytes delta_head(const TraceHeader& header) {
    commit::Encoder head;
    head.raw(as_bytes(kMagic)).u32(static_cast<std::uint32_t>(header.delta_codec));
    return head.u32(header.parameters).take();
}

std::uint64_t little_endian(ByteView bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

Status enter_chunk(const Cursor& c, const OpFrame& op, const Digest& fixed) {
    GYM_CHECK(expect(c, Stage::kChunks, true));
    if (c.height != 0) return wrong_stage(c);
    GYM_CHECK(check_frame(c, hash_of(op)));
    if (fixed != op.step)
        return fail(ErrorCode::kMismatch, "the step, or the unit, is not the tensor's");
    return {};
}

Result<std::uint64_t> claimed_in(const Cursor& c, const OpFrame& op, const ElementBytes& element,
                                 const Bytes& chunk) {
    const std::uint64_t total = op.shape ? dispute::size_bytes(*op.shape) : 0;
    if (element.index >= total / element.size)
        return fail(ErrorCode::kOutOfRange, "the tensor has no such element");
    const std::uint64_t offset = element.index * element.size;
    if (offset / commit::kChunkBytes != c.index)
        return fail(ErrorCode::kOutOfRange, "the chunk that was picked has no such element");
    const std::uint64_t rest = total - c.index * commit::kChunkBytes;
    if (chunk.size() != std::min<std::uint64_t>(rest, commit::kChunkBytes))
        return fail(ErrorCode::kMalformed, "a chunk of the wrong size");
    if (commit::chunk_leaf(chunk) != c.node)
        return fail(ErrorCode::kMismatch, "the chunk is not the one that was posted");
    return little_endian(ByteView(chunk).subspan(offset % commit::kChunkBytes, element.size));
}

Result<Finding> decide(const Cursor& c, const move::ProveElement& m) {
    GYM_CHECK(enter_chunk(c, m.op, hash_of(m.step)));
    if (m.op.record.is_zero() || dispute::primitive_digest(m.primitive) != m.op.record)
        return fail(ErrorCode::kMismatch, "the record is not the primitive's that was picked");
    GYM_TRY(const std::uint64_t claimed, claimed_element(c, m.op, m.element, m.chunk));
    GYM_TRY(dispute::PrimitiveRecord record, dispute::decode_primitive(m.primitive));
    GYM_TRY(const dispute::ElementOp op, dispute::ElementOp::create(std::move(record)));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    const dispute::OperandLists lists{{m.op.macro_root, m.op.count},
                                      {m.step.trace, header.leaves},
                                      {m.step.state_before, header.state_slots}};
    GYM_TRY(const Bytes computed, dispute::compute_element(op, lists, m.operands, m.element));
    return unequal(m.element, word_of(claimed), word_of(little_endian(computed)));
}

Result<Finding> decide(const Cursor& c, const move::ProveToken& m) {
    GYM_CHECK(enter_chunk(c, m.op, hash_of(m.step)));
    if (m.op.count != 0 || m.op.leaf == dispute::kNoLeaf)
        return fail(ErrorCode::kConflict, "the tensor is not a step's windows");
    if (hash_of(m.facts) != m.step.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the step's");
    GYM_TRY(const std::uint64_t claimed, claimed_element(c, m.op, m.element, m.chunk));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    GYM_TRY(const std::uint64_t position, position_of(m, header));
    GYM_TRY(const std::uint64_t token, token_at(m, position));
    return unequal(m.element, word_of(claimed), word_of(token));
}

Result<Step> decide(const Cursor& c, const move::PickDelta& m) {
    GYM_CHECK(expect(c, Stage::kSteps, true));
    const Digest facts_hash = hash_of(m.facts);
    GYM_CHECK(check_frame(c, steps_frame(facts_hash, m.states_root)));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.facts.trace_root));
    OpFrame op;
    op.step = facts_hash;
    op.program = m.facts.trace_root;
    op.leaf = dispute::kNoLeaf;
    op.shape = dispute::delta_shape(header);
    Cursor next;
    next.stage = Stage::kTensor;
    next.leaves = chunk_count(*op.shape);
    next.node = m.facts.delta_root;
    next.frame = hash_of(op);
    return Step{next, std::nullopt, op};
}

Result<Finding> decide(const Cursor& c, const move::ProveDelta& m) {
    GYM_CHECK(enter_chunk(c, m.op, hash_of(m.facts)));
    if (m.op.leaf != dispute::kNoLeaf)
        return fail(ErrorCode::kConflict, "the tensor is not the delta");
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    const bool dense = header.delta_codec == program::DeltaCodec::kDense;
    GYM_TRY(const std::uint64_t claimed,
            claimed_in(c, m.op, ElementBytes{m.word, dense ? 1 : kWordBytes}, m.chunk));
    GYM_TRY(const std::uint64_t computed, dense ? dense_byte(header, m) : plain_word(header, m));
    return unequal(m.word, word_of(claimed), word_of(computed));
}

}  // namespace gym::game::rules
