#include "macro.hpp"

namespace gym::program {
namespace {

void check_cross_entropy(Check& c, bool gradient) {
    c.dtype(c.in(0), DType::kF32, "logits");
    c.rank(c.in(0), 2, "logits");
    if (!c.ok()) return;
    c.indices(c.in(1), c.in(0).dims[0]);
    const Dims column{c.in(0).dims[0], 1};
    const Slot& m = gradient ? c.in(2) : c.out(1);
    const Slot& l = gradient ? c.in(3) : c.out(2);
    const Slot& loss = gradient ? c.in(4) : c.out(0);
    for (const Slot* slot : {&m, &l, &loss})
        c.dtype(*slot, DType::kF32, "m, l and the loss");
    c.dims(m, column, "m");
    c.dims(l, column, "l");
    c.dims(loss, {1}, gradient ? "dloss" : "loss");
    if (!gradient) return;
    c.dtype(c.out(), DType::kF32, "dlogits");
    c.dims(c.out(), c.in(0).dims, "dlogits");
}

void check_embedding_grad(Check& c) {
    c.dtype(c.in(0), DType::kF32, "dy");
    c.dtype(c.out(), DType::kF32, "output");
    c.rank(c.in(0), 2, "dy");
    c.rank(c.out(), 2, "output");
    if (!c.ok()) return;
    c.indices(c.in(1), c.in(0).dims[0]);
    c.require(c.out().dims[1] == c.in(0).dims[1], "table rows must be as long as dy's");
}

void check_adamw(Check& c) {
    c.all_f32();
    for (std::size_t i = 1; i < 4; ++i)
        c.dims(c.in(i), c.in(0).dims, "m, v and g");
    for (std::size_t i = 4; i < 8; ++i)
        c.count(c.in(i), 1, "lr, clip, r1 and r2");
    for (std::size_t i = 0; i < 3; ++i)
        c.dims(c.out(i), c.in(0).dims, "output " + std::to_string(i));
}

/// exp(logits - m).
SlotId numerators(Expander& e, SlotId logits, SlotId m) {
    return e.map(Opcode::kExp, {e.sub(logits, m)});
}

void expand_cross_entropy(Expander& e, const Op& op) {
    const SlotId logits = op.inputs[0], targets = op.inputs[1];
    const SlotId loss = op.outputs[0], m = op.outputs[1], l = op.outputs[2];
    const std::uint32_t rows = e.dims(logits)[0];
    e.reduce(Opcode::kBlockMax, logits, m);
    e.exact_sum(numerators(e, logits, m), l, 1);
    const SlotId picked = e.temp(DType::kF32, {rows, 1});
    e.emit(Opcode::kPick, {logits, targets}, picked);
    const SlotId log_sum = e.map(Opcode::kLog, {l});
    const SlotId shifted = e.sub(picked, m);
    const SlotId each = e.map_to({rows}, Opcode::kSub, {log_sum, shifted});
    const SlotId total = e.exact_sum(each);
    e.map(Opcode::kDiv, {total, e.number(static_cast<float>(rows))}, loss);
}

void expand_cross_entropy_grad(Expander& e, const Op& op) {
    const SlotId logits = op.inputs[0], targets = op.inputs[1], m = op.inputs[2], l = op.inputs[3],
                 d_loss = op.inputs[4];
    const SlotId probabilities = e.div(numerators(e, logits, m), l);
    const SlotId wanted = e.temp(DType::kF32, e.dims(logits));
    e.emit(Opcode::kOneHot, {targets}, wanted);
    const SlotId difference = e.sub(probabilities, wanted);
    const SlotId rows = e.number(static_cast<float>(e.dims(logits)[0]));
    e.map(Opcode::kMul, {difference, e.div(d_loss, rows)}, op.outputs[0]);
}

void expand_embedding_grad(Expander& e, const Op& op) {
    const SlotId dy = op.inputs[0], indices = op.inputs[1], table = op.outputs[0];
    const SlotId x = e.transpose(dy);
    const std::uint32_t columns = e.dims(x)[0];
    const std::uint32_t rows = e.dims(x)[1];
    const auto blocks = static_cast<std::uint32_t>((rows + kBlockElements - 1) / kBlockElements);
    const SlotId block_exponents = e.temp(DType::kI32, {columns, blocks});
    e.emit(Opcode::kBlockExponent, {x}, block_exponents);
    const SlotId exponents = e.reduce(Opcode::kBlockMax, block_exponents);
    const SlotId q = e.temp(DType::kI32, e.dims(x));
    e.emit(Opcode::kQuantiseI32, {x, exponents}, q);
    const SlotId sums = e.temp(DType::kI64, {e.dims(table)[0], columns, blocks});
    e.emit(Opcode::kSelectSum, {q, indices}, sums);
    e.emit(Opcode::kFinishSum, {e.reduce(Opcode::kBlockSum, sums), exponents}, table);
}

/// The new values of p, m and v; `targets` may name slots to write them to.
struct Moments {
    SlotId p = kNoSlot, m = kNoSlot, v = kNoSlot;
};

Moments adamw_step(Expander& e, const Op& op, Moments targets) {
    const SlotId p = op.inputs[0], m = op.inputs[1], v = op.inputs[2], g = op.inputs[3],
                 lr = op.inputs[4], clip = op.inputs[5], r1 = op.inputs[6], r2 = op.inputs[7];
    const auto attribute = [&](std::size_t i) {
        return e.number_bits(static_cast<std::uint32_t>(op.attributes[i]));
    };
    const SlotId beta1 = attribute(0);
    const SlotId one_minus_beta1 = attribute(1);
    const SlotId beta2 = attribute(2);
    const SlotId one_minus_beta2 = attribute(3);
    const SlotId epsilon = attribute(4);
    const SlotId weight_decay = attribute(5);
    const SlotId h = e.mul(g, clip);
    const SlotId m_new = e.map(Opcode::kFma, {m, beta1, e.mul(h, one_minus_beta1)}, targets.m);
    const SlotId squared = e.mul(e.mul(h, h), one_minus_beta2);
    const SlotId v_new = e.map(Opcode::kFma, {v, beta2, squared}, targets.v);
    const SlotId root = e.map(Opcode::kSqrt, {e.mul(v_new, r2)});
    const SlotId divisor = e.add(root, epsilon);
    const SlotId u = e.div(e.mul(m_new, r1), divisor);
    const SlotId step = e.mul(lr, e.fma(p, weight_decay, u));
    return {e.map(Opcode::kSub, {p, step}, targets.p), m_new, v_new};
}

void expand_adamw(Expander& e, const Op& op) {
    adamw_step(e, op, {op.outputs[0], op.outputs[1], op.outputs[2]});
}

void check_adamw_guarded(Check& c) {
    check_adamw(c);
    c.count(c.in(8), 1, "keep");
}

void expand_adamw_guarded(Expander& e, const Op& op) {
    const Moments next = adamw_step(e, op, {});
    const SlotId keep = op.inputs[8];
    e.map(Opcode::kSelect, {keep, next.p, op.inputs[0]}, op.outputs[0]);
    e.map(Opcode::kSelect, {keep, next.m, op.inputs[1]}, op.outputs[1]);
    e.map(Opcode::kSelect, {keep, next.v, op.inputs[2]}, op.outputs[2]);
}

void differentiate_cross_entropy(Backward& back, const Op& op, SlotId dy) {
    const SlotId logits = op.inputs[0];
    const SlotId dlogits = back.b.temp(DType::kF32, back.b.slot(logits).dims);
    back.b.append({Opcode::kCrossEntropyGrad,
                   {logits, op.inputs[1], op.outputs[1], op.outputs[2], dy},
                   {dlogits},
                   {}});
    back.contribute(logits, dlogits);
}

}  // namespace

const Macro kCrossEntropy{Opcode::kCrossEntropy, [](Check& c) { check_cross_entropy(c, false); },
                          expand_cross_entropy, differentiate_cross_entropy};
const Macro kCrossEntropyGrad{Opcode::kCrossEntropyGrad,
                              [](Check& c) { check_cross_entropy(c, true); },
                              expand_cross_entropy_grad};
const Macro kEmbeddingGrad{Opcode::kEmbeddingGrad, check_embedding_grad, expand_embedding_grad};
const Macro kAdamw{Opcode::kAdamw, check_adamw, expand_adamw};
const Macro kAdamwGuarded{Opcode::kAdamwGuarded, check_adamw_guarded, expand_adamw_guarded};

}  // namespace gym::program
