#include "gym/game/rerun_outer.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "gym/commit/tensor_root.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/train_program.hpp"
#include "outer_plan.hpp"

namespace gym::game {
namespace {

using dispute::StateRecord;
using dispute::TensorMemory;

/// Elements of all deltas that are looked at together.
constexpr std::uint64_t kBlockElements = 4096;

std::vector<const StateRecord*> parameters_of(const dispute::TraceProgram& trace) {
    std::vector<const StateRecord*> slots;
    for (const StateRecord& record : trace.state)
        if (record.delta_offset != 0) slots.push_back(&record);
    return slots;
}

Status check_state(const std::vector<const StateRecord*>& slots, const engine::State& state,
                   const char* what) {
    const auto fits = [](const StateRecord* slot, const engine::StateTensor& tensor) {
        return tensor.dtype == slot->shape.dtype &&
               std::ranges::equal(tensor.dims, slot->shape.dims) &&
               tensor.bytes.size() == size_bytes(slot->shape);
    };
    if (std::ranges::equal(slots, state.tensors, fits)) return {};
    return fail(ErrorCode::kShapeMismatch,
                std::string(what) + " does not have the tensors of the program's parameters");
}

std::vector<Digest> roots_of(const engine::State& state, unsigned threads) {
    std::vector<commit::TensorView> tensors;
    for (const engine::StateTensor& tensor : state.tensors)
        tensors.push_back({tensor.dtype, tensor.dims, tensor.bytes});
    return commit::tensor_roots(tensors, threads);
}

float load(ByteView bytes, std::uint64_t element) {
    float value = 0;
    std::memcpy(&value, bytes.data() + element * sizeof value, sizeof value);
    return value;
}

void store(std::span<std::uint8_t> bytes, std::uint64_t element, float value) {
    std::memcpy(bytes.data() + element * sizeof value, &value, sizeof value);
}

}  // namespace

Result<std::unique_ptr<RerunOuter>> RerunOuter::create(OuterInputs inputs, DeltaSource deltas,
                                                       RerunWorkOptions options) {
    GYM_TRY(dispute::TraceProgram trace, dispute::trace_program(inputs.train));
    if (trace.header.parameters == 0 ||
        inputs.train.find_slot(program::kOuterMomentum) == program::kNoSlot)
        return fail(ErrorCode::kInvalidArgument, "not a train program: it has no outer step");
    const auto slots = parameters_of(trace);
    GYM_CHECK(check_state(slots, inputs.base, "the base state"));
    if (!inputs.momentum.tensors.empty())
        GYM_CHECK(check_state(slots, inputs.momentum, "the momentum"));
    const auto place = [](const OuterDelta& delta) { return std::pair(delta.held, delta.slot); };
    if (!std::ranges::is_sorted(inputs.included, std::less_equal<>(), place))
        return fail(ErrorCode::kInvalidArgument,
                    "included deltas are in ascending order, those of the round before last");
    return std::unique_ptr<RerunOuter>(
        new RerunOuter(std::move(inputs), std::move(deltas), std::move(trace), std::move(options)));
}

RerunOuter::RerunOuter(OuterInputs inputs, DeltaSource source, dispute::TraceProgram trace,
                       RerunWorkOptions options)
    : inputs_(std::move(inputs)),
      source_(std::move(source)),
      trace_(std::move(trace)),
      records_(trace_),
      options_(std::move(options)),
      slots_(parameters_of(trace_)) {
    if (inputs_.momentum.tensors.empty()) zeros_ = engine::zero_momentum(inputs_.base);
}

RerunOuter::~RerunOuter() = default;

const engine::State& RerunOuter::momentum() const {
    return inputs_.momentum.tensors.empty() ? zeros_ : inputs_.momentum;
}

/// Deltas share what the heap may hold.
dispute::SpillOptions RerunOuter::spill_for(std::uint64_t size_bytes) const {
    dispute::SpillOptions spill = options_.spill;
    std::uint64_t held = size_bytes;
    for (const TensorMemory& memory : bytes_)
        held += memory.in_file() ? 0 : memory.bytes().size();
    if (held > spill.heap_bytes_max) spill.heap_bytes_max = 0;
    return spill;
}

Result<TensorMemory> RerunOuter::fetch(const OuterDelta& delta) {
    GYM_TRY(const blob::VerifiedBlob blob, source_(delta));
    const ByteView bytes = blob.bytes();
    const std::string name = "the delta of slot " + std::to_string(delta.slot);
    if (bytes.size() != trace_.header.delta_bytes)
        return fail(ErrorCode::kShapeMismatch, name + " has " + std::to_string(bytes.size()) +
                                                   " bytes, the program's have " +
                                                   std::to_string(trace_.header.delta_bytes));
    if (blob.root() != delta.root)
        return fail(ErrorCode::kMismatch, name + " does not have its root");
    return TensorMemory::copy(bytes, spill_for(bytes.size()));
}

/// Those of `deltas` that are not there yet.
Status RerunOuter::fetch(std::span<const OuterDelta> deltas) {
    if (deltas.empty() || deltas.size() > program::kDeltasMax)
        return fail(ErrorCode::kInvalidArgument, "the outer step needs 1 to 1024 deltas");
    trees_.reset();
    tensor_.reset();
    deltas_.clear();
    bytes_.clear();
    for (const OuterDelta& delta : deltas) {
        if (options_.cancel.stop_requested())
            return fail(ErrorCode::kCancelled, "the outer step was cancelled");
        GYM_TRY(TensorMemory memory, fetch(delta));
        deltas_.push_back(delta);
        bytes_.push_back(std::move(memory));
    }
    return {};
}

/// Elements `first`, first + 1, ... of a delta, as games read them: bytes that no encoder writes
/// have values, too.
void RerunOuter::read(std::uint32_t delta, const StateRecord& slot, std::uint64_t first,
                      std::span<float> out) const {
    const ByteView bytes = bytes_[delta].bytes();
    const program::DeltaCodec codec = trace_.header.delta_codec;
    if (codec == program::DeltaCodec::kFloat) {
        std::memcpy(out.data(), bytes.data() + slot.delta_offset + first * sizeof(float),
                    out.size_bytes());
        return;
    }
    for (std::uint64_t i = 0; i < out.size(); ++i) {
        const auto span = dispute::delta_span(codec, slot, first + i);
        out[i] = kernels::f32::from_bits(
            dispute::delta_element(codec, first + i, bytes.subspan(span.begin, span.length)));
    }
}

Result<RerunOuter::After> RerunOuter::make(std::uint32_t parameter) {
    if (options_.cancel.stop_requested())
        return fail(ErrorCode::kCancelled, "the outer step was cancelled");
    const StateRecord& slot = *slots_[parameter];
    const std::uint64_t size = size_bytes(slot.shape), elements = size / sizeof(float);
    GYM_TRY(TensorMemory base, TensorMemory::create(size, options_.spill));
    GYM_TRY(TensorMemory momentum, TensorMemory::create(size, options_.spill));
    const ByteView base_before = inputs_.base.tensors[parameter].bytes;
    const ByteView momentum_before = this->momentum().tensors[parameter].bytes;
    const auto count = static_cast<std::uint32_t>(bytes_.size());
    const dispute::DeltaCount deltas{count, held_of(deltas_)};
    std::vector<float> block(count * kBlockElements);
    const kernels::ExactFloatEnvironment environment;
    for (std::uint64_t first = 0; first < elements; first += kBlockElements) {
        const std::uint64_t here = std::min(kBlockElements, elements - first);
        for (std::uint32_t k = 0; k < count; ++k)
            read(k, slot, first, {block.data() + k * kBlockElements, here});
        for (std::uint64_t i = 0; i < here; ++i) {
            const dispute::OuterElement before{load(base_before, first + i),
                                               load(momentum_before, first + i)};
            const dispute::OuterElement after = dispute::outer_element(
                trace_.header, before, block.data() + i, deltas, kBlockElements);
            store(base.bytes(), first + i, after.base);
            store(momentum.bytes(), first + i, after.momentum);
        }
    }
    return After{std::move(base), std::move(momentum)};
}

Result<const OuterTrees*> RerunOuter::run(std::span<const OuterDelta> deltas) {
    if (trees_ && std::ranges::equal(deltas, deltas_)) return &*trees_;
    GYM_CHECK(fetch(deltas));
    OuterTrees trees;
    const unsigned threads = options_.engine.threads;
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        GYM_TRY(const After after, make(i));
        const auto root = [&](ByteView bytes) {
            return tensor_digest(slots_[i]->shape, commit::chunk_tree_root(bytes, threads));
        };
        trees.base.push_back(root(after.base.bytes()));
        trees.momentum.push_back(root(after.momentum.bytes()));
    }
    std::vector<Digest> both = trees.base;
    both.insert(both.end(), trees.momentum.begin(), trees.momentum.end());
    trees.state_root = commit::merkle_root(both);
    trees.deltas_root = commit::merkle_root(roots_of(deltas_));
    trees_ = std::move(trees);
    return &*trees_;
}

Result<const StateRecord*> RerunOuter::slot_of(std::uint32_t parameter,
                                               std::uint64_t element) const {
    if (!trees_) return fail(ErrorCode::kConflict, "no outer step was run");
    if (parameter >= slots_.size() || element >= element_count(slots_[parameter]->shape))
        return fail(ErrorCode::kOutOfRange, "there is no element " + std::to_string(element) +
                                                " of parameter " + std::to_string(parameter));
    return slots_[parameter];
}

Result<const dispute::TracedTensor*> RerunOuter::tensor(OuterTree tree, std::uint32_t parameter) {
    GYM_TRY(const StateRecord* slot, slot_of(parameter));
    if (tree != OuterTree::kBase && tree != OuterTree::kMomentum)
        return fail(ErrorCode::kOutOfRange, "the tensors of this tree are those of the others");
    const Place place{tree, parameter};
    if (tensor_ && tensor_place_ == place) return &*tensor_;
    tensor_.reset();
    GYM_TRY(After after, make(parameter));
    TensorMemory& memory = tree == OuterTree::kBase ? after.base : after.momentum;
    auto shared = std::make_shared<const TensorMemory>(std::move(memory));
    std::vector<Digest> leaves = commit::chunk_leaves(shared->bytes(), options_.engine.threads);
    tensor_ = dispute::TracedTensor{slot->shape, std::move(shared), std::move(leaves)};
    tensor_place_ = place;
    return &*tensor_;
}

Result<Bytes> RerunOuter::column(std::uint32_t parameter, std::uint64_t element) {
    GYM_TRY(const StateRecord* slot, slot_of(parameter, element));
    Bytes values(bytes_.size() * sizeof(float));
    for (std::uint32_t k = 0; k < bytes_.size(); ++k) {
        float value = 0;
        read(k, *slot, element, {&value, 1});
        store(values, k, value);
    }
    return values;
}

Result<dispute::ChunksOpening> RerunOuter::delta_element(std::uint32_t position,
                                                         std::uint32_t parameter,
                                                         std::uint64_t element) {
    GYM_TRY(const StateRecord* slot, slot_of(parameter, element));
    if (position >= bytes_.size())
        return fail(ErrorCode::kOutOfRange, "there is no delta " + std::to_string(position));
    const auto span = dispute::delta_span(trace_.header.delta_codec, *slot, element);
    GYM_TRY(dispute::ChunksOpening opening,
            dispute::open_chunk(std::as_const(bytes_[position]).bytes(), span.begin,
                                options_.engine.threads));
    GYM_TRY(opening.path, commit::merkle_prove(roots_of(deltas_), position));
    return opening;
}

Result<OuterWork::Before> RerunOuter::before(std::uint32_t parameter, std::uint64_t element) {
    GYM_TRY([[maybe_unused]] const StateRecord* slot, slot_of(parameter, element));
    const unsigned threads = options_.engine.threads;
    if (base_roots_.empty()) base_roots_ = roots_of(inputs_.base, threads);
    if (momentum_roots_.empty()) momentum_roots_ = roots_of(momentum(), threads);
    const std::uint64_t offset = element * sizeof(float);
    Before out;
    GYM_TRY(out.base, dispute::open_chunk(inputs_.base.tensors[parameter].bytes, offset, threads));
    GYM_TRY(out.base.path, commit::merkle_prove(base_roots_, parameter));
    GYM_TRY(out.momentum,
            dispute::open_chunk(momentum().tensors[parameter].bytes, offset, threads));
    GYM_TRY(out.momentum.path, commit::merkle_prove(momentum_roots_, parameter));
    return out;
}

}  // namespace gym::game
