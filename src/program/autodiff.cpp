#include "gym/program/autodiff.hpp"

#include <algorithm>
#include <string>

#include "gym/program/validate.hpp"
#include "macro.hpp"

namespace gym::program {
namespace {

Status differentiate(Backward& back, const Op& op) {
    const SlotId dy = back.flow(op.outputs[0]);
    if (!info(op.code).macro) return differentiate_primitive(back, op, dy);
    const auto write = macro_of(op.code).differentiate;
    if (write == nullptr)
        return fail(ErrorCode::kInvalidArgument,
                    "no derivative of " + std::string(to_string(op.code)));
    write(back, op, dy);
    return {};
}

/// A vector that was added to the only row of a matrix gets that row's gradient: the same elements
/// under other dims.
SlotId with_dims_of(Builder& builder, SlotId slot, SlotId gradient) {
    const Dims dims = builder.slot(slot).dims;
    if (builder.slot(gradient).dims == dims) return gradient;
    std::vector<std::uint64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * dims[i];
    return builder.strided_copy(gradient, dims, 0, strides);
}

}  // namespace

SlotId Backward::flow(SlotId slot) const {
    const auto found = flow_.find(slot);
    return found == flow_.end() ? kNoSlot : found->second;
}

void Backward::mark_needed(std::size_t op_count, std::span<const SlotId> wrt) {
    needed_.assign(b.slots().size(), false);
    for (const SlotId slot : wrt)
        needed_[slot] = true;
    for (std::size_t i = 0; i < op_count; ++i) {
        const Op& op = b.ops()[i];
        const bool any = std::any_of(op.inputs.begin(), op.inputs.end(),
                                     [&](SlotId slot) { return needed_[slot]; });
        for (const SlotId out : op.outputs)
            needed_[out] = needed_[out] || any;
    }
}

Status Backward::run(SlotId loss, std::span<const SlotId> wrt) {
    if (element_count(b.slot(loss).dims) != 1)
        return fail(ErrorCode::kInvalidArgument, "the loss must have one element");
    const std::size_t op_count = b.ops().size();
    mark_needed(op_count, wrt);
    flow_[loss] = b.scalar(1.0F);
    for (std::size_t i = op_count; i-- > 0;) {
        const Op op = b.ops()[i];  // a copy: the list grows below
        if (op.inputs.empty() || !needed(op.outputs[0])) continue;
        for (std::size_t k = 1; k < op.outputs.size(); ++k)
            if (flow(op.outputs[k]) != kNoSlot)
                return fail(
                    ErrorCode::kInvalidArgument,
                    "no derivative through a saved output of " + std::string(to_string(op.code)));
        if (flow(op.outputs[0]) != kNoSlot) GYM_CHECK(differentiate(*this, op));
    }
    return {};
}

SlotId Backward::reduce_to(SlotId slot, SlotId gradient) {
    const Dims& wanted = b.slot(slot).dims;
    const Dims& have = b.slot(gradient).dims;
    if (element_count(wanted) == element_count(have)) return gradient;
    const auto rule = broadcast(wanted, have);
    // A column is repeated along rows: the only rule with a divisor.
    if (rule.has_value() && rule->divisor > 1) return b.row_sum(gradient);
    return b.column_sum(gradient, wanted);
}

void Backward::contribute(SlotId slot, SlotId gradient) {
    if (!needed(slot)) return;
    const SlotId reduced = reduce_to(slot, gradient);
    const SlotId before = flow(slot);
    flow_[slot] = before == kNoSlot ? reduced : b.add(before, reduced);
}

SlotId Backward::spread(SlotId slot, SlotId dy) {
    const SlotId ones = b.temp(DType::kF32, b.slot(slot).dims);
    Op fill;
    fill.code = Opcode::kFill;
    fill.outputs = {ones};
    fill.attributes[0] = 0x3F800000;  // 1.0
    b.append(fill);
    return b.mul(ones, dy);
}

Result<std::vector<SlotId>> gradients(Builder& builder, SlotId loss, std::span<const SlotId> wrt) {
    Backward backward(builder);
    GYM_CHECK(backward.run(loss, wrt));
    std::vector<SlotId> result;
    for (const SlotId slot : wrt) {
        if (backward.flow(slot) == kNoSlot)
            return fail(ErrorCode::kInvalidArgument,
                        "the loss does not depend on '" + builder.slot(slot).name + "'");
        result.push_back(with_dims_of(builder, slot, backward.flow(slot)));
    }
    return result;
}

}  // namespace gym::program
