#include "gym/dispute/step_trace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/positions.hpp"
#include "gym/program/train_program.hpp"

namespace gym::dispute {
namespace {

using engine::State;
using engine::StepRecord;
using engine::Trainer;
using engine::Unit;

Status check_step_number(const Unit& unit, std::uint64_t step) {
    if (step < unit.spec.steps) return {};
    return fail(ErrorCode::kOutOfRange, "the unit has " + std::to_string(unit.spec.steps) +
                                            " steps, no step " + std::to_string(step));
}

engine::BatchKey key_of(const Unit& unit) {
    return {unit.spec.job_seed, unit.spec.round, unit.spec.slot};
}

Result<Trainer> trainer_at(const Unit& unit, State state, std::uint64_t step,
                           const engine::EngineOptions& options) {
    return Trainer::create(unit.train, std::move(state), unit.dataset,
                           {key_of(unit), unit.spec.steps, unit.spec.checkpoint_every, step},
                           options);
}

engine::StepOptions step_options(const RerunOptions& options) {
    engine::StepOptions steps;
    steps.engine = options.engine;
    steps.progress = options.progress;
    steps.cancel = options.cancel;
    return steps;
}

std::vector<Digest> tensor_roots(const State& state, unsigned threads) {
    std::vector<commit::TensorView> tensors;
    tensors.reserve(state.tensors.size());
    for (const engine::StateTensor& tensor : state.tensors)
        tensors.push_back({tensor.dtype, tensor.dims, tensor.bytes});
    return commit::tensor_roots(tensors, threads);
}

Digest root_of(const Shape& shape, ByteView bytes) {
    return tensor_digest(shape, commit::chunk_tree_root(bytes));
}

/// The bytes that the step gives to an input leaf.
Result<ByteView> input_bytes(const engine::StepInputs& inputs, const program::Program& train,
                             LeafRecord::Kind kind) {
    const std::string_view name = kind == LeafRecord::Kind::kBatch    ? program::kBatchInput
                                  : kind == LeafRecord::Kind::kClock  ? program::kClockInput
                                  : kind == LeafRecord::Kind::kRandom ? program::kRandomInput
                                                                      : std::string_view{};
    for (const engine::NamedTensorView& view : inputs.views(train))
        if (view.name == name) return view.bytes;
    return fail(ErrorCode::kInvalidArgument, "not a train program: it has an input of its own");
}

}  // namespace

Result<UnitStates> unit_states(const Unit& unit, const RerunOptions& options) {
    const unsigned threads = options.engine.threads;
    GYM_CHECK(engine::check_inputs(unit, threads));
    GYM_TRY(State state, engine::with_fresh_optimizer(unit.train, unit.base));
    UnitStates states;
    states.initial_root = engine::state_root(state, threads);
    engine::StepOptions steps = step_options(options);
    steps.after_step = [&](const Trainer& trainer, const StepRecord& record) -> Status {
        if (record.state_root) {
            states.state_roots.push_back(*record.state_root);
        } else {
            GYM_TRY(const State* after, trainer.state());
            states.state_roots.push_back(engine::state_root(*after, threads));
        }
        states.records.push_back(record);
        return options.after_step ? options.after_step(states.records.size(), trainer) : Status();
    };
    GYM_TRY([[maybe_unused]] const Trainer trainer,
            engine::run_steps(unit, std::move(state), {0, unit.spec.steps}, steps));
    return states;
}

Result<State> state_before(const Unit& unit, std::uint64_t step, const RerunOptions& options) {
    GYM_TRY(State state, engine::with_fresh_optimizer(unit.train, unit.base));
    return state_before(unit, step, std::move(state), 0, options);
}

Result<State> state_before(const Unit& unit, std::uint64_t step, State after_done,
                           std::uint64_t done, const RerunOptions& options) {
    GYM_CHECK(engine::check_inputs(unit, options.engine.threads));
    GYM_CHECK(check_step_number(unit, step));
    if (done > step)
        return fail(ErrorCode::kOutOfRange,
                    "steps are not undone: the state is after step " + std::to_string(done));
    if (step == done) return after_done;
    engine::StepOptions steps = step_options(options);
    if (options.after_step)
        steps.after_step = [&](const Trainer& trainer, const StepRecord& record) {
            return options.after_step(record.step + 1, trainer);
        };
    GYM_TRY(Trainer trainer, engine::run_steps(unit, std::move(after_done), {done, step}, steps));
    return std::move(trainer).take_state();
}

namespace {

/// A step as it is run, with the roots of its inputs and of all that it computes.
struct TracedRun {
    Trainer trainer;
    engine::StepInputs inputs;
    StepRecord record;
    std::vector<Digest> roots;
};

Result<TracedRun> run_traced(const Unit& unit, const TraceProgram& trace, std::uint64_t step,
                             const State& before, const engine::EngineOptions& options,
                             const LeafSink& sink) {
    GYM_CHECK(check_step_number(unit, step));
    GYM_TRY(engine::StepInputs inputs,
            engine::step_inputs(unit.train, unit.dataset, key_of(unit), unit.spec.steps, step));
    std::vector<Digest> roots(trace.leaves.size());
    for (std::uint32_t i = 0; i < trace.header.input_leaves; ++i) {
        GYM_TRY(const ByteView bytes, input_bytes(inputs, unit.train, trace.leaves[i].kind));
        roots[i] = root_of(trace.leaves[i].shape, bytes);
    }
    GYM_TRY(Trainer trainer, trainer_at(unit, before, step, options));
    std::size_t seen = trace.header.input_leaves;
    trainer.set_trace([&](const engine::TraceEntry& entry) {
        const std::uint32_t leaf = trace.macros[entry.op].first_leaf + entry.output_index;
        roots[leaf] = entry.output_root;
        ++seen;
        if (sink) sink(leaf, entry.output);
    });
    GYM_TRY(const StepRecord record, trainer.step());
    trainer.set_trace({});
    GYM_ASSERT(seen == trace.leaves.size(), "the engine traces every output once");
    return TracedRun{std::move(trainer), std::move(inputs), record, std::move(roots)};
}

}  // namespace

Result<std::vector<Digest>> leaf_roots(const Unit& unit, const TraceProgram& trace,
                                       std::uint64_t step, const State& before,
                                       const engine::EngineOptions& options, const LeafSink& sink) {
    GYM_TRY(TracedRun run, run_traced(unit, trace, step, before, options, sink));
    return std::move(run.roots);
}

Result<StepTrace> trace_step(const Unit& unit, const TraceProgram& trace, std::uint64_t step,
                             State before, const engine::EngineOptions& options,
                             const LeafSink& sink) {
    GYM_TRY(TracedRun run, run_traced(unit, trace, step, before, options, sink));
    GYM_TRY(const State* after, run.trainer.state());
    const Digest root = engine::state_root(*after, options.threads);
    std::vector<Digest> before_roots = tensor_roots(before, options.threads);
    return StepTrace{step,       std::move(before),    std::move(run.inputs),
                     run.record, std::move(run.roots), std::move(before_roots),
                     root};
}

std::vector<Digest> next_state_roots(const TraceProgram& trace,
                                     std::span<const Digest> before_roots,
                                     std::span<const Digest> leaf_roots) {
    GYM_ASSERT(
        before_roots.size() == trace.state.size() && leaf_roots.size() == trace.leaves.size(),
        "a root for every slot and every leaf");
    std::vector<Digest> after;
    after.reserve(trace.state.size());
    for (const StateRecord& record : trace.state)
        after.push_back(record.next.kind == Source::Kind::kLeaf ? leaf_roots[record.next.index]
                                                                : before_roots[record.next.index]);
    return after;
}

}  // namespace gym::dispute
