#include "macro.hpp"

namespace gym::program {
namespace {

void check_layernorm(Check& c, bool gradient) {
    c.all_f32();
    c.rank(c.in(0), 2, "x");
    if (!c.ok()) return;
    const Dims x = c.in(0).dims;
    const Dims row{x[1]}, column{x[0], 1};
    c.dims(c.in(1), row, "gamma");
    c.dims(c.in(2), gradient ? column : row, gradient ? "mean" : "beta");
    if (gradient) {
        c.dims(c.in(3), column, "rstd");
        c.dims(c.in(4), x, "dy");
    }
    c.dims(c.out(0), x, "output 0");
    c.dims(c.out(1), gradient ? row : column, "output 1");
    c.dims(c.out(2), gradient ? row : column, "output 2");
}

void check_gelu_grad(Check& c) {
    c.all_f32();
    c.dims(c.in(1), c.in(0).dims, "dy");
    c.dims(c.out(), c.in(0).dims, "output");
}

void expand_layernorm(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1], beta = op.inputs[2];
    const SlotId y = op.outputs[0], mean = op.outputs[1], rstd = op.outputs[2];
    const SlotId width = e.number(static_cast<float>(e.dims(x)[1]));
    e.map(Opcode::kDiv, {e.exact_sum(x), width}, mean);
    const SlotId centred = e.sub(x, mean);
    const SlotId variance = e.div(e.exact_sum(e.mul(centred, centred)), width);
    const SlotId epsilon = e.number_bits(static_cast<std::uint32_t>(op.attributes[0]));
    e.map(Opcode::kRsqrt, {e.add(variance, epsilon)}, rstd);
    e.map(Opcode::kFma, {e.mul(centred, rstd), gamma, beta}, y);
}

void expand_layernorm_grad(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1], mean = op.inputs[2], rstd = op.inputs[3],
                 dy = op.inputs[4];
    const SlotId dx = op.outputs[0], dgamma = op.outputs[1], dbeta = op.outputs[2];
    const std::uint32_t columns = e.dims(x)[1];
    const SlotId width = e.number(static_cast<float>(columns));
    const SlotId n = e.mul(e.sub(x, mean), rstd);
    const SlotId g = e.mul(dy, gamma);
    const SlotId a = e.div(e.exact_sum(g), width);
    const SlotId b = e.div(e.exact_sum(e.mul(g, n)), width);
    const SlotId centred = e.sub(g, a);
    const SlotId inner = e.sub(centred, e.mul(n, b));
    e.map(Opcode::kMul, {inner, rstd}, dx);
    e.column_sum(e.mul(dy, n), columns, dgamma);
    e.column_sum(dy, columns, dbeta);
}

void expand_gelu_grad(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0], dy = op.inputs[1];
    const SlotId c0 = e.number_bits(0x3FCC422A);  // 2 sqrt(2/pi)
    const SlotId c1 = e.number_bits(0x3D922279);  // c0 * 0.044715
    const SlotId c2 = e.number_bits(0x3E5B33B6);  // 3 c1
    const SlotId one = e.number(1.0F);
    const SlotId x2 = e.mul(x, x);
    const SlotId s = e.map(Opcode::kSigmoid, {e.mul(x, e.fma(x2, c1, c0))});
    const SlotId slope = e.mul(x, e.fma(x2, c2, c0));
    const SlotId u = e.fma(slope, e.sub(one, s), one);
    e.map(Opcode::kMul, {dy, e.mul(s, u)}, op.outputs[0]);
}

void differentiate_layernorm(Backward& back, const Op& op, SlotId dy) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1], beta = op.inputs[2];
    const SlotId dx = back.b.temp(DType::kF32, back.b.slot(x).dims);
    const SlotId dgamma = back.b.temp(DType::kF32, back.b.slot(gamma).dims);
    const SlotId dbeta = back.b.temp(DType::kF32, back.b.slot(beta).dims);
    back.b.append({Opcode::kLayernormGrad,
                   {x, gamma, op.outputs[1], op.outputs[2], dy},
                   {dx, dgamma, dbeta},
                   {}});
    back.contribute(x, dx);
    back.contribute(gamma, dgamma);
    back.contribute(beta, dbeta);
}

}  // namespace

const Macro kLayernorm{Opcode::kLayernorm, [](Check& c) { check_layernorm(c, false); },
                       expand_layernorm, differentiate_layernorm};
const Macro kLayernormGrad{Opcode::kLayernormGrad, [](Check& c) { check_layernorm(c, true); },
                           expand_layernorm_grad};
const Macro kGeluGrad{Opcode::kGeluGrad, check_gelu_grad, expand_gelu_grad};

}  // namespace gym::program
