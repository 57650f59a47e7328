#include "macro.hpp"

namespace gym::program {
namespace {

void check_rmsnorm(Check& c) {
    c.all_f32();
    c.rank(c.in(0), 2, "x");
    if (!c.ok()) return;
    const Dims& x = c.in(0).dims;
    c.dims(c.in(1), {x[1]}, "gamma");
    c.dims(c.out(0), x, "y");
    c.dims(c.out(1), {x[0], 1}, "rstd");
}

void check_rmsnorm_grad(Check& c) {
    c.all_f32();
    c.rank(c.in(0), 2, "x");
    if (!c.ok()) return;
    const Dims& x = c.in(0).dims;
    c.dims(c.in(1), {x[1]}, "gamma");
    c.dims(c.in(2), {x[0], 1}, "rstd");
    c.dims(c.in(3), x, "dy");
    c.dims(c.out(0), x, "dx");
    c.dims(c.out(1), {x[1]}, "dgamma");
}

void expand_rmsnorm(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1], y = op.outputs[0], rstd = op.outputs[1];
    const SlotId width = e.number(static_cast<float>(e.dims(x)[1]));
    const SlotId mean_square = e.div(e.exact_sum(e.mul(x, x)), width);
    const SlotId epsilon = e.number_bits(static_cast<std::uint32_t>(op.attributes[0]));
    e.map(Opcode::kRsqrt, {e.add(mean_square, epsilon)}, rstd);
    e.map(Opcode::kMul, {e.mul(x, rstd), gamma}, y);
}

void expand_rmsnorm_grad(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1], rstd = op.inputs[2], dy = op.inputs[3];
    const std::uint32_t columns = e.dims(x)[1];
    const SlotId width = e.number(static_cast<float>(columns));
    const SlotId n = e.mul(x, rstd);
    const SlotId g = e.mul(dy, gamma);
    const SlotId b = e.div(e.exact_sum(e.mul(g, n)), width);
    e.map(Opcode::kMul, {e.sub(g, e.mul(n, b)), rstd}, op.outputs[0]);
    e.column_sum(e.mul(dy, n), columns, op.outputs[1]);
}

void differentiate_rmsnorm(Backward& back, const Op& op, SlotId dy) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1];
    const SlotId dx = back.like(x);
    const SlotId dgamma = back.like(gamma);
    back.b.append({Opcode::kRmsnormGrad, {x, gamma, op.outputs[1], dy}, {dx, dgamma}, {}});
    back.contribute(x, dx);
    back.contribute(gamma, dgamma);
}

}  // namespace

const Macro kRmsnorm{Opcode::kRmsnorm, check_rmsnorm, expand_rmsnorm, differentiate_rmsnorm};
const Macro kRmsnormGrad{Opcode::kRmsnormGrad, check_rmsnorm_grad, expand_rmsnorm_grad};

}  // namespace gym::program
