#include "macro.hpp"

namespace gym::program {
namespace {

void check_row_sum(Check& c) {
    c.all_f32();
    c.dims(c.out(), with_last(c.in(0).dims, 1), "output");
}

void check_column_sum(Check& c) {
    c.all_f32();
    c.require(element_count(c.in(0).dims) % element_count(c.out().dims) == 0,
              "the output's elements must divide the input's");
}

void check_sum_squares(Check& c) {
    c.all_f32();
    c.dims(c.out(), {1}, "output");
}

void check_matmul(Check& c) {
    c.all_f32();
    c.rank(c.in(0), 2, "a");
    c.rank(c.in(1), 2, "b");
    if (!c.ok()) return;
    const bool ta = c.attribute(0) == 1, tb = c.attribute(1) == 1;
    const Dims& a = c.in(0).dims;
    const Dims& b = c.in(1).dims;
    const std::uint32_t length = a[ta ? 0 : 1];
    c.require(length == b[tb ? 0 : 1],
              "a " + to_string(a) + " and b " + to_string(b) + " do not share a dim");
    c.require(length <= kProductLengthMax, "a product longer than 2^20");
    c.dims(c.out(), {a[ta ? 1 : 0], b[tb ? 1 : 0]}, "output");
}

void expand_row_sum(Expander& e, const Op& op) {
    e.exact_sum(op.inputs[0], op.outputs[0]);
}

void expand_column_sum(Expander& e, const Op& op) {
    const auto columns = static_cast<std::uint32_t>(element_count(e.dims(op.outputs[0])));
    e.column_sum(op.inputs[0], columns, op.outputs[0]);
}

void expand_sum_squares(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0];
    const auto count = static_cast<std::uint32_t>(element_count(e.dims(x)));
    e.exact_sum(e.map_to({count}, Opcode::kMul, {x, x}), op.outputs[0]);
}

void expand_matmul(Expander& e, const Op& op) {
    const SlotId a = op.attributes[0] == 1 ? e.transpose(op.inputs[0]) : op.inputs[0];
    const SlotId b = op.attributes[1] == 1 ? e.transpose(op.inputs[1]) : op.inputs[1];
    e.product(a, b, {}, op.outputs[0]);
}

void check_sum_tensors(Check& c) {
    c.all_f32();
    for (std::size_t i = 1; i < c.inputs(); ++i)
        c.dims(c.in(i), c.in(0).dims, "input " + std::to_string(i));
    c.dims(c.out(), c.in(0).dims, "output");
}

void expand_sum_tensors(Expander& e, const Op& op) {
    const auto count = static_cast<std::uint32_t>(element_count(e.dims(op.inputs[0])));
    std::vector<SlotId> columns;
    columns.reserve(op.inputs.size());
    for (const SlotId x : op.inputs)
        columns.push_back(e.copy(x, {{count, 1}, 0, {1, 0}}));
    const SlotId rows = e.temp(DType::kF32, {count, static_cast<std::uint32_t>(op.inputs.size())});
    e.emit(Opcode::kConcat, columns, rows);
    e.exact_sum(rows, op.outputs[0]);
}

void differentiate_sum_tensors(Backward& back, const Op& op, SlotId dy) {
    for (const SlotId x : op.inputs)
        back.contribute(x, dy);
}

void differentiate_sum(Backward& back, const Op& op, SlotId dy) {
    back.contribute(op.inputs[0], back.spread(op.inputs[0], dy));
}

void differentiate_matmul(Backward& back, const Op& op, SlotId dy) {
    const SlotId a = op.inputs[0], b = op.inputs[1];
    const bool ta = op.attributes[0] == 1, tb = op.attributes[1] == 1;
    // C = A' B'^T with A' = a or a^T, B' = b or b^T: dA' = dC B', dB' = dC^T A'.
    if (back.needed(a))
        back.contribute(a,
                        ta ? back.b.matmul(b, dy, !tb, false) : back.b.matmul(dy, b, false, !tb));
    if (back.needed(b))
        back.contribute(b, tb ? back.b.matmul(a, dy, !ta, true) : back.b.matmul(dy, a, true, !ta));
}

}  // namespace

const Macro kRowSum{Opcode::kRowSum, check_row_sum, expand_row_sum, differentiate_sum};
const Macro kColumnSum{Opcode::kColumnSum, check_column_sum, expand_column_sum, differentiate_sum};
const Macro kSumTensors{Opcode::kSumTensors, check_sum_tensors, expand_sum_tensors,
                        differentiate_sum_tensors};
const Macro kSumSquares{Opcode::kSumSquares, check_sum_squares, expand_sum_squares};
const Macro kMatmul{Opcode::kMatmul, check_matmul, expand_matmul, differentiate_matmul};

}  // namespace gym::program
