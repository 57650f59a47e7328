#include "random_game.hpp"

#include <algorithm>

#include "element_opening.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/dispute/delta_layout.hpp"

namespace gym::game::testing {

using commit::MerkleTree;
using dispute::LeafRecord;
using dispute::TracedTensor;

void GameWriter::descend_chunks(const TracedTensor& tensor, std::uint64_t chunk) {
    const MerkleTree tree(tensor.chunk_leaves);
    if (tree.leaf_count() > 1) {
        Cursor root{.stage = Stage::kChunks,
                    .height = static_cast<std::uint8_t>(commit::tree_depth(tree.leaf_count()))};
        move(move::OpenTensor{*transcript_->op(), tree.root(), children_of(tree, root)});
        descend(tree, chunk, true);
    }
    const ByteView content = tensor.chunk(chunk);
    move(move::PostChunk{*transcript_->op(), Bytes(content.begin(), content.end())});
}

void RandomGame::descend_to_token() {
    TracedTensor windows = unit_.windows(step_);
    std::uint64_t element = below(dispute::element_count(windows.shape));
    if (below(2) == 0) windows = with_flipped_bit(windows, 32 * element + below(32));
    if (below(4) == 0) element = below(dispute::element_count(windows.shape));
    const auto batch =
        std::ranges::find(unit_.sample.trace.leaves, LeafRecord::Kind::kBatch, &LeafRecord::kind);
    const auto leaf = static_cast<std::uint32_t>(batch - unit_.sample.trace.leaves.begin());
    leaves_[leaf] = windows.root();
    play_to_step();
    const MerkleTree leaves(leaves_);
    descend(leaves, leaf, false);
    move(move::PickLeaf{frame(), unit_.header, leaf_pick(leaves, leaf),
                        must(unit_.records.leaf(leaf))});
    descend_chunks(windows, element * sizeof(std::int32_t) / commit::kChunkBytes);

    move::ProveToken proof{*transcript_->op(),
                           frame(),
                           transcript_->facts(),
                           unit_.header,
                           element,
                           transcript_->chunk(),
                           unit_.sample.dataset.tokens().size(),
                           {}};
    const std::uint32_t length = unit_.sample.trace.header.window_tokens + 1;
    const std::uint32_t stride = unit_.sample.trace.header.stride;
    const engine::BatchKey key{transcript_->facts().job_seed, transcript_->facts().round,
                               transcript_->facts().slot};
    const auto starts =
        must(engine::window_starts(unit_.sample.dataset, blob::Split::kTrain, length - 1, stride));
    const std::uint64_t token =
        engine::window_start(key, step_, static_cast<std::uint32_t>(element / length),
                             starts.count) *
            stride +
        element % length;
    const MerkleTree dataset(commit::chunk_leaves(unit_.tokens));
    const blob::DatasetHeader& head = unit_.sample.dataset.header();
    const std::uint64_t chunk = token * head.token_bytes() / commit::kChunkBytes;
    const std::uint64_t begin = chunk * commit::kChunkBytes;
    const std::uint64_t end =
        std::min<std::uint64_t>(begin + commit::kChunkBytes, unit_.tokens.size());
    proof.dataset.tree_root = dataset.root();
    proof.dataset.chunks.push_back({Bytes(unit_.tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                                          unit_.tokens.begin() + static_cast<std::ptrdiff_t>(end)),
                                    must(dataset.prove(chunk))});
    if (head.leaf()) proof.dataset.path = {*head.leaf()};
    cases_.push_back({transcript_->at(), proof});
}

void RandomGame::descend_to_delta() {
    TracedTensor delta = *must(unit_.work().delta());
    const program::DeltaCodec codec = unit_.sample.trace.header.delta_codec;
    const bool dense = codec == program::DeltaCodec::kDense;
    const std::uint64_t size = dense ? 1 : 4, words = delta.bytes().size() / size;
    // The head, in codec 1 the first row or so behind it, or any.
    std::uint64_t word = below(3) == 0 ? below(dense ? 80 : 8) : below(words);
    if (dense && below(8) == 0) word = std::min<std::uint64_t>(commit::kChunkBytes, words) - 1;
    if (below(4) != 0) delta = with_flipped_bit(delta, 8 * size * word + below(8 * size));
    if (below(4) == 0) word = below(words);
    commit_to(delta.root());
    move(move::PickDelta{transcript_->facts(), *transcript_->states_root(), unit_.header});
    descend_chunks(delta, size * word / commit::kChunkBytes);
    move::ProveDelta proof{*transcript_->op(),
                           transcript_->facts(),
                           unit_.header,
                           word,
                           transcript_->chunk(),
                           {},
                           {},
                           {}};
    const auto& slots = unit_.sample.trace.state;
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
        const std::uint64_t offset = slots[i].delta_offset, byte = size * word;
        if (offset == 0 || byte < offset || byte >= dispute::delta_end(codec, slots[i]) ||
            (dense && !codec::row_of(byte)))
            continue;
        const std::uint64_t first = dispute::first_element(codec, slots[i], byte);
        auto element = must(unit_.work().slot_element(i, first));
        proof.slot_record = must(unit_.records.state(i));
        proof.final = std::move(element.final);
        proof.base = std::move(element.base);
    }
    cases_.push_back({transcript_->at(), proof});
}

void RandomGame::descend_to_element() {
    const dispute::TraceProgram& trace = unit_.sample.trace;
    const std::uint64_t inputs = trace.header.input_leaves;
    const auto leaf = static_cast<std::uint32_t>(inputs + below(leaves_.size() - inputs));
    const LeafRecord& record = trace.leaves[leaf];
    dispute::MacroTrace& macro = unit_.macro(step_, leaf);
    const auto primitive = static_cast<std::uint32_t>(below(record.count));
    dispute::TensorTrace tensor = must(macro.tensor(primitive));
    const std::uint64_t elements = dispute::element_count(tensor.output.shape);
    std::uint64_t element = below(elements);
    if (below(4) != 0) {
        const std::uint64_t bits = 8 * commit::size_bytes(tensor.output.shape.dtype);
        tensor.output = with_flipped_bit(tensor.output, element * bits + below(bits));
        if (below(8) == 0) element = below(elements);
    }
    std::vector<Digest> primitives = macro.roots();
    primitives[primitive] = tensor.output.root();
    for (std::uint32_t i = 0; i < leaves_.size(); ++i)
        if (trace.leaves[i].count == record.count && trace.leaves[i].first == record.first &&
            trace.leaves[i].kind == LeafRecord::Kind::kComputed)
            leaves_[i] = primitives[trace.leaves[i].writer];
    play_to_step();
    const MerkleTree leaves(leaves_), list(primitives);
    descend(leaves, leaf, false);
    move(move::PickLeaf{frame(), unit_.header, leaf_pick(leaves, leaf),
                        must(unit_.records.leaf(leaf))});
    if (record.count > 1) {
        Cursor root{.stage = Stage::kPrimitives,
                    .height = static_cast<std::uint8_t>(commit::tree_depth(record.count))};
        const bool listed = answer_levels(root.height, kAnswerLevelsMax) == root.height;
        move(move::OpenMacro{*transcript_->op(), list.root(),
                             listed ? std::vector<Digest>() : must(list.prove(record.writer)),
                             children_of(list, root)});
        descend(list, primitive, false);
    }
    move(move::PickPrimitive{*transcript_->op(), unit_.header, leaf_pick(list, primitive),
                             must(unit_.records.primitive(record.first + primitive))});
    const std::uint64_t size = commit::size_bytes(tensor.output.shape.dtype);
    descend_chunks(tensor.output, element * size / commit::kChunkBytes);
    const dispute::testing::OpeningTrees trees{list, leaves, MerkleTree(before_)};
    // The trees of a liar may not have what the operands are: then the proof is refused.
    const dispute::testing::Opening opened =
        must(dispute::testing::open_element(unit_.records, trees, trace, leaf, tensor, element));
    cases_.push_back(
        {transcript_->at(),
         move::ProveElement{*transcript_->op(), frame(), unit_.header, opened.primitive.record,
                            element, transcript_->chunk(), opened.operands}});
}

}  // namespace gym::game::testing
