#include "macro.hpp"

namespace gym::program {
namespace {

void check_swiglu(Check& c) {
    c.all_f32();
    c.dims(c.in(1), c.in(0).dims, "up");
    c.dims(c.out(), c.in(0).dims, "output");
}

void check_swiglu_grad(Check& c) {
    c.all_f32();
    c.dims(c.in(1), c.in(0).dims, "up");
    c.dims(c.in(2), c.in(0).dims, "dy");
    c.dims(c.out(0), c.in(0).dims, "dgate");
    c.dims(c.out(1), c.in(0).dims, "dup");
}

void expand_swiglu(Expander& e, const Op& op) {
    e.map(Opcode::kMul, {e.map(Opcode::kSilu, {op.inputs[0]}), op.inputs[1]}, op.outputs[0]);
}

void expand_swiglu_grad(Expander& e, const Op& op) {
    const SlotId gate = op.inputs[0], up = op.inputs[1], dy = op.inputs[2];
    const SlotId one = e.number(1.0F);
    const SlotId s = e.map(Opcode::kSigmoid, {gate});
    const SlotId u = e.fma(gate, e.sub(one, s), one);
    const SlotId arriving = e.mul(dy, up);
    e.map(Opcode::kMul, {arriving, e.mul(s, u)}, op.outputs[0]);
    e.map(Opcode::kMul, {dy, e.map(Opcode::kSilu, {gate})}, op.outputs[1]);
}

void differentiate_swiglu(Backward& back, const Op& op, SlotId dy) {
    const SlotId gate = op.inputs[0], up = op.inputs[1];
    const SlotId d_gate = back.like(gate);
    const SlotId d_up = back.like(up);
    back.b.append({Opcode::kSwigluGrad, {gate, up, dy}, {d_gate, d_up}, {}});
    back.contribute(gate, d_gate);
    back.contribute(up, d_up);
}

}  // namespace

const Macro kSwiglu{Opcode::kSwiglu, check_swiglu, expand_swiglu, differentiate_swiglu};
const Macro kSwigluGrad{Opcode::kSwigluGrad, check_swiglu_grad, expand_swiglu_grad};

}  // namespace gym::program
