#include "gym/engine/cuda_engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cuda_checks.hpp"
#include "cuda_execute.hpp"
#include "device_scratch.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/memory.hpp"
#include "gym/kernels/cuda/hash.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/program/program.hpp"
#include "memory_plan.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

namespace cuda = kernels::cuda;

/// Ops between its two ends are those of the run before.
class Repeated {
  public:
    explicit Repeated(cuda::Device& device) : device_(device) { device_.begin_repeated(); }
    ~Repeated() { device_.end_repeated(); }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;

  private:
    cuda::Device& device_;
};

/// What is lent, as far as it is free.
std::uint64_t room_on(const cuda::Device& device, const CudaOptions& options) {
    const std::uint64_t free = device.free_bytes(), lent = options.memory_bytes_max;
    return lent != 0 ? std::min(lent, free) : free;
}

/// Before anything is allocated: a program that does not fit must not fail in its first step.
Status check_memory(const Program& program, std::uint64_t allowed) {
    GYM_TRY(const MemoryNeed need, memory_need(program, {.device = "cuda"}));
    if (need.total() <= allowed) return {};
    return fail(ErrorCode::kOutOfRange, "the program needs " + memory_text(need.total()) +
                                            " on the device (" + memory_text(need.workspace) +
                                            " of them for products, attention and the driver), " +
                                            memory_text(allowed) +
                                            " are free and lent; a smaller batch, more "
                                            "micro_batches or a shorter context need less");
}

}  // namespace

struct CudaEngine::Impl {
    Impl(const Program& p, const CudaOptions& o) : options(o), program(p) {}

    CudaOptions options;
    Program program;
    std::unique_ptr<cuda::Device> device;
    MemoryPlan plan;
    std::vector<SlotId> state_ids;
    std::vector<SlotId> input_ids;
    DevicePointers memory;
    std::byte* roots = nullptr;  ///< two digests a state slot, or an output
    std::unique_ptr<CudaChecks> checks;
    std::function<void(const TraceEntry&)> trace;
    bool ran = false;

    [[nodiscard]] std::size_t size_of(SlotId id) const {
        return program::size_bytes(program.slot(id));
    }
    void place_slots();
    void upload(SlotId id, ByteView bytes);
    void download(SlotId id, std::span<std::uint8_t> bytes);
    Status bind_inputs(std::span<const NamedTensorView> inputs);
    Status execute(std::uint32_t op_index);
    Result<std::uint32_t> execute_from(std::uint32_t begin);
    Status execute_all();
    void tell_if_no_graphs();
    void observe(std::uint32_t op_index);
    void take_next_values();
    [[nodiscard]] Status outcome();
    Result<std::vector<Digest>> hash(std::span<const SlotId> ids);
    Result<SlotId> output_slot(std::string_view name) const;
};

/// After what waits for the device anyway.
Status CudaEngine::Impl::outcome() {
    if (checks) GYM_CHECK(checks->settle());
    if (device->ok()) return {};
    if (device->has_run_out_of_memory()) note_no_room(device->cuda_name());
    return fail(ErrorCode::kUnavailable, "CUDA device: " + device->error());
}

void CudaEngine::Impl::upload(SlotId id, ByteView bytes) {
    device->upload(memory[id], bytes.data(), bytes.size());
    if (checks) checks->uploaded(id, bytes);
}

void CudaEngine::Impl::download(SlotId id, std::span<std::uint8_t> bytes) {
    device->download(bytes.data(), memory[id], bytes.size());
    if (checks) checks->downloaded(id, bytes);
}

void CudaEngine::Impl::place_slots() {
    memory = device->allocate_together(lasting_sizes(program, plan));
    roots = memory.back();
    memory.pop_back();
    std::byte* const arena = device->allocate(plan.arena_bytes);
    for (SlotId id = 0; id < program.slots().size(); ++id) {
        const auto& entry = plan.slots[id];
        if (entry.place == MemoryPlan::Place::kArena) memory[id] = arena + entry.offset;
        if (program.slot(id).kind == SlotKind::kConstant) upload(id, program.slot(id).value);
    }
    for (SlotId id = 0; id < program.slots().size(); ++id) {
        if (plan.slots[id].place == MemoryPlan::Place::kInState)
            memory[id] = memory[plan.slots[id].target];
    }
}

Status CudaEngine::Impl::bind_inputs(std::span<const NamedTensorView> inputs) {
    if (inputs.size() != input_ids.size())
        return fail(ErrorCode::kShapeMismatch, "the program has " +
                                                   std::to_string(input_ids.size()) + " inputs, " +
                                                   std::to_string(inputs.size()) + " were given");
    for (const SlotId id : input_ids) {
        const Slot& slot = program.slot(id);
        const auto given = std::ranges::find(inputs, slot.name, &NamedTensorView::name);
        if (given == inputs.end() || given->bytes.size() != size_of(id))
            return fail(ErrorCode::kShapeMismatch, "input '" + slot.name + "' " +
                                                       program::to_string(slot.dims) + " needs " +
                                                       std::to_string(size_of(id)) + " bytes");
        upload(id, given->bytes);
    }
    // A run with checks waits at its end, and until then the caller keeps the inputs.
    if (!checks) device->synchronize();
    return {};
}

Status CudaEngine::Impl::execute(std::uint32_t op_index) {
    const program::Op& op = program.ops()[op_index];
    if (execute_on_device({*device, program.slots(), op, memory})) return {};
    return fail(ErrorCode::kInvalidArgument, "op " + std::to_string(op_index) + " (" +
                                                 std::string(program::to_string(op.code)) +
                                                 ") has no device kernel");
}

/// Runs op `begin`, and those that can run at once with it. @return the op after them.
Result<std::uint32_t> CudaEngine::Impl::execute_from(std::uint32_t begin) {
    const AdamwGroup group = adamw_group(*device, program, memory, begin);
    if (!group.steps.empty()) {
        if (checks)
            checks->run_adamw(group);
        else
            cuda::macro_adamw(*device, group.steps, group.scalars);
        return group.end;
    }
    Status executed;
    if (checks)
        checks->run_op(
            begin, [&] { return execute(begin); }, executed);
    else
        executed = execute(begin);
    GYM_CHECK(executed);
    return begin + 1;
}

void CudaEngine::Impl::observe(std::uint32_t op_index) {
    if (!trace) return;
    const program::Op& op = program.ops()[op_index];
    for (std::uint32_t k = 0; k < op.outputs.size(); ++k) {
        const Slot& slot = program.slot(op.outputs[k]);
        Bytes bytes(size_of(op.outputs[k]));
        download(op.outputs[k], bytes);
        const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
        trace({op_index, k, program::to_string(op.code), bytes,
               commit::tensor_root(slot.dtype, dims, bytes)});
    }
}

/// A trace waits for each op.
Status CudaEngine::Impl::execute_all() {
    std::optional<Repeated> repeated;
    if (options.graphs && !trace) repeated.emplace(*device);
    for (std::uint32_t i = 0; i < program.ops().size();) {
        GYM_TRY(const std::uint32_t end, execute_from(i));
        for (; i < end; ++i)
            observe(i);
    }
    take_next_values();
    return {};
}

void CudaEngine::Impl::tell_if_no_graphs() {
    if (device->no_graphs_because().empty() || !options.notice) return;
    std::exchange(options.notice,
                  nullptr)("CUDA graphs are not used: " + device->no_graphs_because() +
                           "; kernels are launched one by one");
}

void CudaEngine::Impl::take_next_values() {
    for (const SlotId id : state_ids) {
        const SlotId next = program.slot(id).next;
        if (memory[next] != memory[id]) device->copy(memory[id], memory[next], size_of(id));
        if (checks) checks->take_next_value(id);
    }
}

/// The tensor roots of slots; with checks hashed twice, and their memory looked at once more.
Result<std::vector<Digest>> CudaEngine::Impl::hash(std::span<const SlotId> ids) {
    const std::size_t passes = checks ? 2 : 1;
    std::vector<Digest> trees(passes * ids.size());
    std::vector<cuda::Region> tensors;
    for (const SlotId id : ids)
        tensors.push_back({memory[id], static_cast<std::int64_t>(size_of(id))});
    for (std::size_t pass = 0; pass < passes; ++pass)
        cuda::chunk_tree_roots(*device, tensors, commit::absent_leaf().data,
                               roots + pass * ids.size() * sizeof(Digest));
    if (checks) checks->expect_unchanged(ids);
    device->download(static_cast<void*>(trees.data()), roots, trees.size() * sizeof(Digest));
    GYM_CHECK(outcome());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (trees[i] != trees[i + (passes - 1) * ids.size()])
            return device_erred(device->cuda_name(),
                                "hashing '" + program.slot(ids[i]).name + "' gave two results");
        const Slot& slot = program.slot(ids[i]);
        const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
        trees[i] = commit::tensor_digest(slot.dtype, dims, trees[i]);
    }
    trees.resize(ids.size());
    return trees;
}

Result<SlotId> CudaEngine::Impl::output_slot(std::string_view name) const {
    const SlotId id = program.find_output(name);
    if (id == program::kNoSlot)
        return fail(ErrorCode::kNotFound, "the program has no output '" + std::string(name) + "'");
    if (!outlives_the_run(program, name))
        return fail(ErrorCode::kInvalidArgument, "output '" + std::string(name) +
                                                     "' of a program that trains is gone after "
                                                     "its last reader");
    if (!ran) return fail(ErrorCode::kInvalidArgument, "outputs exist after the first run");
    return id;
}

std::string cuda_unavailable_reason() {
    return cuda::unavailable_reason();
}

Result<CudaEngine> CudaEngine::create(const Program& program, const CudaOptions& options) {
    std::string error;
    auto device = cuda::Device::open(options.device, error);
    if (!device) return fail(ErrorCode::kNotFound, "CUDA device: " + error);
    auto impl = std::make_unique<Impl>(program, options);
    impl->device = std::move(device);
    impl->plan = plan_memory(program);
    const Status fits = check_memory(program, room_on(*impl->device, options));
    if (!fits.ok() && fits.error().code == ErrorCode::kOutOfRange)
        note_no_room(impl->device->cuda_name());
    GYM_CHECK(fits);
    impl->state_ids = state_slots(program);
    impl->input_ids = program.slots_of(SlotKind::kInput);
    if (options.checked)
        impl->checks = std::make_unique<CudaChecks>(*impl->device, impl->program, impl->memory);
    impl->place_slots();
    GYM_CHECK(impl->outcome());
    return CudaEngine(std::move(impl));
}

CudaEngine::CudaEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudaEngine::CudaEngine(CudaEngine&&) noexcept = default;
CudaEngine& CudaEngine::operator=(CudaEngine&&) noexcept = default;
CudaEngine::~CudaEngine() = default;

Status CudaEngine::load(const State& state) {
    GYM_CHECK(check_state(impl_->program, impl_->state_ids, state));
    for (std::size_t i = 0; i < state.tensors.size(); ++i)
        impl_->upload(impl_->state_ids[i], state.tensors[i].bytes);
    impl_->device->synchronize();  // the state may go once this returns
    return impl_->outcome();
}

Status CudaEngine::store(State& state) {
    GYM_CHECK(check_state(impl_->program, impl_->state_ids, state));
    for (std::size_t i = 0; i < state.tensors.size(); ++i)
        impl_->download(impl_->state_ids[i], state.tensors[i].bytes);
    return impl_->outcome();
}

Status CudaEngine::run(std::span<const NamedTensorView> inputs) {
    if (impl_->checks) impl_->checks->begin_run();
    GYM_CHECK(impl_->bind_inputs(inputs));
    GYM_CHECK(impl_->execute_all());
    impl_->tell_if_no_graphs();
    impl_->ran = true;
    return impl_->outcome();
}

Result<Bytes> CudaEngine::output(std::string_view name) {
    GYM_TRY(const SlotId id, impl_->output_slot(name));
    Bytes bytes(impl_->size_of(id));
    impl_->download(id, bytes);
    GYM_CHECK(impl_->outcome());
    return bytes;
}

Result<std::vector<Digest>> CudaEngine::output_roots(std::span<const std::string_view> names) {
    if (names.size() > impl_->program.outputs().size())
        return fail(ErrorCode::kOutOfRange, "more names than the program has outputs");
    std::vector<SlotId> ids;
    for (const std::string_view name : names) {
        GYM_TRY(const SlotId id, impl_->output_slot(name));
        ids.push_back(id);
    }
    return impl_->hash(ids);
}

Result<Digest> CudaEngine::state_root() {
    GYM_TRY(const std::vector<Digest> roots, impl_->hash(impl_->state_ids));
    return commit::merkle_root(roots);
}

void CudaEngine::set_trace(std::function<void(const TraceEntry&)> sink) {
    impl_->trace = std::move(sink);
}

std::string CudaEngine::device_name() const {
    return impl_->device->name();
}

}  // namespace gym::engine
