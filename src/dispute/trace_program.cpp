#include "gym/dispute/trace_program.hpp"

#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/engine/step_inputs.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/train_program.hpp"

namespace gym::dispute {
namespace {

using program::kNoSlot;
using program::Op;
using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

LeafRecord::Kind input_kind(const std::string& name) {
    if (name == program::kBatchInput) return LeafRecord::Kind::kBatch;
    if (name == program::kClockInput) return LeafRecord::Kind::kClock;
    if (name == program::kRandomInput) return LeafRecord::Kind::kRandom;
    return LeafRecord::Kind::kOther;
}

class Writer {
  public:
    explicit Writer(const Program& program) : program_(program), sources_(program.slots().size()) {}

    Result<TraceProgram> write() {
        sources_of_named_slots();
        auto next_temp = static_cast<SlotId>(program_.slots().size());
        for (const Op& op : program_.ops()) {
            // Temps get the ids that expand(Program) gives them, one macro op after the other.
            const program::Expansion expansion = expand(program_.slots(), op, next_temp);
            next_temp += static_cast<SlotId>(expansion.temps.size());
            if (trace_.primitives.size() + expansion.ops.size() > program::kOpsMax)
                return fail(ErrorCode::kOutOfRange, "the expansion has more than 2^16 primitives");
            write_macro(op, expansion);
        }
        GYM_CHECK(write_state());
        GYM_CHECK(write_header());
        return std::move(trace_);
    }

  private:
    void sources_of_named_slots() {
        std::uint32_t state = 0;
        for (SlotId id = 0; id < program_.slots().size(); ++id) {
            const Slot& slot = program_.slot(id);
            switch (slot.kind) {
                case SlotKind::kInput:
                    add_leaf(id, {.kind = input_kind(slot.name), .shape = shape_of(slot)});
                    break;
                case SlotKind::kParam:
                case SlotKind::kState:
                    sources_[id] = {Source::Kind::kState, state++, {}};
                    break;
                case SlotKind::kConstant: {
                    const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
                    sources_[id] = {Source::Kind::kConstant, 0,
                                    commit::tensor_root(slot.dtype, dims, slot.value)};
                    break;
                }
                case SlotKind::kTemp:
                    break;  // a leaf when the op that writes it is reached
            }
        }
        trace_.header.input_leaves = static_cast<std::uint32_t>(trace_.leaves.size());
    }

    void add_leaf(SlotId id, LeafRecord record) {
        sources_[id] = {Source::Kind::kLeaf, static_cast<std::uint32_t>(trace_.leaves.size()), {}};
        trace_.leaves.push_back(std::move(record));
    }

    void write_macro(const Op& op, const program::Expansion& expansion) {
        // Writers of the macro op's slots so far, its own outputs among them: these are not agreed
        // on when the macro op is disputed, so they are primitives and not leaves.
        std::vector<std::uint32_t> writers(expansion.temps.size() + op.outputs.size(), kNoLeaf);
        const auto local = [&](SlotId id) -> std::uint32_t* {
            if (id >= expansion.first_temp) return &writers[id - expansion.first_temp];
            for (std::size_t k = 0; k < op.outputs.size(); ++k)
                if (op.outputs[k] == id) return &writers[expansion.temps.size() + k];
            return nullptr;
        };
        const auto slot = [&](SlotId id) -> const Slot& {
            return id >= expansion.first_temp ? expansion.temps[id - expansion.first_temp]
                                              : program_.slot(id);
        };
        const MacroRange range{static_cast<std::uint32_t>(trace_.primitives.size()),
                               static_cast<std::uint32_t>(expansion.ops.size()),
                               static_cast<std::uint32_t>(trace_.leaves.size()),
                               static_cast<std::uint32_t>(op.outputs.size())};
        for (std::uint32_t i = 0; i < range.primitives; ++i) {
            const Op& primitive = expansion.ops[i];
            PrimitiveRecord record{
                primitive.code, shape_of(slot(primitive.outputs[0])), primitive.attributes, {}};
            for (const SlotId id : primitive.inputs) {
                const std::uint32_t* writer = local(id);
                const Source source = writer != nullptr
                                          ? Source{Source::Kind::kPrimitive, *writer, {}}
                                          : sources_[id];
                record.inputs.push_back({source, shape_of(slot(id))});
            }
            *local(primitive.outputs[0]) = i;
            trace_.primitives.push_back(std::move(record));
        }
        for (const SlotId id : op.outputs)
            add_leaf(id, {.shape = shape_of(slot(id)),
                          .first = range.first_primitive,
                          .count = range.primitives,
                          .writer = *local(id)});
        trace_.macros.push_back(range);
    }

    Status write_state() {
        TraceHeader& h = trace_.header;
        GYM_TRY(h.delta_codec, program::delta_codec(program_));
        GYM_TRY(h.update_codec, program::update_codec(program_));
        if (h.delta_codec == program::DeltaCodec::kDense) h.delta_bytes = codec::row_begin(1);
        for (const Slot& slot : program_.slots()) {
            const bool parameter = slot.kind == SlotKind::kParam;
            if (!parameter && slot.kind != SlotKind::kState) continue;
            // Itself, or the temp that a macro op writes: validate.hpp.
            StateRecord record{shape_of(slot), sources_[slot.next], 0, 0};
            if (parameter) {
                record.delta_offset = h.delta_bytes;
                record.parameter = h.parameters++;
                h.delta_bytes = delta_end(h.delta_codec, record);
            }
            // After every slot, so that the sum cannot overflow.
            if (h.delta_bytes > kDeltaBytesMax)
                return fail(
                    ErrorCode::kOutOfRange,
                    "the parameters' delta has more than 2^40 bytes: a delta of them cannot "
                    "be disputed");
            trace_.state.push_back(std::move(record));
        }
        return {};
    }

    Result<std::uint32_t> leaf_of(SlotId id, std::string_view name) const {
        if (sources_[id].kind == Source::Kind::kLeaf) return sources_[id].index;
        return fail(ErrorCode::kInvalidArgument,
                    "output '" + std::string(name) + "' is not computed by any op");
    }

    Status write_header() {
        TraceHeader& h = trace_.header;
        for (const auto& output : program_.outputs()) {
            std::uint32_t* leaf = output.name == program::kLossOutput       ? &h.loss
                                  : output.name == program::kGradNormOutput ? &h.grad_norm
                                  : output.name == program::kSkippedOutput  ? &h.skipped
                                                                            : nullptr;
            const bool gradient = output.name.starts_with(program::kGradientPrefix);
            if (leaf == nullptr && !gradient) continue;
            GYM_TRY(const std::uint32_t index, leaf_of(output.slot, output.name));
            if (leaf != nullptr) *leaf = index;
            if (gradient) trace_.gradients.push_back(index);
        }
        GYM_CHECK(write_batch());
        h.outer_learning_rate = constant_bits(program::kOuterLearningRate);
        h.outer_momentum = constant_bits(program::kOuterMomentum);
        h.leaves = static_cast<std::uint32_t>(trace_.leaves.size());
        h.primitives = static_cast<std::uint32_t>(trace_.primitives.size());
        h.state_slots = static_cast<std::uint32_t>(trace_.state.size());
        h.gradients = static_cast<std::uint32_t>(trace_.gradients.size());
        write_roots();
        return {};
    }

    Status write_batch() {
        if (program_.find_slot(program::kBatchInput) == kNoSlot) return {};
        GYM_TRY(const engine::BatchShape shape, engine::batch_shape(program_));
        TraceHeader& h = trace_.header;
        h.windows = shape.windows;
        h.window_tokens = shape.window_tokens;
        h.stride = shape.stride;
        h.classes = shape.classes;
        h.vocabulary = shape.vocabulary;
        return {};
    }

    /// Bits of a constant f32 of one element; 0 where the program has none of this name.
    [[nodiscard]] std::uint32_t constant_bits(std::string_view name) const {
        const SlotId id = program_.find_slot(name);
        const bool fits = id != kNoSlot && program_.slot(id).kind == SlotKind::kConstant &&
                          program_.slot(id).dtype == program::DType::kF32 &&
                          program::element_count(program_.slot(id).dims) == 1;
        if (!fits) return 0;
        const Bytes& value = program_.slot(id).value;
        std::uint32_t bits = 0;
        for (std::size_t i = sizeof bits; i-- > 0;)
            bits = bits << 8 | value[i];
        return bits;
    }

    void write_roots() {
        TraceHeader& h = trace_.header;
        std::vector<Digest> digests;
        const auto root = [&] {
            const Digest found = commit::merkle_root(digests);
            digests.clear();
            return found;
        };
        for (const std::uint32_t leaf : trace_.gradients)
            digests.push_back(gradient_digest(leaf));
        h.gradients_root = root();
        for (const LeafRecord& record : trace_.leaves)
            digests.push_back(leaf_digest(encode(record)));
        h.leaves_root = root();
        for (const PrimitiveRecord& record : trace_.primitives)
            digests.push_back(primitive_digest(encode(record)));
        h.primitives_root = root();
        for (const StateRecord& record : trace_.state)
            digests.push_back(state_record_digest(encode(record)));
        h.state_root = root();
    }

    const Program& program_;
    std::vector<Source> sources_;  // by slot
    TraceProgram trace_;
};

template <class Record>
std::vector<Bytes> encode_all(const std::vector<Record>& records) {
    std::vector<Bytes> encoded;
    encoded.reserve(records.size());
    for (const Record& record : records)
        encoded.push_back(encode(record));
    return encoded;
}

std::vector<Bytes> encode_gradients(const std::vector<std::uint32_t>& leaves) {
    std::vector<Bytes> encoded;
    encoded.reserve(leaves.size());
    for (const std::uint32_t leaf : leaves)
        encoded.push_back(commit::Encoder().u32(leaf).view());
    return encoded;
}

std::vector<Digest> digests_of(const std::vector<Bytes>& records, Digest (*digest)(ByteView)) {
    std::vector<Digest> digests;
    digests.reserve(records.size());
    for (const Bytes& record : records)
        digests.push_back(digest(record));
    return digests;
}

}  // namespace

Result<TraceProgram> trace_program(const Program& program) {
    return Writer(program).write();
}

Result<RecordProof> TraceTrees::List::prove(std::uint32_t index) const {
    GYM_TRY(std::vector<Digest> path, tree.prove(index));
    return RecordProof{index, records[index], std::move(path)};
}

TraceTrees::TraceTrees(const TraceProgram& program)
    : primitives_(make_list(encode_all(program.primitives), primitive_digest)),
      leaves_(make_list(encode_all(program.leaves), leaf_digest)),
      state_(make_list(encode_all(program.state), state_record_digest)),
      gradients_(make_list(encode_gradients(program.gradients), [](ByteView record) {
          return gradient_digest(commit::Decoder(record).u32().value());
      })) {}

TraceTrees::List TraceTrees::make_list(std::vector<Bytes> records, Digest (*digest)(ByteView)) {
    commit::MerkleTree tree(digests_of(records, digest));
    return {std::move(records), std::move(tree)};
}

Result<RecordProof> TraceTrees::primitive(std::uint32_t index) const {
    return primitives_.prove(index);
}
Result<RecordProof> TraceTrees::leaf(std::uint32_t index) const {
    return leaves_.prove(index);
}
Result<RecordProof> TraceTrees::state(std::uint32_t index) const {
    return state_.prove(index);
}
Result<RecordProof> TraceTrees::gradient(std::uint32_t index) const {
    return gradients_.prove(index);
}

}  // namespace gym::dispute
