#include <algorithm>
#include <array>

#include "gym/kernels/philox.h"
#include "rules_common.hpp"

// contracts/src/dispute/FaultRules.sol: between a step's record, its trace leaves and the states
// around it. Each proof needs no look into a macro op.
namespace gym::game::rules {
namespace {

using dispute::LeafRecord;
using dispute::TraceHeader;

enum Field : std::uint8_t { kBatch = 0, kLoss = 1, kGradNorm = 2, kSkipped = 3 };
constexpr std::uint32_t kOne = 0x3F800000;
constexpr std::uint64_t kClockMax = 0x7FFFFFFF;
__extension__ using Uint128 = unsigned __int128;

Result<TraceHeader> enter(const Cursor& c, Stage stage, const StepFrame& frame, ByteView header) {
    GYM_CHECK(expect(c, stage, true));
    GYM_CHECK(check_frame(c, hash_of(frame)));
    return open_header(header, frame.program);
}

/// The record of a trace leaf, once the leaf is shown to be the step's.
Result<LeafRecord> leaf_of(const TraceHeader& header, const StepFrame& frame, const Pick& leaf,
                           const dispute::RecordProof& record) {
    if (record.index != leaf.index) return fail(ErrorCode::kMismatch, "the record of another leaf");
    GYM_CHECK(
        commit::merkle_verify(frame.trace, {leaf.index, header.leaves}, leaf.node, leaf.path));
    return dispute::check_leaf(header, record);
}

/// The root of a tensor of four-byte elements that fits into one chunk.
Digest root_of_words(const dispute::Shape& shape, std::span<const std::uint32_t> words) {
    Bytes content;
    for (const std::uint32_t word : words)
        for (unsigned shift = 0; shift < 32; shift += 8)
            content.push_back(static_cast<std::uint8_t>(word >> shift));
    return dispute::tensor_digest(shape, commit::chunk_leaf(content));
}

/// Step of the job, saturated, and of the unit.
std::vector<std::uint32_t> clock_words(const Facts& facts, std::uint32_t step) {
    const Uint128 job_step = Uint128{facts.round} * facts.steps + step;
    return {static_cast<std::uint32_t>(std::min<Uint128>(job_step, kClockMax)), step};
}

/// Where the step's random numbers are drawn.
std::vector<std::uint32_t> random_words(const Facts& facts, std::uint32_t step) {
    const kernels::PhiloxKey key = kernels::philox_key(facts.job_seed.data.data());
    return {key.word[0], key.word[1], static_cast<std::uint32_t>(facts.round), facts.slot, step};
}

}  // namespace

Result<Finding> decide(const Cursor& c, const move::ProveRecord& m) {
    GYM_TRY(const TraceHeader header, enter(c, Stage::kTrace, m.frame, m.header));
    GYM_TRY(const engine::StepRecord record,
            open_record(m.record, m.frame.hash_before, m.frame.hash_after));
    if (m.field > kSkipped) return fail(ErrorCode::kOutOfRange, "a record has no such field");
    if (m.field == kSkipped && header.skipped == dispute::kNoLeaf)
        return unequal(m.field, word_of(record.skipped ? 1 : 0), Digest{});
    GYM_TRY(const LeafRecord known, leaf_of(header, m.frame, m.leaf, m.leaf_record));
    if (m.field == kBatch) {
        if (known.kind != LeafRecord::Kind::kBatch)
            return fail(ErrorCode::kMismatch, "the leaf is not the batch");
        return unequal(m.field, record.batch_root, m.leaf.node);
    }
    std::uint32_t named = header.loss, bits = record.loss_bits;
    if (m.field == kGradNorm) named = header.grad_norm, bits = record.grad_norm_bits;
    if (m.field == kSkipped) named = header.skipped, bits = record.skipped ? kOne : 0;
    if (m.leaf.index != named || dispute::size_bytes(known.shape) != sizeof bits)
        return fail(ErrorCode::kMismatch, "the leaf is not the field's");
    return unequal(m.field, root_of_words(known.shape, {&bits, 1}), m.leaf.node);
}

Result<Finding> decide(const Cursor& c, const move::ProveInput& m) {
    GYM_TRY(const TraceHeader header, enter(c, Stage::kTrace, m.frame, m.header));
    if (hash_of(m.facts) != m.frame.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the step's");
    GYM_TRY(const LeafRecord known, leaf_of(header, m.frame, m.leaf, m.leaf_record));
    std::vector<std::uint32_t> words;
    if (known.kind == LeafRecord::Kind::kClock)
        words = clock_words(m.facts, m.frame.step);
    else if (known.kind == LeafRecord::Kind::kRandom)
        words = random_words(m.facts, m.frame.step);
    const bool fits = !words.empty() && known.shape.dtype == program::DType::kI32 &&
                      dispute::element_count(known.shape) == words.size();
    if (!fits) return fail(ErrorCode::kMismatch, "the leaf is neither clock nor random position");
    return unequal(m.leaf.index, m.leaf.node, root_of_words(known.shape, words));
}

Result<Finding> decide(const Cursor& c, const move::ProveSlot& m) {
    GYM_TRY(const TraceHeader header, enter(c, Stage::kState, m.frame, m.header));
    GYM_CHECK(check_leaf_pick(c, m.slot));
    if (m.slot_record.index != m.slot.index)
        return fail(ErrorCode::kMismatch, "the record of another slot");
    GYM_TRY(const dispute::StateRecord record, dispute::check_state_record(header, m.slot_record));
    if (m.source.index != record.next.index)
        return fail(ErrorCode::kMismatch, "not the source that the record names");
    const bool computed = record.next.kind == dispute::Source::Kind::kLeaf;
    const Digest& root = computed ? m.frame.trace : m.frame.state_before;
    const std::uint64_t count = computed ? header.leaves : header.state_slots;
    GYM_CHECK(commit::merkle_verify(root, {m.source.index, count}, m.source.node, m.source.path));
    return unequal(m.slot.index, m.slot.node, m.source.node);
}

Result<Finding> decide(const Cursor& c, const move::ProveGradient& m) {
    GYM_TRY(const TraceHeader header, enter(c, Stage::kGradients, m.frame, m.header));
    GYM_CHECK(check_leaf_pick(c, m.gradient));
    if (m.gradient_record.index != m.gradient.index)
        return fail(ErrorCode::kMismatch, "the record of another gradient");
    GYM_TRY(const std::uint32_t leaf, dispute::check_gradient(header, m.gradient_record));
    if (m.source.index != leaf)
        return fail(ErrorCode::kMismatch, "not the leaf that the record names");
    GYM_CHECK(
        commit::merkle_verify(m.frame.trace, {leaf, header.leaves}, m.source.node, m.source.path));
    return unequal(m.gradient.index, m.gradient.node, m.source.node);
}

}  // namespace gym::game::rules
