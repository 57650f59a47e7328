#include "macro.hpp"

namespace gym::program {
namespace {

// Rotary positions.

void check_rope(Check& c) {
    c.all_f32();
    c.rank(c.in(0), 2, "x");
    c.rank(c.in(1), 2, "cos");
    c.dims(c.in(2), c.in(1).dims, "sin");
    c.dims(c.out(), c.in(0).dims, "output");
    if (!c.ok()) return;
    const Dims& x = c.in(0).dims;
    const Dims& table = c.in(1).dims;
    const std::uint64_t heads = c.attribute(0);
    c.require(x[0] % table[0] == 0, "the tables' rows must divide the rows of x");
    c.require(heads >= 1 && heads <= x[1] && heads * 2 * table[1] <= x[1],
              "heads * 2 * (columns of the tables) must be 1 to the columns of x");
}

void expand_rope(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0], cosine = op.inputs[1], sine = op.inputs[2], y = op.outputs[0];
    const Dims dims = e.dims(x), table = e.dims(cosine);
    const std::uint64_t columns = dims[1];
    const auto heads = static_cast<std::uint32_t>(op.attributes[0]);
    const std::uint32_t context = table[0], half = table[1], batch = dims[0] / context;
    const std::uint32_t size = 2 * half, rotated = heads * size;
    const Dims split{batch, heads, context, half};
    const std::vector<std::uint64_t> strides{context * columns, size, columns, 1};
    const SlotId first = e.copy(x, {split, 0, strides});
    const SlotId second = e.copy(x, {split, half, strides});
    const SlotId first_cos = e.mul(first, cosine);
    const SlotId second_sin = e.mul(second, sine);
    const SlotId second_cos = e.mul(second, cosine);
    const SlotId first_sin = e.mul(first, sine);
    const bool inverse = op.attributes[1] == 1;
    const SlotId y1 = inverse ? e.add(first_cos, second_sin) : e.sub(first_cos, second_sin);
    const SlotId y2 = inverse ? e.sub(second_cos, first_sin) : e.add(second_cos, first_sin);
    const SlotId both = e.temp(DType::kF32, {batch, heads, context, size});
    e.emit(Opcode::kConcat, {y1, y2}, both);
    const std::uint64_t head = std::uint64_t{context} * size;
    const SlotId by_token =
        e.copy(both, {{batch, context, heads, size}, 0, {heads * head, size, head, 1}});
    const bool all = rotated == columns;
    const SlotId front = e.copy(by_token, {{dims[0], rotated}, 0, {rotated, 1}}, all ? y : kNoSlot);
    if (all) return;
    const SlotId rest = e.copy(x, {{dims[0], dims[1] - rotated}, rotated, {columns, 1}});
    e.emit(Opcode::kConcat, {front, rest}, y);
}

/// Rotations are orthogonal: the gradient is turned back.
void differentiate_rope(Backward& back, const Op& op, SlotId dy) {
    const SlotId dx = back.like(op.inputs[0]);
    back.b.append({Opcode::kRope,
                   {dy, op.inputs[1], op.inputs[2]},
                   {dx},
                   {op.attributes[0], op.attributes[1] ^ 1}});
    back.contribute(op.inputs[0], dx);
}

// Key and value heads that several query heads share.

struct Groups {
    std::uint64_t heads, kv_heads, size;

    Groups(const Op& op, std::uint64_t columns, bool repeated)
        : heads(op.attributes[0]),
          kv_heads(op.attributes[1]),
          size(columns / (repeated ? 3 * heads : heads + 2 * kv_heads)) {}
    [[nodiscard]] std::uint64_t group() const { return heads / kv_heads; }
    [[nodiscard]] std::uint64_t q_columns() const { return heads * size; }
    [[nodiscard]] std::uint64_t kv_columns() const { return kv_heads * size; }
};

constexpr std::uint64_t kHeadsMax = 65536;

void check_repeat_heads(Check& c, bool gradient) {
    c.all_f32();
    c.rank(c.in(0), 2, "input");
    c.rank(c.out(), 2, "output");
    if (!c.ok()) return;
    const std::uint64_t heads = c.attribute(0), kv_heads = c.attribute(1);
    c.require(heads >= 1 && heads <= kHeadsMax && kv_heads >= 1 && heads % kv_heads == 0,
              "kv_heads must divide heads, which are at most 65536");
    if (!c.ok()) return;
    const Dims& few = gradient ? c.out().dims : c.in(0).dims;
    const Dims& many = gradient ? c.in(0).dims : c.out().dims;
    const std::uint64_t size = few[1] / (heads + 2 * kv_heads);
    c.require(few[0] == many[0], "input and output must have the same rows");
    c.require(few[1] == size * (heads + 2 * kv_heads) && many[1] == 3 * heads * size,
              "columns must be (heads + 2 kv_heads) and 3 heads times the size of a head");
}

std::uint32_t u32(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

void expand_repeat_heads(Expander& e, const Op& op) {
    const SlotId x = op.inputs[0];
    const std::uint32_t rows = e.dims(x)[0];
    const std::uint64_t columns = e.dims(x)[1];
    const Groups g(op, columns, false);
    const SlotId q = e.copy(x, {{rows, u32(g.q_columns())}, 0, {columns, 1}});
    const auto repeated = [&](std::uint64_t offset) {
        const SlotId parts = e.copy(x, {{rows, u32(g.kv_heads), u32(g.group()), u32(g.size)},
                                        offset,
                                        {columns, g.size, 0, 1}});
        return e.copy(parts, {{rows, u32(g.q_columns())}, 0, {g.q_columns(), 1}});
    };
    const SlotId k = repeated(g.q_columns());
    const SlotId v = repeated(g.q_columns() + g.kv_columns());
    e.emit(Opcode::kConcat, {q, k, v}, op.outputs[0]);
}

void expand_repeat_heads_grad(Expander& e, const Op& op) {
    const SlotId dy = op.inputs[0];
    const std::uint32_t rows = e.dims(dy)[0];
    const std::uint64_t columns = e.dims(dy)[1];
    const Groups g(op, columns, true);
    const SlotId dq = e.copy(dy, {{rows, u32(g.q_columns())}, 0, {columns, 1}});
    const auto summed = [&](std::uint64_t offset) {
        const SlotId parts = e.copy(dy, {{rows, u32(g.kv_heads), u32(g.size), u32(g.group())},
                                         offset,
                                         {columns, g.group() * g.size, 1, g.size}});
        const SlotId sums = e.exact_sum(parts);
        return e.copy(sums, {{rows, u32(g.kv_columns())}, 0, {g.kv_columns(), 1}});
    };
    const SlotId dk = summed(g.q_columns());
    const SlotId dv = summed(2 * g.q_columns());
    e.emit(Opcode::kConcat, {dq, dk, dv}, op.outputs[0]);
}

void differentiate_repeat_heads(Backward& back, const Op& op, SlotId dy) {
    const SlotId dx = back.like(op.inputs[0]);
    back.b.append({Opcode::kRepeatHeadsGrad, {dy}, {dx}, op.attributes});
    back.contribute(op.inputs[0], dx);
}

}  // namespace

const Macro kRope{Opcode::kRope, check_rope, expand_rope, differentiate_rope};
const Macro kRepeatHeads{Opcode::kRepeatHeads, [](Check& c) { check_repeat_heads(c, false); },
                         expand_repeat_heads, differentiate_repeat_heads};
const Macro kRepeatHeadsGrad{Opcode::kRepeatHeadsGrad,
                             [](Check& c) { check_repeat_heads(c, true); },
                             expand_repeat_heads_grad};

}  // namespace gym::program
