#include "padding.hpp"

#include <cmath>
#include <vector>

namespace gym::program {
namespace {

// Products round each row to 14 bits below its largest value. A query's own column is at most a
// 64th of its length (of 1, for short ones), so that it rounds no other column of a head up to 4096
// wide; and at least that of its largest value, so that it is never rounded away.
constexpr float kQueryShare = 0x1p-6F;
constexpr float kFar = 0x1p60F;
constexpr float kAbsent = 0x1p20F;

/// A number for each head of q, k and v, repeated over all rows: (rows, 3 * heads, 1).
SlotId pattern(ModelWriter& w, const std::string& name, std::uint32_t rows, float q, float k,
               float v) {
    const std::uint32_t heads = w.config.heads, cells = 3 * heads;
    const SlotId values = w.once(name, [&] {
        std::vector<float> numbers(cells, q);
        for (std::uint32_t i = heads; i < cells; ++i)
            numbers[i] = i < 2 * heads ? k : v;
        return w.b.constant(name, {cells}, numbers);
    });
    return w.b.strided_copy(values, {rows, cells, 1}, 0, {0, 1, 0});
}

/// (rows, columns) as (rows, cells, columns / cells), another column behind each cell, and back.
SlotId widened(Builder& b, SlotId x, SlotId column) {
    const std::uint32_t rows = b.slot(x).dims[0], cells = b.slot(x).dims[1];
    const std::uint32_t size = b.slot(x).dims[2] + 1;
    const SlotId wide = b.concat({x, column});
    return b.strided_copy(wide, {rows, cells * size}, 0, {std::uint64_t{cells} * size, 1});
}
SlotId in_cells(Builder& b, SlotId x, std::uint32_t cells) {
    const std::uint32_t rows = b.slot(x).dims[0], columns = b.slot(x).dims[1];
    const std::uint32_t size = columns / cells;
    return b.strided_copy(x, {rows, cells, size}, 0, {columns, size, 1});
}

/// The column behind every cell.
SlotId distance(Builder& b, SlotId cells, const Unpadded& padding) {
    const SlotId squares = b.row_sum(b.mul(cells, cells));
    const SlotId length = b.unary(Opcode::kSqrt, b.add(squares, b.scalar(1.0F)));
    return b.sub(b.mul(length, padding.queries), padding.bias);
}

}  // namespace

SlotId padding_rows(ModelWriter& w, SlotId tokens) {
    const std::string name = "is_padding";
    const SlotId table = w.once(name, [&] {
        std::vector<float> values(w.config.vocabulary, 0.0F);
        values[*w.config.padding_token] = 1.0F;
        return w.b.constant(name, {w.config.vocabulary, 1}, values);
    });
    return w.b.gather_rows(table, tokens);
}

SlotId without(Builder& b, SlotId x) {
    const SlotId one = b.scalar(1.0F);
    return b.sub(one, x);
}

Unpadded unpadded(ModelWriter& w, SlotId padding) {
    const std::uint32_t rows = w.b.slot(padding).dims[0], cells = 3 * w.config.heads;
    const SlotId wide = w.b.strided_copy(padding, {rows, cells, 1}, 0, {1, 0, 0});
    Unpadded out{.rows = padding};
    const SlotId read = pattern(w, "padding.read", rows, 0.0F, 1.0F, 1.0F);
    out.kept = without(w.b, w.b.mul(wide, read));
    const SlotId keys = pattern(w, "padding.keys", rows, 0.0F, kFar, 0.0F);
    out.bias = w.b.mul(wide, keys);
    out.queries = pattern(w, "padding.queries", rows, kQueryShare, 0.0F, 0.0F);
    return out;
}

SlotId unpadded_attention(ModelWriter& w, SlotId qkv, const Unpadded& padding,
                          const std::string& name) {
    Builder& b = w.b;
    const std::uint32_t heads = w.config.heads, width = w.config.width;
    const SlotId cells = b.mul(in_cells(b, qkv, 3 * heads), padding.kept);
    const SlotId column = distance(b, cells, padding);
    const SlotId wide = widened(b, cells, column);
    const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
    const SlotId h =
        b.attention(wide, sequence_tokens(w.config), heads, scale, Builder::Reads::kAll);
    // The layer behind has columns of zeros for those that were added.
    const SlotId weight = in_cells(b, w.weight(name + ".weight", {width, width}), heads);
    const SlotId zeros = b.strided_copy(b.scalar(0.0F), {width, heads, 1}, 0, {0, 0, 0});
    const SlotId y = b.matmul(h, widened(b, weight, zeros));
    return b.add(y, w.vector(name + ".bias", width, 0.0F, ParamGroup::kBias));
}

SlotId real_tokens(Builder& b, SlotId padding, std::uint32_t tokens) {
    const std::uint32_t sequences = b.slot(padding).dims[0] / tokens;
    const SlotId rows = b.strided_copy(padding, {sequences, tokens}, 0, {tokens, 1});
    const SlotId padded = b.row_sum(rows);
    const SlotId all = b.scalar(static_cast<float>(tokens));
    return b.sub(all, padded);
}

SlotId penalty_of_absence(Builder& b, SlotId real) {
    const SlotId present = b.elementwise(Opcode::kLessEqual, {b.scalar(1.0F), real});
    const SlotId absent = without(b, present);
    return b.mul(absent, b.scalar(kAbsent));
}

}  // namespace gym::program
