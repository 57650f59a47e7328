#include "state_of_program.hpp"

#include <bit>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/positions.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/philox.h"

namespace gym::engine {
namespace {

constexpr const char* kOfAnother = "the state is not of this program: ";

using program::Init;
using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

float initial_element(const Init& init, kernels::PhiloxKey key, SlotId slot, std::uint64_t i) {
    const float value = kernels::f32::from_bits(init.bits);
    if (init.kind != Init::Kind::kNormal) return kernels::f32::canonical(value);
    const kernels::RandomPosition position{0, 0, 0, kRandomOpInitialFirst + slot};
    return kernels::f32::mul(kernels::unit_variance(kernels::random_block(key, position, i)),
                             value);
}

StateTensor initial_tensor(const Slot& slot, SlotId id, kernels::PhiloxKey key) {
    StateTensor tensor = empty_tensor(slot);
    const std::uint64_t count = program::element_count(slot.dims);
    tensor.bytes.resize(program::size_bytes(slot));
    for (std::uint64_t i = 0; i < count; ++i) {
        const float value = initial_element(slot.init, key, id, i);
        std::memcpy(tensor.bytes.data() + i * sizeof value, &value, sizeof value);
    }
    return tensor;
}

/// Of the optimizer, before the first step.
Result<StateTensor> fresh_tensor(const Slot& slot, SlotId id) {
    if (slot.init.kind == Init::Kind::kConstant) return initial_tensor(slot, id, {});
    return fail(ErrorCode::kInvalidArgument,
                "optimizer state '" + slot.name + "' must begin as a constant");
}

/// The root of a training state that begins with these parameters.
Result<Digest> fresh_root(const Program& train, std::span<const commit::TensorView> params,
                          unsigned threads) {
    const std::vector<Digest> param_roots = commit::tensor_roots(params, threads);
    std::vector<Digest> roots;
    auto next_param = param_roots.begin();
    for (const SlotId id : state_slots(train)) {
        if (train.slot(id).kind == SlotKind::kParam) {
            roots.push_back(*next_param++);
            continue;
        }
        GYM_TRY(const StateTensor fresh, fresh_tensor(train.slot(id), id));
        roots.push_back(commit::tensor_root(fresh.dtype, fresh.dims, fresh.bytes, threads));
    }
    return commit::merkle_root(roots);
}

std::vector<commit::TensorView> views_of(const StateIndex& index, ByteView state) {
    std::vector<commit::TensorView> out;
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        const TensorLayout& tensor = index.layout()[i];
        out.push_back(
            {tensor.dtype, tensor.dims, state.subspan(index.begin(i), index.tensor_bytes(i))});
    }
    return out;
}

}  // namespace

StateTensor empty_tensor(const Slot& slot) {
    return {slot.name, slot.dtype, {slot.dims.begin(), slot.dims.end()}, {}};
}

std::vector<SlotId> state_slots(const Program& program) {
    std::vector<SlotId> ids;
    for (SlotId id = 0; id < program.slots().size(); ++id) {
        const SlotKind kind = program.slot(id).kind;
        if (kind == SlotKind::kParam || kind == SlotKind::kState) ids.push_back(id);
    }
    return ids;
}

Status check_tensor(const Slot& slot, const StateTensor& tensor) {
    const bool dims_equal = std::ranges::equal(slot.dims, tensor.dims);
    if (tensor.name == slot.name && tensor.dtype == slot.dtype && dims_equal &&
        tensor.bytes.size() == program::size_bytes(slot))
        return {};
    const std::vector<std::uint64_t> needed(slot.dims.begin(), slot.dims.end());
    return fail(ErrorCode::kShapeMismatch,
                std::string(kOfAnother) + "tensor '" + tensor.name + "' is " +
                    shape_text(commit::to_string(tensor.dtype), tensor.dims) +
                    ", the program needs '" + slot.name + "' " +
                    shape_text(commit::to_string(slot.dtype), needed));
}

Status check_fits(const Program& program, const Delta& delta) {
    const std::vector<SlotId> params = program.slots_of(SlotKind::kParam);
    bool fits = delta.parameters() == params.size();
    for (std::size_t i = 0; fits && i < params.size(); ++i)
        fits = delta.elements(i) == program::element_count(program.slot(params[i]).dims);
    if (fits) return {};
    return fail(ErrorCode::kShapeMismatch,
                "delta " + delta.root().hex() + " does not have the program's parameters");
}

Status check_state(const Program& program, std::span<const SlotId> slots, const State& state) {
    if (slots.size() != state.tensors.size())
        return fail(ErrorCode::kShapeMismatch,
                    std::string(kOfAnother) + "it has " + std::to_string(state.tensors.size()) +
                        " tensors, the program needs " + std::to_string(slots.size()));
    for (std::size_t i = 0; i < slots.size(); ++i)
        GYM_CHECK(check_tensor(program.slot(slots[i]), state.tensors[i]));
    return {};
}

Result<State> parameters_for(const Program& program, const State& state) {
    State found;
    for (const SlotId id : state_slots(program)) {
        const StateTensor* tensor = state.find(program.slot(id).name);
        if (tensor == nullptr)
            return fail(ErrorCode::kShapeMismatch, std::string(kOfAnother) + "it has no tensor '" +
                                                       program.slot(id).name + "'");
        GYM_CHECK(check_tensor(program.slot(id), *tensor));
        found.tensors.push_back(*tensor);
    }
    return found;
}

Result<State> initial_state(const Program& train, const Digest& job_seed) {
    const kernels::ExactFloatEnvironment environment;
    const auto key = kernels::philox_key(job_seed.data.data());
    State state;
    for (const SlotId id : state_slots(train)) {
        if (train.slot(id).dtype != commit::DType::kF32)
            return fail(ErrorCode::kShapeMismatch,
                        "state slot '" + train.slot(id).name + "' is not f32");
        state.tensors.push_back(initial_tensor(train.slot(id), id, key));
    }
    return state;
}

Result<State> base_of(const Program& train, const State& state) {
    const auto params = train.slots_of(SlotKind::kParam);
    if (check_state(train, params, state).ok()) return state;
    GYM_CHECK(check_state(train, state_slots(train), state));
    State base;
    for (const SlotId id : params)
        base.tensors.push_back(*state.find(train.slot(id).name));
    return base;
}

Result<State> with_fresh_optimizer(const Program& train, const State& base) {
    GYM_CHECK(check_state(train, train.slots_of(SlotKind::kParam), base));
    State state;
    auto next_param = base.tensors.begin();
    for (const SlotId id : state_slots(train)) {
        if (train.slot(id).kind == SlotKind::kParam) {
            state.tensors.push_back(*next_param++);
            continue;
        }
        GYM_TRY(StateTensor fresh, fresh_tensor(train.slot(id), id));
        state.tensors.push_back(std::move(fresh));
    }
    return state;
}

Result<Digest> fresh_state_root(const Program& train, const State& base, unsigned threads) {
    GYM_CHECK(check_state(train, train.slots_of(SlotKind::kParam), base));
    std::vector<commit::TensorView> params;
    for (const StateTensor& tensor : base.tensors)
        params.push_back({tensor.dtype, tensor.dims, tensor.bytes});
    return fresh_root(train, params, threads);
}

Result<Digest> fresh_state_root(const Program& train, ByteView base, unsigned threads) {
    GYM_TRY(const StateIndex index, StateIndex::of(parameter_layout(train)));
    GYM_CHECK(index.check(base));
    return fresh_root(train, views_of(index, base), threads);
}

Digest state_root(const StateIndex& index, ByteView state, unsigned threads) {
    return commit::merkle_root(commit::tensor_roots(views_of(index, state), threads));
}

}  // namespace gym::engine
