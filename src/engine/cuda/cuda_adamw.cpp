#include <algorithm>
#include <array>
#include <set>

#include "cuda_execute.hpp"
#include "gym/program/opcode.hpp"
#include "macro_arguments.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;

constexpr std::size_t kTensors = 4;      // inputs before the scalars: p, m, v and the gradient
constexpr std::size_t kWeightDecay = 5;  // among the attributes

bool is_adamw(const Op& op) {
    return op.code == Opcode::kAdamw || op.code == Opcode::kAdamwGuarded;
}

bool share_numbers(const Op& a, const Op& b) {
    std::array attributes = b.attributes;
    attributes[kWeightDecay] = a.attributes[kWeightDecay];
    return a.code == b.code && a.attributes == attributes &&
           std::ranges::equal(a.inputs.begin() + kTensors, a.inputs.end(),
                              b.inputs.begin() + kTensors, b.inputs.end());
}

/// What the ops of a group read and write. Temps of a program share memory, and so an op's output
/// may lie where an earlier one's gradient was.
class Footprint {
  public:
    explicit Footprint(const DevicePointers& memory) : memory_(memory) {}

    /// @return false, and nothing is added, if `op` must wait for an op before it.
    bool add(const Op& op) {
        const auto touches = [&](const auto& ids, const std::set<const std::byte*>& other) {
            return std::ranges::any_of(
                ids, [&](program::SlotId id) { return other.contains(memory_[id]); });
        };
        if (touches(op.inputs, written_) || touches(op.outputs, written_) ||
            touches(op.outputs, read_))
            return false;
        for (const program::SlotId id : op.inputs)
            read_.insert(memory_[id]);
        for (const program::SlotId id : op.outputs)
            written_.insert(memory_[id]);
        return true;
    }

  private:
    const DevicePointers& memory_;
    std::set<const std::byte*> read_, written_;
};

/// Whether the new values lie over the old ones: a state slot shares its memory with no other.
bool is_in_place(const Op& op, const DevicePointers& memory) {
    for (std::size_t k = 0; k < op.outputs.size(); ++k)
        if (memory[op.outputs[k]] != memory[op.inputs[k]]) return false;
    return true;
}

}  // namespace

kernels::cuda::AdamwScalars adamw_scalars(const CudaCall& call) {
    const bool guarded = call.op.code == Opcode::kAdamwGuarded;
    return {call.input(4), call.input(5), call.input(6), call.input(7),
            guarded ? call.input(8) : nullptr};
}

AdamwGroup adamw_group(kernels::cuda::Device& device, const program::Program& program,
                       const DevicePointers& memory, std::uint32_t begin) {
    const auto& ops = program.ops();
    AdamwGroup group{begin, begin, {}, {}};
    Footprint footprint(memory);
    for (std::uint32_t i = begin; i < ops.size() && is_adamw(ops[i]); ++i) {
        const bool joins =
            i == begin || (share_numbers(ops[begin], ops[i]) && is_in_place(ops[begin], memory) &&
                           is_in_place(ops[i], memory));
        if (!joins || !footprint.add(ops[i])) break;
        const CudaCall call{device, program.slots(), ops[i], memory};
        group.steps.push_back(arguments::adamw(call));
        group.scalars = adamw_scalars(call);
        group.end = i + 1;
    }
    return group;
}

}  // namespace gym::engine
