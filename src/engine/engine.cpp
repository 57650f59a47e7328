#include "gym/engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "execute.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/memory.hpp"
#include "gym/kernels/float_environment.hpp"
#include "make_context.hpp"
#include "memory_plan.hpp"
#include "state_of_program.hpp"
#ifdef GYM_FAULT_INJECTION
#include "gym/engine/fault_injection.hpp"
#endif

namespace gym::engine {
namespace {

using program::Op;
using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

Digest root_of(const Slot& slot, ByteView bytes, int threads) {
    const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
    return commit::tensor_root(slot.dtype, dims, bytes, static_cast<unsigned>(threads));
}

}  // namespace

struct Engine::Impl {
    Impl(const Program& p, kernels::Context c) : program(p), context(std::move(c)) {}

    Program program;
    kernels::Context context;
    MemoryPlan plan;
    std::vector<SlotId> state_ids;
    std::vector<SlotId> input_ids;
    kernels::AlignedBuffer arena;
    kernels::MacroWorkspace scratch;
    SlotPointers memory;
    std::function<void(const TraceEntry&)> trace;
    std::function<void(std::uint32_t, double)> op_timer;
    std::uint64_t runs = 0;
    bool ran = false;

    [[nodiscard]] std::span<std::uint8_t> bytes_of(SlotId id) const {
        return {memory[id], program::size_bytes(program.slot(id))};
    }
    Status bind_inputs(std::span<const NamedTensorView> inputs);
    void bind_state(State& state);
    void execute_op(std::uint32_t op_index);
    void observe(std::uint32_t op_index);
    void take_next_values();
};

Status Engine::Impl::bind_inputs(std::span<const NamedTensorView> inputs) {
    if (inputs.size() != input_ids.size())
        return fail(ErrorCode::kShapeMismatch, "the program has " +
                                                   std::to_string(input_ids.size()) + " inputs, " +
                                                   std::to_string(inputs.size()) + " were given");
    for (const SlotId id : input_ids) {
        const Slot& slot = program.slot(id);
        const auto given = std::ranges::find(inputs, slot.name, &NamedTensorView::name);
        if (given == inputs.end())
            return fail(ErrorCode::kShapeMismatch, "input '" + slot.name + "' is missing");
        if (given->bytes.size() != program::size_bytes(slot))
            return fail(ErrorCode::kShapeMismatch,
                        "input '" + slot.name + "' " + program::to_string(slot.dims) + " needs " +
                            std::to_string(program::size_bytes(slot)) + " bytes, got " +
                            std::to_string(given->bytes.size()));
        // No op writes to an input, so the pointer stays read-only.
        memory[id] = const_cast<std::uint8_t*>(given->bytes.data());
    }
    return {};
}

void Engine::Impl::bind_state(State& state) {
    for (std::size_t i = 0; i < state_ids.size(); ++i)
        memory[state_ids[i]] = state.tensors[i].bytes.data();
    for (SlotId id = 0; id < memory.size(); ++id) {
        if (plan.slots[id].place == MemoryPlan::Place::kInState)
            memory[id] = memory[plan.slots[id].target];
    }
}

void Engine::Impl::execute_op(std::uint32_t op_index) {
    using Clock = std::chrono::steady_clock;
    const auto start = op_timer ? Clock::now() : Clock::time_point();
    execute({program, program.ops()[op_index], memory, context, scratch});
    if (op_timer) op_timer(op_index, std::chrono::duration<double>(Clock::now() - start).count());
}

void Engine::Impl::observe(std::uint32_t op_index) {
    const Op& op = program.ops()[op_index];
#ifdef GYM_FAULT_INJECTION
    for (const SlotId id : op.outputs)
        call_fault_hook(runs, op_index, bytes_of(id));
#endif
    if (!trace) return;
    for (std::uint32_t k = 0; k < op.outputs.size(); ++k) {
        const auto output = bytes_of(op.outputs[k]);
        trace({op_index, k, program::to_string(op.code), output,
               root_of(program.slot(op.outputs[k]), output, context.threads())});
    }
}

void Engine::Impl::take_next_values() {
    for (const SlotId id : state_ids) {
        const SlotId next = program.slot(id).next;  // itself or a temp
        if (memory[next] != memory[id])
            std::memcpy(memory[id], memory[next], program::size_bytes(program.slot(id)));
    }
}

namespace {

Status check_memory(const Program& program, const EngineOptions& options) {
    EngineOptions host = options;
    host.device = "cpu";
    GYM_TRY(const MemoryNeed need, memory_need(program, host));
    std::uint64_t room = options.memory_bytes_max;
    if (room == 0) {
        GYM_TRY(room, available_memory_bytes());
        room += need.state;  // the caller has it already
    }
    if (need.total() <= room) return {};
    return fail(ErrorCode::kOutOfRange,
                "the program needs " + memory_text(need.total()) + " of memory, " +
                    memory_text(room) +
                    " are available; `gym program build` says which batch fits (see also "
                    "micro_batches)");
}

}  // namespace

Result<Engine> Engine::create(const Program& program, const EngineOptions& options) {
    GYM_TRY(kernels::Context context, make_context(options));
    GYM_CHECK(check_memory(program, options));
    auto impl = std::make_unique<Impl>(program, std::move(context));
    impl->runs = options.first_run;
    impl->plan = plan_memory(program);
    impl->state_ids = state_slots(program);
    impl->input_ids = program.slots_of(SlotKind::kInput);
    impl->memory.assign(program.slots().size(), nullptr);
    auto* arena = reinterpret_cast<std::uint8_t*>(
        impl->arena.reserve(std::max<std::uint64_t>(impl->plan.arena_bytes, kBufferAlignment)));
    for (SlotId id = 0; id < program.slots().size(); ++id) {
        if (impl->plan.slots[id].place == MemoryPlan::Place::kArena)
            impl->memory[id] = arena + impl->plan.slots[id].offset;
        // The engine's own copy of the program, which lives as long as the pointers.
        if (impl->program.slot(id).kind == SlotKind::kConstant)
            impl->memory[id] = const_cast<std::uint8_t*>(impl->program.slot(id).value.data());
    }
    return Engine(std::move(impl));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Status Engine::run(State& state, std::span<const NamedTensorView> inputs) {
    GYM_CHECK(check_state(impl_->program, impl_->state_ids, state));
    GYM_CHECK(impl_->bind_inputs(inputs));
    impl_->bind_state(state);
    const kernels::ExactFloatEnvironment environment;
    const auto& ops = impl_->program.ops();
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
        impl_->execute_op(i);
        impl_->observe(i);
    }
    impl_->take_next_values();
    ++impl_->runs;
    impl_->ran = true;
    return {};
}

Result<ByteView> Engine::output(std::string_view name) const {
    const SlotId id = impl_->program.find_output(name);
    if (id == program::kNoSlot)
        return fail(ErrorCode::kNotFound, "the program has no output '" + std::string(name) + "'");
    if (!outlives_the_run(impl_->program, name))
        return fail(ErrorCode::kInvalidArgument, "output '" + std::string(name) +
                                                     "' of a program that trains is gone after "
                                                     "its last reader");
    if (!impl_->ran || impl_->memory[id] == nullptr)
        return fail(ErrorCode::kInvalidArgument, "outputs exist after the first run");
    return ByteView(impl_->bytes_of(id));
}

void Engine::set_trace(std::function<void(const TraceEntry&)> sink) {
    impl_->trace = std::move(sink);
}

void Engine::set_op_timer(std::function<void(std::uint32_t, double)> sink) {
    impl_->op_timer = std::move(sink);
}

std::string Engine::isa() const {
    return std::string(kernels::isa_name(impl_->context.isa()));
}

}  // namespace gym::engine
