#include "rules_common.hpp"

// contracts/src/dispute/StepRules.sol: from a step to a chunk.
namespace gym::game::rules {
namespace {

using dispute::LeafRecord;

/// Checks a record before anything is computed: it must be the chain's, of this step, with the
/// roots that the round asks for.
Status check_record(const StepFrame& frame, const Facts& facts, ByteView bytes) {
    GYM_TRY(const engine::StepRecord record,
            open_record(bytes, frame.hash_before, frame.hash_after));
    if (record.step != frame.step) return fail(ErrorCode::kMismatch, "the record's step");
    const std::uint64_t next = std::uint64_t{frame.step} + 1;
    const bool checkpoint =
        next == facts.steps || (facts.checkpoint_every != 0 && next % facts.checkpoint_every == 0);
    if (record.state_root.has_value() != checkpoint ||
        record.gradient_root.has_value() != checkpoint)
        return fail(ErrorCode::kMismatch, "records have roots at checkpoints and nowhere else");
    if (checkpoint && *record.state_root != frame.state_after)
        return fail(ErrorCode::kMismatch, "the record's state root is not the step's");
    return {};
}

Status check_tensor(const OpFrame& frame, const Digest& tree_root, const Digest& root) {
    GYM_CHECK(check_not_zero(tree_root));
    const Digest computed = dispute::tensor_digest(*frame.shape, tree_root);
    if (computed == root) return {};
    return fail(ErrorCode::kMismatch,
                "the chunks lead to " + computed.hex() + ", not to " + root.hex());
}

Status check_shape(const OpFrame& frame) {
    if (frame.shape.has_value()) return {};
    return fail(ErrorCode::kMismatch, "no tensor was picked");
}

}  // namespace

Result<Step> decide(const Cursor& c, const move::OpenStep& m) {
    GYM_CHECK(expect(c, Stage::kStep, false));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    if (hash_of(m.facts) != m.frame.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the step's");
    GYM_CHECK(check_record(m.frame, m.facts, m.record));
    GYM_TRY(const dispute::TraceHeader header, open_header(m.header, m.frame.program));
    StepFrame opened = m.frame;
    opened.trace = m.trace;
    GYM_TRY(Cursor next, root_of(Stage::kTrace, m.trace, header.leaves, hash_of(opened)));
    GYM_CHECK(check_children(next, m.trace, m.children, kAnswerLevelsMax));
    next.answered = true;
    return Step{next, opened};
}

Result<Step> decide(const Cursor& c, const move::PickTree& m) {
    GYM_CHECK(expect(c, Stage::kTrace, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    GYM_TRY(const dispute::TraceHeader header, open_header(m.header, m.frame.program));
    if (m.record.empty()) {
        GYM_TRY(const Cursor next,
                root_of(Stage::kState, m.frame.state_after, header.state_slots, c.frame));
        return Step{next};
    }
    GYM_TRY(const engine::StepRecord record,
            open_record(m.record, m.frame.hash_before, m.frame.hash_after));
    GYM_TRY(const Cursor next, root_of(Stage::kGradients, record.gradient_root.value_or(Digest{}),
                                       header.gradients, c.frame));
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PickLeaf& m) {
    GYM_CHECK(expect(c, Stage::kTrace, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    GYM_CHECK(check_leaf_pick(c, m.to));
    if (m.leaf_record.index != m.to.index)
        return fail(ErrorCode::kMismatch, "the record of another leaf");
    GYM_TRY(const dispute::TraceHeader header, open_header(m.header, m.frame.program));
    GYM_TRY(const LeafRecord leaf, dispute::check_leaf(header, m.leaf_record));
    OpFrame op;
    op.step = c.frame;
    op.program = m.frame.program;
    op.leaf = m.leaf_record.index;
    Cursor next;
    next.node = m.to.node;
    if (leaf.kind == LeafRecord::Kind::kComputed) {
        op.first = leaf.first;
        op.count = leaf.count;
        op.writer = leaf.writer;
        next.stage = Stage::kMacro;
        if (leaf.count == 1) {
            // The list of one primitive is its output, which is the leaf.
            next.stage = Stage::kPrimitives;
            next.answered = true;
            next.leaves = 1;
            op.macro_root = m.to.node;
        }
    } else {
        // Other inputs are decided at once: proveInput.
        if (leaf.kind != LeafRecord::Kind::kBatch)
            return fail(ErrorCode::kConflict, "this input is decided without descent");
        op.shape = leaf.shape;
        next.stage = Stage::kTensor;
        next.leaves = chunk_count(leaf.shape);
    }
    next.frame = hash_of(op);
    return Step{next, std::nullopt, op};
}

Result<Step> decide(const Cursor& c, const move::OpenMacro& m) {
    GYM_CHECK(expect(c, Stage::kMacro, false));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    OpFrame opened = m.frame;
    opened.macro_root = m.root;
    GYM_TRY(Cursor next, root_of(Stage::kPrimitives, m.root, m.frame.count, hash_of(opened)));
    GYM_CHECK(check_children(next, m.root, m.children, kAnswerLevelsMax));
    next.answered = true;
    if (!lists_leaves(next, kAnswerLevelsMax)) {
        GYM_CHECK(
            commit::merkle_verify(m.root, {m.frame.writer, m.frame.count}, c.node, m.writer_path));
        return Step{next, std::nullopt, opened};
    }
    if (!m.writer_path.empty())
        return fail(ErrorCode::kMalformed, "the children are the leaves: no path is needed");
    if (m.frame.writer >= m.children.size())
        return fail(ErrorCode::kOutOfRange, "no primitive writes the leaf");
    if (m.children[m.frame.writer] != c.node)
        return fail(ErrorCode::kMismatch, "the writer's output is not the leaf that was picked");
    return Step{next, std::nullopt, opened};
}

Result<Step> decide(const Cursor& c, const move::PickPrimitive& m) {
    GYM_CHECK(expect(c, Stage::kPrimitives, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    GYM_CHECK(check_leaf_pick(c, m.to));
    GYM_TRY(const dispute::TraceHeader header, open_header(m.header, m.frame.program));
    if (m.primitive.index != m.frame.first + m.to.index)
        return fail(ErrorCode::kMismatch, "the record of another primitive");
    GYM_TRY(const dispute::PrimitiveRecord record, dispute::check_primitive(header, m.primitive));
    OpFrame op = m.frame;
    op.record = dispute::primitive_digest(m.primitive.record);
    op.shape = record.output;
    op.primitive = static_cast<std::uint32_t>(m.to.index);
    Cursor next;
    next.stage = Stage::kTensor;
    next.leaves = chunk_count(record.output);
    next.node = m.to.node;
    next.frame = hash_of(op);
    return Step{next, std::nullopt, op};
}

Result<Step> decide(const Cursor& c, const move::OpenTensor& m) {
    GYM_CHECK(expect(c, Stage::kTensor, false));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    // A tensor of one chunk is opened by the chunk itself.
    if (c.leaves < 2) return wrong_stage(c);
    GYM_CHECK(check_shape(m.frame));
    GYM_CHECK(check_tensor(m.frame, m.tree_root, c.node));
    GYM_TRY(Cursor next, root_of(Stage::kChunks, m.tree_root, c.leaves, c.frame));
    GYM_CHECK(check_children(next, m.tree_root, m.children, kAnswerLevelsMax));
    next.answered = true;
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PostChunk& m) {
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    GYM_CHECK(check_shape(m.frame));
    if (c.index >= chunk_count(*m.frame.shape))
        return fail(ErrorCode::kOutOfRange, "the tensor has no such chunk");
    const std::uint64_t rest = dispute::size_bytes(*m.frame.shape) - c.index * commit::kChunkBytes;
    if (m.content.size() != std::min<std::uint64_t>(rest, commit::kChunkBytes))
        return fail(ErrorCode::kMalformed, "a chunk of the wrong size");
    const Digest leaf = commit::chunk_leaf(m.content);
    Cursor next = c;
    next.answered = true;
    if (c.stage == Stage::kTensor && c.leaves == 1) {
        GYM_CHECK(check_tensor(m.frame, leaf, c.node));
        next.stage = Stage::kChunks;
        next.node = leaf;
        return Step{next};
    }
    if (c.stage != Stage::kChunks || c.height != 0) return wrong_stage(c);
    if (leaf != c.node) return fail(ErrorCode::kMismatch, "the bytes are not the chunk's");
    return Step{next};
}

}  // namespace gym::game::rules
