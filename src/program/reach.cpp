#include "gym/program/reach.hpp"

#include <algorithm>

#include "gym/common/assert.hpp"
#include "gym/program/validate.hpp"

namespace gym::program {
namespace {

std::uint64_t clamp_index(std::int32_t index, std::uint64_t count) {
    return std::min(static_cast<std::uint64_t>(std::max(index, 0)), count - 1);
}

/// Block `out` of rows of `length` elements, counted through all rows.
ElementRange block_of(std::uint64_t length, std::uint64_t out) {
    const std::uint64_t blocks = block_count(length);
    const std::uint64_t begin = out % blocks * kBlockElements;
    return {out / blocks * length + begin, std::min(kBlockElements, length - begin)};
}

/// Positions of element `out` of a [.., M, N, last] tensor.
struct ProductPosition {
    std::uint64_t a_row;  ///< row of [.., M, K], leading dims included
    std::uint64_t b_row;
    std::uint64_t last;

    ProductPosition(const Dims& a, const Dims& b, std::uint64_t last_dim, std::uint64_t out) {
        const std::uint64_t m = a[a.size() - 2], n = b[b.size() - 2];
        last = out % last_dim;
        const std::uint64_t cell = out / last_dim;
        a_row = cell / n;
        b_row = cell / (m * n) * n + cell % n;
    }
};

ElementRange strided(const Slot& out_slot, const Op& op, std::uint64_t out) {
    std::uint64_t at = op.attributes[0];
    for (std::size_t k = out_slot.dims.size(); k-- > 0;) {
        at += out % out_slot.dims[k] * op.attributes[1 + k];
        out /= out_slot.dims[k];
    }
    return {at, 1};
}

ElementRange part_of_concat(std::span<const Slot> slots, const Op& op, std::size_t operand,
                            std::uint64_t out) {
    const std::uint64_t width = slots[op.outputs[0]].dims.back();
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < operand; ++i)
        begin += slots[op.inputs[i]].dims.back();
    const std::uint64_t part = slots[op.inputs[operand]].dims.back();
    const std::uint64_t column = out % width;
    if (column < begin || column >= begin + part) return {};
    return {out / width * part + column - begin, 1};
}

ElementRange quantise_exponent(const Slot& x, const Slot& e, std::uint64_t out) {
    const std::uint64_t length = x.dims.back(), per_row = e.dims.back();
    const std::uint64_t block = per_row == 1 ? 0 : out % length / kBlockElements;
    return {out / length * per_row + block, 1};
}

ElementRange block_dot_part(const Slot& a, const Slot& b, std::size_t operand, std::uint64_t out) {
    const std::uint64_t length = a.dims.back();
    const std::uint64_t blocks = block_count(length);
    const ProductPosition at(a.dims, b.dims, blocks, out);
    return block_of(length, (operand == 0 ? at.a_row : at.b_row) * blocks + at.last);
}

/// Inputs 1 to 4 of rescale_dot: block and row exponents of a, then of b.
ElementRange rescale_exponent(std::span<const Slot> slots, const Op& op, std::size_t operand,
                              std::uint64_t out) {
    const Dims& a = slots[op.inputs[1]].dims;
    const Dims& b = slots[op.inputs[3]].dims;
    const ProductPosition at(a, b, a.back(), out);
    const std::uint64_t row = operand <= 2 ? at.a_row : at.b_row;
    const bool per_block = operand == 1 || operand == 3;
    return {per_block ? row * a.back() + at.last : row, 1};
}

ElementRange finish_exponent(std::span<const Slot> slots, const Op& op, std::size_t operand,
                             std::uint64_t out) {
    const ProductPosition at(slots[op.inputs[1]].dims, slots[op.inputs[2]].dims, 1, out);
    return {operand == 1 ? at.a_row : at.b_row, 1};
}

ElementRange select_sum_part(const Slot& q, std::size_t operand, std::uint64_t out) {
    const std::uint64_t columns = q.dims[0], length = q.dims[1];
    const std::uint64_t blocks = block_count(length);
    const std::uint64_t row = out / blocks % columns;
    return block_of(length, (operand == 0 ? row * blocks : 0) + out % blocks);
}

}  // namespace

ElementRange depends_on(std::span<const Slot> slots, const Op& op, std::size_t operand,
                        std::uint64_t out, const IndexReader& read_index) {
    GYM_ASSERT(!info(op.code).macro, "only primitives have a reach");
    const Slot& x = slots[op.inputs[operand]];
    const Slot& first = slots[op.inputs[0]];
    const Slot& result = slots[op.outputs[0]];
    const auto index = [&](std::uint64_t element, std::uint64_t count) {
        return clamp_index(read_index(op.inputs[1], element), count);
    };
    using enum Opcode;
    switch (op.code) {
        case kStridedCopy:
            return strided(result, op, out);
        case kConcat:
            return part_of_concat(slots, op, operand, out);
        case kGatherRows: {
            const std::uint64_t width = result.dims[1], row = out / width;
            if (operand == 1) return {row, 1};
            return {index(row, x.dims[0]) * width + out % width, 1};
        }
        case kPick:
            if (operand == 1) return {out, 1};
            return {out * x.dims[1] + index(out, x.dims[1]), 1};
        case kOneHot:
            return {out / result.dims[1], 1};
        case kCausalFill:
            return {out, 1};
        case kRandomMask:
            return {0, kRandomWords};
        case kBlockMax:
        case kBlockExponent:
        case kConstantExponent:
        case kBlockSum:
            return block_of(x.dims.back(), out);
        case kQuantiseI32:
        case kQuantiseI16:
            return operand == 0 ? ElementRange{out, 1} : quantise_exponent(first, x, out);
        case kSelectSum:
            return select_sum_part(first, operand, out);
        case kFinishSum:
            return {out % element_count(x.dims), 1};
        case kBlockDot:
            return block_dot_part(first, slots[op.inputs[1]], operand, out);
        case kRescaleDot:
            return operand == 0 ? ElementRange{out, 1} : rescale_exponent(slots, op, operand, out);
        case kFinishProduct:
            return operand == 0 ? ElementRange{out, 1} : finish_exponent(slots, op, operand, out);
        default: {  // elementwise
            const auto rule = broadcast(x.dims, result.dims);
            GYM_ASSERT(rule.has_value(), "an operand that does not fit its output");
            return {out / rule->divisor % rule->period, 1};
        }
    }
}

std::uint64_t chunks_of(const ElementRange& range, std::size_t element_bytes) {
    if (range.count == 0) return 0;
    const std::uint64_t first = range.first * element_bytes / 1024;
    const std::uint64_t last = ((range.first + range.count) * element_bytes - 1) / 1024;
    return last - first + 1;
}

}  // namespace gym::program
