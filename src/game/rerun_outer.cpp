#include "gym/game/rerun_outer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/train_program.hpp"
#include "outer_plan.hpp"
#include "rules_common.hpp"

namespace gym::game {
namespace {

using dispute::StateRecord;
using dispute::TensorMemory;

/// Elements of all deltas that are looked at together: whole rows.
constexpr std::uint64_t kBlockElements = 4096;
static_assert(kBlockElements % codec::kRowElements == 0);

std::vector<const StateRecord*> parameters_of(const dispute::TraceProgram& trace) {
    std::vector<const StateRecord*> slots;
    for (const StateRecord& record : trace.state)
        if (record.delta_offset != 0) slots.push_back(&record);
    return slots;
}

std::vector<dispute::Shape> shapes_of(const std::vector<const StateRecord*>& slots) {
    std::vector<dispute::Shape> shapes;
    for (const StateRecord* slot : slots)
        shapes.push_back(slot->shape);
    return shapes;
}

/// Of the tensors of an outer state.
std::vector<dispute::Shape> outer_shapes(const dispute::TraceHeader& header,
                                         const std::vector<const StateRecord*>& slots) {
    std::vector<dispute::Shape> shapes = shapes_of(slots);
    if (!has_update(header)) return shapes;
    const std::vector<dispute::Shape> residuals = shapes;
    shapes.insert(shapes.end(), residuals.begin(), residuals.end());
    shapes.push_back(dispute::delta_shape(header));
    return shapes;
}

Status check_state(const std::vector<dispute::Shape>& shapes, const engine::State& state,
                   const char* what) {
    const auto fits = [](const dispute::Shape& shape, const engine::StateTensor& tensor) {
        return tensor.dtype == shape.dtype && std::ranges::equal(tensor.dims, shape.dims) &&
               tensor.bytes.size() == size_bytes(shape);
    };
    if (std::ranges::equal(shapes, state.tensors, fits)) return {};
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
    GYM_CHECK(check_state(shapes_of(slots), inputs.base, "the base state"));
    engine::State zeros;
    if (inputs.momentum.tensors.empty()) {
        GYM_TRY(zeros, engine::zero_outer_state(inputs.train, inputs.base));
    } else {
        GYM_CHECK(check_state(outer_shapes(trace.header, slots), inputs.momentum,
                              has_update(trace.header) ? "the outer state" : "the momentum"));
    }
    if (!std::ranges::is_sorted(inputs.included, std::less_equal<>(), place_of))
        return fail(ErrorCode::kInvalidArgument,
                    "included deltas are in the order of a record's list");
    auto work = std::unique_ptr<RerunOuter>(
        new RerunOuter(std::move(inputs), std::move(deltas), std::move(trace), std::move(options)));
    work->zeros_ = std::move(zeros);
    return work;
}

RerunOuter::RerunOuter(OuterInputs inputs, DeltaSource source, dispute::TraceProgram trace,
                       RerunWorkOptions options)
    : inputs_(std::move(inputs)),
      source_(std::move(source)),
      trace_(std::move(trace)),
      records_(trace_),
      options_(std::move(options)),
      slots_(parameters_of(trace_)) {}

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
    if (update_ && !update_->in_file()) held += update_->bytes().size();
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
        return fail(ErrorCode::kInvalidArgument,
                    "the outer step needs 1 to " + std::to_string(program::kDeltasMax) + " deltas");
    trees_.reset();
    tensor_.reset();
    update_tensor_.reset();
    update_.reset();
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
    GYM_TRY(TensorMemory residual, TensorMemory::create(update_ ? size : 0, options_.spill));
    After after{std::move(base), std::move(momentum), std::move(residual)};
    const ByteView base_before = inputs_.base.tensors[parameter].bytes;
    const ByteView momentum_before = this->momentum().tensors[parameter].bytes;
    // What the step is added to: where there is an update, its rows move the base.
    const ByteView target =
        update_
            ? ByteView(this->momentum().tensors[residual_number(trace_.header, parameter)].bytes)
            : base_before;
    if (update_) std::ranges::copy(base_before, after.base.bytes().begin());
    const auto count = static_cast<std::uint32_t>(bytes_.size());
    const dispute::DeltaCount deltas{count, groups_of(deltas_)};
    std::vector<float> block(count * kBlockElements), steps(kBlockElements);
    const kernels::ExactFloatEnvironment environment;
    for (std::uint64_t first = 0; first < elements; first += kBlockElements) {
        const std::uint64_t here = std::min(kBlockElements, elements - first);
        for (std::uint32_t k = 0; k < count; ++k)
            read(k, slot, first, {block.data() + k * kBlockElements, here});
        for (std::uint64_t i = 0; i < here; ++i) {
            const dispute::OuterElement before{load(target, first + i),
                                               load(momentum_before, first + i)};
            const dispute::OuterElement made = dispute::outer_element(
                trace_.header, before, block.data() + i, deltas, kBlockElements);
            steps[i] = made.base;
            store(after.momentum.bytes(), first + i, made.momentum);
        }
        if (update_) {
            publish(slot, first, {steps.data(), here}, after);
        } else {
            std::memcpy(after.base.bytes().data() + first * sizeof(float), steps.data(),
                        here * sizeof(float));
        }
    }
    return after;
}

void RerunOuter::publish(const StateRecord& slot, std::uint64_t first, std::span<float> steps,
                         After& after) {
    constexpr std::array<float, codec::kRowElements> kZeros{};
    for (std::uint64_t i = 0; i < steps.size(); i += codec::kRowElements) {
        const std::uint64_t here = std::min<std::uint64_t>(codec::kRowElements, steps.size() - i);
        const auto span = dispute::delta_span(trace_.header.delta_codec, slot, first + i);
        std::uint8_t* const row = update_->bytes().data() + span.begin;
        kernels::encode_dense_row(kernels::Isa::kScalar, steps.data() + i, kZeros.data(),
                                  static_cast<std::int32_t>(here), row);
        for (std::uint64_t k = 0; k < here; ++k) {
            const float change = kernels::f32::from_bits(
                dispute::delta_element(trace_.header.delta_codec, k, {row, span.length}));
            const std::uint64_t element = first + i + k;
            const float base = load(std::as_const(after.base).bytes(), element);
            store(after.base.bytes(), element, kernels::f32::add(base, change));
            store(after.residual.bytes(), element, kernels::f32::sub(steps[i + k], change));
        }
    }
}

/// All but the parameters' rows.
Status RerunOuter::begin_update() {
    if (!has_update(trace_.header)) return {};
    const std::uint64_t size = trace_.header.delta_bytes;
    GYM_TRY(TensorMemory memory, TensorMemory::create(size, spill_for(size)));
    std::ranges::copy(rules::delta_head(trace_.header), memory.bytes().begin());
    update_ = std::make_shared<TensorMemory>(std::move(memory));
    return {};
}

Result<const OuterTrees*> RerunOuter::run(std::span<const OuterDelta> deltas) {
    if (trees_ && std::ranges::equal(deltas, deltas_)) return &*trees_;
    GYM_CHECK(fetch(deltas));
    GYM_CHECK(begin_update());
    OuterTrees trees;
    std::vector<Digest> residuals;
    const unsigned threads = options_.engine.threads;
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        GYM_TRY(const After after, make(i));
        const auto root = [&](ByteView bytes) {
            return tensor_digest(slots_[i]->shape, commit::chunk_tree_root(bytes, threads));
        };
        trees.base.push_back(root(after.base.bytes()));
        trees.momentum.push_back(root(after.momentum.bytes()));
        if (update_) residuals.push_back(root(after.residual.bytes()));
    }
    if (update_) {
        trees.momentum.insert(trees.momentum.end(), residuals.begin(), residuals.end());
        trees.momentum.push_back(
            tensor_digest(dispute::delta_shape(trace_.header),
                          commit::chunk_tree_root(std::as_const(*update_).bytes(), threads)));
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

Result<dispute::TracedTensor> RerunOuter::make(Place place) {
    const auto traced = [&](const dispute::Shape& shape,
                            std::shared_ptr<const TensorMemory> memory) {
        std::vector<Digest> leaves =
            commit::chunk_leaves(std::as_const(*memory).bytes(), options_.engine.threads);
        return dispute::TracedTensor{shape, std::move(memory), std::move(leaves)};
    };
    if (is_update(trace_.header, place.tree, place.number))
        return traced(dispute::delta_shape(trace_.header), update_);
    const bool residual = is_residual(trace_.header, place.tree, place.number);
    const auto parameter =
        static_cast<std::uint32_t>(parameter_of(trace_.header, place.tree, place.number));
    GYM_TRY(const StateRecord* slot, slot_of(parameter));
    GYM_TRY(After after, make(parameter));
    TensorMemory& memory = place.tree == OuterTree::kBase ? after.base
                           : residual                     ? after.residual
                                                          : after.momentum;
    return traced(slot->shape, std::make_shared<const TensorMemory>(std::move(memory)));
}

Result<const dispute::TracedTensor*> RerunOuter::tensor(OuterTree tree, std::uint32_t number) {
    if (!trees_) return fail(ErrorCode::kConflict, "no outer step was run");
    if (tree != OuterTree::kBase && tree != OuterTree::kMomentum)
        return fail(ErrorCode::kOutOfRange, "the tensors of this tree are those of the others");
    const Place place{tree, number};
    std::optional<dispute::TracedTensor>& kept =
        is_update(trace_.header, tree, number) ? update_tensor_ : tensor_;
    if (kept && (&kept == &update_tensor_ || tensor_place_ == place)) return &*kept;
    kept.reset();
    GYM_TRY(kept, make(place));
    if (&kept == &tensor_) tensor_place_ = place;
    return &*kept;
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
    if (!has_update(trace_.header)) return out;
    const std::uint64_t residual = residual_number(trace_.header, parameter);
    GYM_TRY(out.residual, dispute::open_chunk(momentum().tensors[residual].bytes, offset, threads));
    GYM_TRY(out.residual.path, commit::merkle_prove(momentum_roots_, residual));
    return out;
}

}  // namespace gym::game
