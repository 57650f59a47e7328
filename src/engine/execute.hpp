#pragma once

#include "gym/engine/reference.hpp"
#include "gym/kernels/context.hpp"
#include "gym/kernels/macros.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// One op of a running program with everything that a kernel needs.
struct OpCall {
    const program::Program& program;
    const program::Op& op;
    const SlotPointers& memory;
    const kernels::Context& context;
    kernels::MacroWorkspace& scratch;

    [[nodiscard]] const program::Slot& input_slot(std::size_t k) const {
        return program.slot(op.inputs[k]);
    }
    [[nodiscard]] const program::Slot& output_slot(std::size_t k) const {
        return program.slot(op.outputs[k]);
    }
    template <class T = float>
    [[nodiscard]] const T* input(std::size_t k) const {
        return reinterpret_cast<const T*>(memory[op.inputs[k]]);
    }
    template <class T = float>
    [[nodiscard]] T* output(std::size_t k) const {
        return reinterpret_cast<T*>(memory[op.outputs[k]]);
    }
};

/// Runs any op: by its fused kernel if there is one, else by its definition. Same bits either way.
void execute(const OpCall& call);

/// Whether execute() has a fused kernel for this macro (a test asks for all of them).
[[nodiscard]] bool has_fused_kernel(program::Opcode code);

}  // namespace gym::engine
