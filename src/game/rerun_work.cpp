#include "gym/game/rerun_work.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/step_inputs.hpp"
#include "gym/engine/train.hpp"

namespace gym::game {
namespace {

/// More of them would save less than they cost to write: a step is then at most a sixteenth of the
/// unit away from one.
constexpr std::uint64_t kCheckpointsMax = 16;

using dispute::ChunksOpening;
using dispute::TensorMemory;
using dispute::TracedTensor;

/// The chunk of a state's slot that has byte `offset`, up to the state's root.
Result<ChunksOpening> open_slot(const engine::State& state, std::uint32_t slot,
                                std::uint64_t offset, unsigned threads) {
    if (slot >= state.tensors.size())
        return fail(ErrorCode::kOutOfRange, "the state has no slot " + std::to_string(slot));
    GYM_TRY(ChunksOpening opening, dispute::open_chunk(state.tensors[slot].bytes, offset, threads));
    std::vector<commit::TensorView> tensors;
    for (const engine::StateTensor& tensor : state.tensors)
        tensors.push_back({tensor.dtype, tensor.dims, tensor.bytes});
    GYM_TRY(opening.path, commit::merkle_prove(commit::tensor_roots(tensors, threads), slot));
    return opening;
}

}  // namespace

Result<std::unique_ptr<RerunWork>> RerunWork::create(const engine::Unit& unit,
                                                     RerunWorkOptions options) {
    GYM_TRY(dispute::TraceProgram trace, dispute::trace_program(unit.train));
    GYM_TRY(const engine::State fresh, engine::with_fresh_optimizer(unit.train, unit.base));
    return std::unique_ptr<RerunWork>(
        new RerunWork(unit, std::move(trace), fresh, std::move(options)));
}

RerunWork::RerunWork(const engine::Unit& unit, dispute::TraceProgram trace,
                     const engine::State& fresh, RerunWorkOptions options)
    : unit_(unit), trace_(std::move(trace)), records_(trace_), options_(std::move(options)) {
    for (const engine::StateTensor& tensor : fresh.tensors)
        layout_.tensors.push_back({tensor.name, tensor.dtype, tensor.dims, {}});
    const std::uint64_t size = std::max<std::uint64_t>(fresh.size_bytes(), 1);
    const std::uint64_t room =
        std::clamp<std::uint64_t>(options_.checkpoint_bytes_max / size, 1, kCheckpointsMax);
    spacing_ = std::max<std::uint64_t>((unit_.spec.steps + room - 1) / room, 1);
}

RerunWork::~RerunWork() = default;

dispute::RerunOptions RerunWork::rerun_options() {
    dispute::RerunOptions rerun;
    rerun.engine = options_.engine;
    rerun.cancel = options_.cancel;
    rerun.progress = options_.progress;
    rerun.after_step = [this](std::uint64_t steps, const engine::Trainer& trainer) {
        ++steps_run_;
        return keep(steps, trainer);
    };
    return rerun;
}

/// Puts the state after `steps` steps aside if it is one of those that are kept.
Status RerunWork::keep(std::uint64_t steps, const engine::Trainer& trainer) {
    const bool wanted = steps % spacing_ == 0 || steps == unit_.spec.steps;
    const bool known = std::ranges::any_of(
        checkpoints_, [&](const Checkpoint& checkpoint) { return checkpoint.steps == steps; });
    if (!wanted || known) return {};
    GYM_TRY(const engine::State* state, trainer.state());
    const std::uint64_t size = state->size_bytes();
    dispute::SpillOptions spill = options_.spill;
    if (heap_bytes_ + size > spill.heap_bytes_max) spill.heap_bytes_max = 0;
    GYM_TRY(TensorMemory memory, TensorMemory::create(size, spill));
    std::uint8_t* to = memory.bytes().data();
    for (const engine::StateTensor& tensor : state->tensors) {
        if (!tensor.bytes.empty()) std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
        to += tensor.bytes.size();
    }
    if (!memory.in_file()) heap_bytes_ += size;
    checkpoints_.push_back({steps, std::move(memory)});
    return {};
}

engine::State RerunWork::restore(const Checkpoint& checkpoint) const {
    engine::State state = layout_;
    const std::uint8_t* from = std::as_const(checkpoint.bytes).bytes().data();
    for (engine::StateTensor& tensor : state.tensors) {
        std::uint64_t size = commit::size_bytes(tensor.dtype);
        for (const std::uint64_t dim : tensor.dims)
            size *= dim;
        tensor.bytes.assign(from, from + size);
        from += size;
    }
    return state;
}

Result<const dispute::UnitStates*> RerunWork::states() {
    if (!states_) {
        GYM_TRY(states_, dispute::unit_states(unit_, rerun_options()));
    }
    return &*states_;
}

/// The state before a step, from the nearest state before it that is there.
Result<engine::State> RerunWork::before(std::uint32_t step) {
    const Checkpoint* nearest = nullptr;
    for (const Checkpoint& checkpoint : checkpoints_)
        if (checkpoint.steps <= step && (nearest == nullptr || nearest->steps < checkpoint.steps))
            nearest = &checkpoint;
    const std::uint64_t done = nearest == nullptr ? 0 : nearest->steps;
    if (step_ && step_->step <= step && step_->step > done)
        return dispute::state_before(unit_, step, step_->before, step_->step, rerun_options());
    if (nearest == nullptr) return dispute::state_before(unit_, step, rerun_options());
    return dispute::state_before(unit_, step, restore(*nearest), done, rerun_options());
}

Result<const dispute::StepTrace*> RerunWork::step(std::uint32_t step) {
    if (step_ && step_->step == step) return &*step_;
    GYM_TRY(engine::State state, before(step));
    step_.reset();  // two of them may not fit into memory
    ++steps_run_;
    GYM_TRY(step_, dispute::trace_step(unit_, trace_, step, std::move(state), options_.engine));
    return &*step_;
}

Result<RerunWork::MacroPlace> RerunWork::place_of(std::uint32_t step, std::uint32_t leaf) const {
    const auto after =
        std::ranges::upper_bound(trace_.macros, leaf, {}, &dispute::MacroRange::first_leaf);
    if (after == trace_.macros.begin() || leaf >= trace_.leaves.size())
        return fail(ErrorCode::kOutOfRange,
                    "trace leaf " + std::to_string(leaf) + " is not the output of an op");
    return MacroPlace{step, static_cast<std::uint32_t>(after - trace_.macros.begin()) - 1};
}

Result<dispute::MacroTrace*> RerunWork::macro(std::uint32_t step, std::uint32_t leaf) {
    GYM_TRY(const MacroPlace place, place_of(step, leaf));
    if (macro_ && macro_place_ == place) return &*macro_;
    GYM_TRY(const dispute::StepTrace* traced_step, this->step(step));
    macro_.reset();
    tensor_.reset();
    const dispute::MacroOptions options{options_.engine, options_.spill, true};
    GYM_TRY(macro_, dispute::MacroTrace::create(unit_, trace_, *traced_step, place.op, options));
    macro_place_ = place;
    return &*macro_;
}

Result<const std::vector<Digest>*> RerunWork::primitives(std::uint32_t step, std::uint32_t leaf) {
    GYM_TRY(const dispute::MacroTrace* traced_macro, macro(step, leaf));
    return &traced_macro->roots();
}

Result<const dispute::TensorTrace*> RerunWork::tensor(std::uint32_t step, std::uint32_t leaf,
                                                      std::uint32_t primitive) {
    GYM_TRY(dispute::MacroTrace * traced_macro, macro(step, leaf));
    if (tensor_ && tensor_->primitive == primitive) return &*tensor_;
    tensor_.reset();
    GYM_TRY(tensor_, traced_macro->tensor(primitive));
    return &*tensor_;
}

Result<const TracedTensor*> RerunWork::windows(std::uint32_t step) {
    const engine::UnitSpec& spec = unit_.spec;
    if (step >= spec.steps)
        return fail(ErrorCode::kOutOfRange, "the unit has no step " + std::to_string(step));
    GYM_TRY(const engine::StepInputs inputs,
            engine::step_inputs(unit_.train, unit_.dataset, {spec.job_seed, spec.round, spec.slot},
                                spec.steps, step));
    const auto batch = std::ranges::find(trace_.leaves, dispute::LeafRecord::Kind::kBatch,
                                         &dispute::LeafRecord::kind);
    if (batch == trace_.leaves.end())
        return fail(ErrorCode::kInvalidArgument, "the program has no token windows");
    const std::vector<std::int32_t>& tokens = inputs.batch.tokens;
    GYM_TRY(windows_,
            dispute::TracedTensor::copy(batch->shape,
                                        {reinterpret_cast<const std::uint8_t*>(tokens.data()),
                                         tokens.size() * sizeof tokens[0]},
                                        options_.spill, options_.engine.threads));
    return &*windows_;
}

/// The training state after the last step.
Result<engine::State> RerunWork::final_state() {
    GYM_TRY([[maybe_unused]] const auto* run, states());
    for (const Checkpoint& checkpoint : checkpoints_)
        if (checkpoint.steps == unit_.spec.steps) return restore(checkpoint);
    return fail(ErrorCode::kInternal, "the state after the last step was not kept");
}

Result<const TracedTensor*> RerunWork::delta() {
    if (!delta_) {
        GYM_TRY(const engine::State end, final_state());
        GYM_TRY(const Bytes bytes, engine::encode_delta(unit_.train, unit_.base, end));
        GYM_TRY(delta_, dispute::TracedTensor::copy(dispute::delta_shape(trace_.header), bytes,
                                                    options_.spill, options_.engine.threads));
    }
    return &*delta_;
}

Result<UnitWork::SlotElement> RerunWork::slot_element(std::uint32_t slot, std::uint64_t element) {
    if (slot >= trace_.state.size())
        return fail(ErrorCode::kOutOfRange, "the state has no slot " + std::to_string(slot));
    const std::uint64_t offset = element * commit::size_bytes(trace_.state[slot].shape.dtype);
    GYM_TRY(const engine::State end, final_state());
    GYM_TRY(const engine::State begin, engine::with_fresh_optimizer(unit_.train, unit_.base));
    SlotElement sides;
    GYM_TRY(sides.final, open_slot(end, slot, offset, options_.engine.threads));
    GYM_TRY(sides.base, open_slot(begin, slot, offset, options_.engine.threads));
    return sides;
}

std::uint64_t RerunWork::dataset_tokens() const {
    return unit_.dataset.tokens().size();
}

Result<ChunksOpening> RerunWork::dataset_chunk(std::uint64_t token) {
    const blob::DatasetHeader& header = unit_.dataset.header();
    GYM_TRY(ChunksOpening opening,
            dispute::open_chunk(unit_.dataset.token_bytes(), token * header.token_bytes(),
                                options_.engine.threads));
    if (const auto leaf = header.leaf()) opening.path = {*leaf};
    return opening;
}

}  // namespace gym::game
