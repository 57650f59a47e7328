#include <algorithm>

#include "challenger.hpp"
#include "gym/commit/dtype.hpp"
#include "gym/engine/batch.hpp"
#include "gym/program/train_program.hpp"

namespace gym::game {

using dispute::Source;

Result<Move> Challenge::primitives() {
    const OpFrame& op = *line_.op();
    GYM_TRY(const std::vector<Digest>* primitives, own_.primitives(line_.step()->step, op.leaf));
    const PostedTree outputs(line_, Stage::kPrimitives, *primitives);
    const auto first = outputs.first_difference(at_);
    if (!first) return no_fault("in the op's primitives");
    if (first->height > 0) return Move(move::PickNode{pick_below(outputs, *first, at_)});
    const auto primitive = static_cast<std::uint32_t>(first->index);
    GYM_TRY(dispute::RecordProof proof, own_.records().primitive(op.first + primitive));
    return Move(
        move::PickPrimitive{op, header(), pick_below(outputs, *first, at_), std::move(proof)});
}

/// What the tensor must be.
Result<const dispute::TracedTensor*> Challenge::disputed() {
    const OpFrame& op = *line_.op();
    if (op.leaf == dispute::kNoLeaf) return own_.delta();
    if (op.count == 0) return own_.windows(line_.step()->step);
    GYM_TRY(const dispute::TensorTrace* tensor,
            own_.tensor(line_.step()->step, op.leaf, op.primitive));
    return &tensor->output;
}

Result<Move> Challenge::chunks() {
    GYM_TRY(const dispute::TracedTensor* tensor, disputed());
    const PostedTree chunks(line_, Stage::kChunks, tensor->chunk_leaves);
    const auto first = chunks.first_difference(at_);
    if (!first) return no_fault("in the tensor's chunks");
    return Move(move::PickNode{pick_below(chunks, *first, at_)});
}

/// The first byte that is wrong in the chunk that was posted, and what must be there.
Result<Move> Challenge::element() {
    GYM_TRY(const dispute::TracedTensor* tensor, disputed());
    const ByteView mine = tensor->chunk(at_.index);
    const Bytes& theirs = line_.chunk();
    if (mine.size() != theirs.size()) return no_fault("that is in the tensor");
    const auto wrong = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
    if (static_cast<std::size_t>(wrong) == mine.size()) return no_fault("in the chunk");
    const std::uint64_t byte = at_.index * commit::kChunkBytes + static_cast<std::uint64_t>(wrong);
    const OpFrame& op = *line_.op();
    if (op.leaf == dispute::kNoLeaf) return prove_delta(byte / sizeof(float));
    const std::uint64_t element = byte / commit::size_bytes(tensor->shape.dtype);
    return op.count == 0 ? prove_token(element) : prove_element(element);
}

Result<Move> Challenge::prove_element(std::uint64_t element) {
    const OpFrame& op = *line_.op();
    const std::uint32_t step_number = line_.step()->step;
    GYM_TRY(const dispute::StepTrace* step, own_.step(step_number));
    GYM_TRY(const std::vector<Digest>* primitives, own_.primitives(step_number, op.leaf));
    GYM_TRY(const dispute::TensorTrace* tensor, own_.tensor(step_number, op.leaf, op.primitive));
    const dispute::PrimitiveRecord& record = own_.trace().primitives[op.first + op.primitive];
    // Operands lie left of the first difference: own tensors, with paths in the asserter's trees.
    const auto path_of = [&](const Source& source) -> Result<std::vector<Digest>> {
        if (source.kind == Source::Kind::state)
            return commit::merkle_prove(step->before_roots, source.index);
        const bool leaf = source.kind == Source::Kind::leaf;
        const PostedTree tree(line_, leaf ? Stage::kTrace : Stage::kPrimitives,
                              leaf ? step->leaf_roots : *primitives);
        return tree.path({0, source.index});
    };
    GYM_TRY(auto operands, dispute::open_operands(record, *tensor, element, path_of));
    return Move(move::ProveElement{op, *line_.step(), header(), encode(record), element,
                                   line_.chunk(), std::move(operands)});
}

Result<Move> Challenge::prove_token(std::uint64_t element) {
    const Facts& facts = line_.facts();
    const dispute::TraceHeader& h = own_.trace().header;
    const std::uint64_t tokens = own_.dataset_tokens();
    const std::uint64_t length = std::uint64_t{h.window_tokens} + 1;
    const std::uint64_t training = tokens - tokens / 10;  // the last tenth validates
    if (training < length || h.stride == 0)
        return fail(ErrorCode::kConflict, "the dataset has no window");
    const std::uint64_t starts = (training - length) / h.stride + 1;
    const std::uint64_t start =
        engine::window_start({facts.job_seed, facts.round, facts.slot}, line_.step()->step,
                             static_cast<std::uint32_t>(element / length), starts);
    GYM_TRY(auto dataset, own_.dataset_chunk(start * h.stride + element % length));
    return Move(move::ProveToken{*line_.op(), *line_.step(), facts, header(), element,
                                 line_.chunk(), tokens, std::move(dataset)});
}

Result<Move> Challenge::prove_delta(std::uint64_t word) {
    move::ProveDelta move{*line_.op(), line_.facts(), header(), word, line_.chunk(), {}, {}, {}};
    const std::uint64_t byte = word * sizeof(float);
    const auto& slots = own_.trace().state;
    const auto slot = std::ranges::find_if(slots, [&](const dispute::StateRecord& record) {
        return record.delta_offset != 0 && record.delta_offset <= byte &&
               byte - record.delta_offset < size_bytes(record.shape);
    });
    if (slot == slots.end()) return Move(std::move(move));  // the head
    const auto index = static_cast<std::uint32_t>(slot - slots.begin());
    GYM_TRY(move.slot_record, own_.records().state(index));
    GYM_TRY(UnitWork::SlotElement sides,
            own_.slot_element(index, (byte - slot->delta_offset) / sizeof(float)));
    move.final = std::move(sides.final);
    move.base = std::move(sides.base);
    return Move(std::move(move));
}

}  // namespace gym::game
