#include "state_of_program.hpp"

#include <bit>

#include "gym/engine/positions.hpp"
#include "gym/engine/state.hpp"
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

Status check_fits(const State& base, const Delta& delta) {
    bool fits = delta.parameters() == base.tensors.size();
    for (std::size_t i = 0; fits && i < base.tensors.size(); ++i)
        fits = delta.elements(i) * sizeof(float) == base.tensors[i].bytes.size();
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
        const Slot& slot = train.slot(id);
        if (slot.kind == SlotKind::kParam) {
            state.tensors.push_back(*next_param++);
            continue;
        }
        if (slot.init.kind != Init::Kind::kConstant)
            return fail(ErrorCode::kInvalidArgument,
                        "optimizer state '" + slot.name + "' must begin as a constant");
        state.tensors.push_back(initial_tensor(slot, id, {}));
    }
    return state;
}

}  // namespace gym::engine
