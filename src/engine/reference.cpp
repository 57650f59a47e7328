#include "gym/engine/reference.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "gym/common/assert.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/validate.hpp"
#include "reference_ops.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;

/// Whether `op` was one of the elementwise ops.
bool run_elementwise(const PrimitiveCall& call) {
    namespace f = kernels::f32;
    switch (call.op().code) {
        case Opcode::kFill:
            return call.map([&](auto) { return f::canonical(call.op().f32(0)); });
        case Opcode::kAdd:
            return call.map([](auto x) { return f::add(x(0), x(1)); });
        case Opcode::kSub:
            return call.map([](auto x) { return f::sub(x(0), x(1)); });
        case Opcode::kMul:
            return call.map([](auto x) { return f::mul(x(0), x(1)); });
        case Opcode::kDiv:
            return call.map([](auto x) { return f::div(x(0), x(1)); });
        case Opcode::kMin:
            return call.map([](auto x) { return f::min(x(0), x(1)); });
        case Opcode::kFma:
            return call.map([](auto x) { return f::fma(x(0), x(1), x(2)); });
        case Opcode::kSqrt:
            return call.map([](auto x) { return f::sqrt(x(0)); });
        case Opcode::kRsqrt:
            return call.map([](auto x) { return f::rsqrt(x(0)); });
        case Opcode::kExp:
            return call.map([](auto x) { return f::exp(x(0)); });
        case Opcode::kLog:
            return call.map([](auto x) { return f::log(x(0)); });
        case Opcode::kSigmoid:
            return call.map([](auto x) { return f::sigmoid(x(0)); });
        case Opcode::kGelu:
            return call.map([](auto x) { return f::gelu(x(0)); });
        case Opcode::kSilu:
            return call.map([](auto x) { return f::silu(x(0)); });
        case Opcode::kLessEqual:
            return call.map([](auto x) { return f::less_equal(x(0), x(1)) ? 1.0f : 0.0f; });
        case Opcode::kSelect:
            return call.map([](auto x) { return f::select(x(0) > 0.0f, x(1), x(2)); });
        default:
            return false;
    }
}

bool run_movement(const PrimitiveCall& call) {
    switch (call.op().code) {
        case Opcode::kStridedCopy:
            return call.strided_copy();
        case Opcode::kConcat:
            return call.concat();
        case Opcode::kGatherRows:
            return call.gather_rows();
        case Opcode::kPick:
            return call.pick();
        case Opcode::kOneHot:
            return call.one_hot();
        case Opcode::kCausalFill:
            return call.causal_fill();
        case Opcode::kRandomMask:
            return call.random_mask();
        default:
            return false;
    }
}

bool run_integer_part(const PrimitiveCall& call) {
    switch (call.op().code) {
        case Opcode::kBlockMax:
            return call.block_max();
        case Opcode::kBlockExponent:
            return call.block_exponent();
        case Opcode::kConstantExponent:
            return call.constant_exponent();
        case Opcode::kQuantiseI32:
            return call.quantise<std::int32_t>([](float x, std::int32_t e) {
                return kernels::sum_term(x, kernels::bounded_exponent(e));
            });
        case Opcode::kQuantiseI16:
            return call.quantise<std::int16_t>([](float x, std::int32_t e) {
                return static_cast<std::int16_t>(
                    kernels::q14_quantise(x, kernels::bounded_exponent(e)));
            });
        case Opcode::kBlockSum:
            return call.block_sum();
        case Opcode::kSelectSum:
            return call.select_sum();
        case Opcode::kFinishSum:
            return call.finish_sum();
        case Opcode::kBlockDot:
            return call.block_dot();
        case Opcode::kRescaleDot:
            return call.rescale_dot();
        case Opcode::kFinishProduct:
            return call.finish_product();
        default:
            return false;
    }
}

}  // namespace

void run_primitive(const SlotTable& slots, const Op& op, const SlotPointers& memory,
                   kernels::ThreadPool* pool) {
    const PrimitiveCall call(slots, op, memory, pool);
    const bool known = run_elementwise(call) || run_movement(call) || run_integer_part(call);
    GYM_ASSERT(known, "run_primitive() got a macro");
}

void run_primitives(std::span<const program::Slot> slots, const program::Expansion& expansion,
                    const SlotPointers& memory) {
    GYM_ASSERT(expansion.first_temp == slots.size() && memory.size() == slots.size(),
               "an expansion's temps follow the program's slots");
    const kernels::ExactFloatEnvironment environment;
    const SlotTable table(slots, expansion.temps);
    SlotPointers all = memory;
    std::vector<std::vector<std::uint64_t>> storage;
    storage.reserve(expansion.temps.size());
    for (const program::Slot& temp : expansion.temps) {
        storage.emplace_back((program::size_bytes(temp) + 7) / 8);
        all.push_back(reinterpret_cast<std::uint8_t*>(storage.back().data()));
    }
    for (const Op& op : expansion.ops)
        run_primitive(table, op, all);
}

}  // namespace gym::engine
