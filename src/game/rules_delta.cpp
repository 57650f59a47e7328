#include <algorithm>

#include "gym/commit/codec.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "rules_common.hpp"

// The unit's delta (TreeRules.pickDelta, ElementRules.proveDelta): a tensor u8 [size] whose words
// are a head, then for every parameter the difference of its final and its first value.
namespace gym::game::rules {
namespace {

using dispute::StateRecord;
using dispute::TraceHeader;

constexpr std::string_view kMagic = "GYMDLTA1";
constexpr std::uint32_t kCodec = 0;

dispute::Shape delta_shape(const TraceHeader& header) {
    return {program::DType::u8, {static_cast<std::uint32_t>(header.delta_bytes)}};
}

bool is_empty(const dispute::ChunksOpening& opening) {
    return opening.chunks.empty() && opening.path.empty() && opening.tree_root.is_zero();
}

Result<std::uint64_t> head_word(const TraceHeader& header, const move::ProveDelta& m) {
    if (m.slot_record != dispute::RecordProof{} || !is_empty(m.final) || !is_empty(m.base))
        return fail(ErrorCode::kMalformed, "nothing is to be shown for the delta's head");
    commit::Encoder head;
    head.raw(as_bytes(kMagic)).u32(kCodec).u32(header.parameters);
    return little_endian(ByteView(head.view()).subspan(m.word * kWordBytes, kWordBytes));
}

/// The parameter's element under a state's root.
Result<float> parameter(const Digest& state, std::uint32_t slots, const move::ProveDelta& m,
                        const dispute::ChunksOpening& given, const StateRecord& slot,
                        std::uint64_t offset) {
    const Digest root = dispute::tensor_digest(slot.shape, given.tree_root);
    GYM_CHECK(commit::merkle_verify(state, {m.slot_record.index, slots}, root, given.path));
    GYM_TRY(const Bytes bytes,
            dispute::check_chunks(given, {dispute::size_bytes(slot.shape), offset, kWordBytes}));
    return kernels::f32::from_bits(static_cast<std::uint32_t>(little_endian(bytes)));
}

/// What the word must be that lies in a parameter.
Result<std::uint64_t> difference(const TraceHeader& header, const move::ProveDelta& m) {
    GYM_TRY(const StateRecord slot, dispute::check_state_record(header, m.slot_record));
    const std::uint64_t at = m.word * kWordBytes;
    if (slot.delta_offset == 0 || at < slot.delta_offset ||
        at - slot.delta_offset >= dispute::size_bytes(slot.shape))
        return fail(ErrorCode::kMismatch, "the word does not lie in this slot");
    const std::uint64_t offset = at - slot.delta_offset;
    GYM_TRY(const float end,
            parameter(m.facts.final_state_root, header.state_slots, m, m.final, slot, offset));
    GYM_TRY(const float begin,
            parameter(m.facts.initial_state_root, header.state_slots, m, m.base, slot, offset));
    const kernels::ExactFloatEnvironment environment;
    return std::uint64_t{kernels::f32::to_bits(kernels::f32::sub(end, begin))};
}

}  // namespace

Result<Step> decide(const Cursor& c, const move::PickDelta& m) {
    GYM_CHECK(expect(c, Stage::kSteps, true));
    const Digest facts_hash = hash_of(m.facts);
    GYM_CHECK(check_frame(c, steps_frame(facts_hash, m.states_root)));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.facts.trace_root));
    OpFrame op;
    op.step = facts_hash;
    op.program = m.facts.trace_root;
    op.leaf = dispute::kNoLeaf;
    op.shape = delta_shape(header);
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
    GYM_TRY(const std::uint64_t claimed, claimed_in(c, m.op, Word{m.word, kWordBytes}, m.chunk));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.op.program));
    const bool head = m.word < dispute::kDeltaHeadBytes / kWordBytes;
    GYM_TRY(const std::uint64_t computed, head ? head_word(header, m) : difference(header, m));
    return unequal(m.word, word_of(claimed), word_of(computed));
}

}  // namespace gym::game::rules
