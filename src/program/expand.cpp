#include "gym/program/expand.hpp"

#include "expander.hpp"

namespace gym::program {
namespace {

void expand_column_sum(Expander& e, const Op& op) {
    const auto columns = static_cast<std::uint32_t>(element_count(e.dims(op.outputs[0])));
    e.column_sum(op.inputs[0], columns, op.outputs[0]);
}

void expand_sum_squares(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0];
    const auto count = static_cast<std::uint32_t>(element_count(e.dims(x)));
    e.exact_sum(e.map_to({count}, Opcode::mul, {x, x}), op.outputs[0]);
}

void expand_matmul(Expander& e, const Op& op) {
    const SlotId a = op.attributes[0] == 1 ? e.transpose(op.inputs[0]) : op.inputs[0];
    const SlotId b = op.attributes[1] == 1 ? e.transpose(op.inputs[1]) : op.inputs[1];
    e.product(a, b, false, op.outputs[0]);
}

void expand_macro(Expander& e, const Op& op) {
    using enum Opcode;
    switch (op.code) {
        case row_sum:
            e.exact_sum(op.inputs[0], op.outputs[0]);
            break;
        case column_sum:
            expand_column_sum(e, op);
            break;
        case sum_squares:
            expand_sum_squares(e, op);
            break;
        case matmul:
            expand_matmul(e, op);
            break;
        case layernorm:
            expand_layernorm(e, op);
            break;
        case layernorm_grad:
            expand_layernorm_grad(e, op);
            break;
        case gelu_grad:
            expand_gelu_grad(e, op);
            break;
        case attention:
            expand_attention(e, op);
            break;
        case attention_grad:
            expand_attention_grad(e, op);
            break;
        case cross_entropy:
            expand_cross_entropy(e, op);
            break;
        case cross_entropy_grad:
            expand_cross_entropy_grad(e, op);
            break;
        case embedding_grad:
            expand_embedding_grad(e, op);
            break;
        case adamw:
            expand_adamw(e, op);
            break;
        default:
            GYM_ASSERT(false, "a macro without an expansion");
    }
}

}  // namespace

Expansion expand(std::span<const Slot> slots, const Op& op, SlotId first_temp) {
    if (!info(op.code).macro) return {first_temp, {}, {op}};
    Expander expander(slots, first_temp);
    expand_macro(expander, op);
    return expander.take();
}

Result<Program> expand(const Program& program) {
    ProgramParts parts = program.parts();
    parts.ops.clear();
    for (const Op& op : program.ops()) {
        Expansion expansion = expand(program.slots(), op, static_cast<SlotId>(parts.slots.size()));
        for (Slot& temp : expansion.temps)
            parts.slots.push_back(std::move(temp));
        for (Op& primitive : expansion.ops)
            parts.ops.push_back(std::move(primitive));
    }
    return Program::create(std::move(parts));
}

}  // namespace gym::program
