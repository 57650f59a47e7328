#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "backward.hpp"

namespace gym::program {
namespace {

SlotId unary_derivative(Backward& back, const Op& op, SlotId dy) {
    const SlotId x = op.inputs[0], y = op.outputs[0];
    using enum Opcode;
    switch (op.code) {
        case kSqrt:
            return back.b.div(back.b.mul(dy, back.b.scalar(0.5F)), y);
        case kRsqrt: {
            const SlotId half = back.b.mul(y, back.b.scalar(-0.5F));
            const SlotId square = back.b.mul(y, y);
            return back.b.mul(dy, back.b.mul(half, square));
        }
        case kExp:
            return back.b.mul(dy, y);
        case kLog:
            return back.b.div(dy, x);
        case kSigmoid: {
            const SlotId rest = back.b.sub(back.b.scalar(1.0F), y);
            return back.b.mul(dy, back.b.mul(y, rest));
        }
        case kSilu: {
            const SlotId s = back.b.unary(kSigmoid, x);
            const SlotId one = back.b.scalar(1.0F);
            const SlotId slope = back.b.fma(x, back.b.sub(one, s), one);
            return back.b.mul(dy, back.b.mul(s, slope));
        }
        case kGelu: {
            const SlotId dx = back.like(x);
            back.b.append({kGeluGrad, {x, dy}, {dx}, {}});
            return dx;
        }
        default:
            return kNoSlot;
    }
}

void differentiate_div(Backward& back, const Op& op, SlotId dy) {
    const SlotId a = op.inputs[0], divisor = op.inputs[1], y = op.outputs[0];
    const SlotId quotient = back.b.div(dy, divisor);
    if (back.needed(divisor)) {
        const SlotId negative = back.b.mul(quotient, back.b.scalar(-1.0F));
        back.contribute(divisor, back.b.mul(negative, y));
    }
    back.contribute(a, quotient);
}

Status differentiate_elementwise(Backward& back, const Op& op, SlotId dy) {
    const SlotId a = op.inputs[0];
    using enum Opcode;
    switch (op.code) {
        case kAdd:
            back.contribute(a, dy);
            back.contribute(op.inputs[1], dy);
            return {};
        case kSub:
            back.contribute(a, dy);
            if (back.needed(op.inputs[1]))
                back.contribute(op.inputs[1], back.b.mul(dy, back.b.scalar(-1.0F)));
            return {};
        case kMul:
        case kFma:
            if (back.needed(a)) back.contribute(a, back.b.mul(dy, op.inputs[1]));
            if (back.needed(op.inputs[1])) back.contribute(op.inputs[1], back.b.mul(dy, a));
            if (op.code == kFma) back.contribute(op.inputs[2], dy);
            return {};
        case kDiv:
            differentiate_div(back, op, dy);
            return {};
        default:
            break;
    }
    const SlotId dx = unary_derivative(back, op, dy);
    if (dx == kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "no derivative of " + std::string(to_string(op.code)));
    back.contribute(a, dx);
    return {};
}

void differentiate_gather_rows(Backward& back, const Op& op, SlotId dy) {
    const SlotId table = op.inputs[0];
    const SlotId d_table = back.b.temp(DType::kF32, back.b.slot(table).dims);
    back.b.append({Opcode::kEmbeddingGrad, {dy, op.inputs[1]}, {d_table}, {}});
    back.contribute(table, d_table);
}

std::vector<std::uint64_t> row_major(const Dims& dims) {
    std::vector<std::uint64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * dims[i];
    return strides;
}

/// A copy that has every element once, whatever their order: dy is copied back.
Status differentiate_strided_copy(Backward& back, const Op& op, SlotId dy) {
    const SlotId x = op.inputs[0];
    const Dims own = back.b.slot(x).dims, dims = back.b.slot(op.outputs[0]).dims;
    std::vector<std::size_t> order(dims.size());  // of the dims, as they lie in x
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return op.attributes[1 + a] > op.attributes[1 + b];
    });
    const std::vector<std::uint64_t> strides = row_major(dims);
    Dims laid;
    std::vector<std::uint64_t> back_strides;
    for (const std::size_t k : order) {
        laid.push_back(dims[k]);
        back_strides.push_back(strides[k]);
    }
    const std::vector<std::uint64_t> wanted = row_major(laid);
    bool whole = op.attributes[0] == 0 && element_count(dims) == element_count(own);
    for (std::size_t i = 0; i < order.size(); ++i)
        whole = whole && (laid[i] == 1 || op.attributes[1 + order[i]] == wanted[i]);
    if (!whole)
        return fail(ErrorCode::kInvalidArgument,
                    "no derivative of a strided_copy that leaves elements out or repeats them");
    SlotId dx = dy;
    if (!std::ranges::is_sorted(order)) dx = back.b.strided_copy(dy, laid, 0, back_strides);
    if (back.b.slot(dx).dims != own) dx = back.b.strided_copy(dx, own, 0, row_major(own));
    back.contribute(x, dx);
    return {};
}

/// Each part gets its columns.
void differentiate_concat(Backward& back, const Op& op, SlotId dy) {
    const std::uint64_t row = back.b.slot(dy).dims.back();
    std::uint64_t first = 0;
    for (const SlotId part : op.inputs) {
        const Dims dims = back.b.slot(part).dims;
        std::vector<std::uint64_t> strides(dims.size(), 1);
        for (std::size_t i = dims.size() - 1; i > 0; --i)
            strides[i - 1] = i + 1 == dims.size() ? row : strides[i] * dims[i];
        if (back.needed(part)) back.contribute(part, back.b.strided_copy(dy, dims, first, strides));
        first += dims.back();
    }
}

}  // namespace

Status differentiate_primitive(Backward& back, const Op& op, SlotId dy) {
    if (op.code == Opcode::kConcat) {
        differentiate_concat(back, op, dy);
        return {};
    }
    if (op.code == Opcode::kStridedCopy) return differentiate_strided_copy(back, op, dy);
    if (op.code != Opcode::kGatherRows) return differentiate_elementwise(back, op, dy);
    differentiate_gather_rows(back, op, dy);
    return {};
}

}  // namespace gym::program
