#include "gym/program/autodiff.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "gym/program/validate.hpp"

namespace gym::program {
namespace {

/// One backward pass. `flow` holds, per slot, the sum of the contributions so far.
class Reverse {
  public:
    explicit Reverse(Builder& builder) : b_(builder) {}

    Status run(SlotId loss, std::span<const SlotId> wrt);
    [[nodiscard]] SlotId flow(SlotId slot) const {
        const auto found = flow_.find(slot);
        return found == flow_.end() ? kNoSlot : found->second;
    }

  private:
    void mark_needed(std::size_t op_count, std::span<const SlotId> wrt);
    [[nodiscard]] bool needed(SlotId slot) const { return needed_[slot]; }
    /// Adds `gradient` (the dims of the op's output) to the flow of `slot`, reduced to its dims.
    void contribute(SlotId slot, SlotId gradient);
    SlotId reduce_to(SlotId slot, SlotId gradient);
    SlotId unary_derivative(const Op& op, SlotId dy);
    Status through(const Op& op);
    Status through_elementwise(const Op& op, SlotId dy);
    void through_div(const Op& op, SlotId dy);
    void through_matmul(const Op& op, SlotId dy);
    void through_layernorm(const Op& op, SlotId dy);
    void through_attention(const Op& op, SlotId dy);
    void through_cross_entropy(const Op& op, SlotId dy);
    void through_gather_rows(const Op& op, SlotId dy);
    /// dy repeated over the dims of `slot`.
    SlotId spread(SlotId slot, SlotId dy);

    Builder& b_;
    std::vector<bool> needed_;  // per slot: does a gradient have to arrive here?
    std::map<SlotId, SlotId> flow_;
};

void Reverse::mark_needed(std::size_t op_count, std::span<const SlotId> wrt) {
    needed_.assign(b_.slots().size(), false);
    for (const SlotId slot : wrt)
        needed_[slot] = true;
    for (std::size_t i = 0; i < op_count; ++i) {
        const Op& op = b_.ops()[i];
        const bool any = std::any_of(op.inputs.begin(), op.inputs.end(),
                                     [&](SlotId slot) { return needed_[slot]; });
        for (const SlotId out : op.outputs)
            needed_[out] = needed_[out] || any;
    }
}

Status Reverse::run(SlotId loss, std::span<const SlotId> wrt) {
    if (element_count(b_.slot(loss).dims) != 1)
        return fail(ErrorCode::kInvalidArgument, "the loss must have one element");
    const std::size_t op_count = b_.ops().size();
    mark_needed(op_count, wrt);
    flow_[loss] = b_.scalar(1.0F);
    for (std::size_t i = op_count; i-- > 0;) {
        const Op op = b_.ops()[i];  // a copy: the list grows below
        if (op.inputs.empty() || !needed(op.outputs[0])) continue;
        for (std::size_t k = 1; k < op.outputs.size(); ++k)
            if (flow(op.outputs[k]) != kNoSlot)
                return fail(
                    ErrorCode::kInvalidArgument,
                    "no derivative through a saved output of " + std::string(to_string(op.code)));
        if (flow(op.outputs[0]) != kNoSlot) GYM_CHECK(through(op));
    }
    return {};
}

SlotId Reverse::reduce_to(SlotId slot, SlotId gradient) {
    const Dims& wanted = b_.slot(slot).dims;
    const Dims& have = b_.slot(gradient).dims;
    if (element_count(wanted) == element_count(have)) return gradient;
    const auto rule = broadcast(wanted, have);
    // A column is repeated along rows: the only rule with a divisor.
    if (rule.has_value() && rule->divisor > 1) return b_.row_sum(gradient);
    return b_.column_sum(gradient, wanted);
}

void Reverse::contribute(SlotId slot, SlotId gradient) {
    if (!needed(slot)) return;
    const SlotId reduced = reduce_to(slot, gradient);
    const SlotId before = flow(slot);
    flow_[slot] = before == kNoSlot ? reduced : b_.add(before, reduced);
}

SlotId Reverse::spread(SlotId slot, SlotId dy) {
    const SlotId ones = b_.temp(DType::f32, b_.slot(slot).dims);
    Op fill;
    fill.code = Opcode::fill;
    fill.outputs = {ones};
    fill.attributes[0] = 0x3F800000;  // 1.0
    b_.append(fill);
    return b_.mul(ones, dy);
}

SlotId Reverse::unary_derivative(const Op& op, SlotId dy) {
    const SlotId x = op.inputs[0], y = op.outputs[0];
    using enum Opcode;
    switch (op.code) {
        case sqrt:
            return b_.div(b_.mul(dy, b_.scalar(0.5F)), y);
        case rsqrt: {
            const SlotId half = b_.mul(y, b_.scalar(-0.5F));
            const SlotId square = b_.mul(y, y);
            return b_.mul(dy, b_.mul(half, square));
        }
        case exp:
            return b_.mul(dy, y);
        case log:
            return b_.div(dy, x);
        case sigmoid: {
            const SlotId rest = b_.sub(b_.scalar(1.0F), y);
            return b_.mul(dy, b_.mul(y, rest));
        }
        case gelu: {
            const SlotId dx = b_.temp(DType::f32, b_.slot(x).dims);
            b_.append({gelu_grad, {x, dy}, {dx}, {}});
            return dx;
        }
        default:
            return kNoSlot;
    }
}

void Reverse::through_div(const Op& op, SlotId dy) {
    const SlotId a = op.inputs[0], divisor = op.inputs[1], y = op.outputs[0];
    const SlotId quotient = b_.div(dy, divisor);
    if (needed(divisor)) {
        const SlotId negative = b_.mul(quotient, b_.scalar(-1.0F));
        contribute(divisor, b_.mul(negative, y));
    }
    contribute(a, quotient);
}

Status Reverse::through_elementwise(const Op& op, SlotId dy) {
    const SlotId a = op.inputs[0];
    using enum Opcode;
    switch (op.code) {
        case add:
            contribute(a, dy);
            contribute(op.inputs[1], dy);
            return {};
        case sub:
            contribute(a, dy);
            if (needed(op.inputs[1])) contribute(op.inputs[1], b_.mul(dy, b_.scalar(-1.0F)));
            return {};
        case mul:
        case fma:
            if (needed(a)) contribute(a, b_.mul(dy, op.inputs[1]));
            if (needed(op.inputs[1])) contribute(op.inputs[1], b_.mul(dy, a));
            if (op.code == fma) contribute(op.inputs[2], dy);
            return {};
        case div:
            through_div(op, dy);
            return {};
        default:
            break;
    }
    const SlotId dx = unary_derivative(op, dy);
    if (dx == kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "no derivative of " + std::string(to_string(op.code)));
    contribute(a, dx);
    return {};
}

void Reverse::through_matmul(const Op& op, SlotId dy) {
    const SlotId a = op.inputs[0], b = op.inputs[1];
    const bool ta = op.attributes[0] == 1, tb = op.attributes[1] == 1;
    // C = A' B'^T with A' = a or a^T, B' = b or b^T: dA' = dC B', dB' = dC^T A'.
    if (needed(a)) contribute(a, ta ? b_.matmul(b, dy, !tb, false) : b_.matmul(dy, b, false, !tb));
    if (needed(b)) contribute(b, tb ? b_.matmul(a, dy, !ta, true) : b_.matmul(dy, a, true, !ta));
}

void Reverse::through_layernorm(const Op& op, SlotId dy) {
    const SlotId x = op.inputs[0], gamma = op.inputs[1], beta = op.inputs[2];
    const SlotId dx = b_.temp(DType::f32, b_.slot(x).dims);
    const SlotId dgamma = b_.temp(DType::f32, b_.slot(gamma).dims);
    const SlotId dbeta = b_.temp(DType::f32, b_.slot(beta).dims);
    b_.append({Opcode::layernorm_grad,
               {x, gamma, op.outputs[1], op.outputs[2], dy},
               {dx, dgamma, dbeta},
               {}});
    contribute(x, dx);
    contribute(gamma, dgamma);
    contribute(beta, dbeta);
}

void Reverse::through_attention(const Op& op, SlotId dy) {
    const SlotId qkv = op.inputs[0];
    const SlotId dqkv = b_.temp(DType::f32, b_.slot(qkv).dims);
    b_.append({Opcode::attention_grad,
               {qkv, op.outputs[0], op.outputs[1], op.outputs[2], dy},
               {dqkv},
               op.attributes});
    contribute(qkv, dqkv);
}

void Reverse::through_cross_entropy(const Op& op, SlotId dy) {
    const SlotId logits = op.inputs[0];
    const SlotId dlogits = b_.temp(DType::f32, b_.slot(logits).dims);
    b_.append({Opcode::cross_entropy_grad,
               {logits, op.inputs[1], op.outputs[1], op.outputs[2], dy},
               {dlogits},
               {}});
    contribute(logits, dlogits);
}

void Reverse::through_gather_rows(const Op& op, SlotId dy) {
    const SlotId table = op.inputs[0];
    const SlotId d_table = b_.temp(DType::f32, b_.slot(table).dims);
    b_.append({Opcode::embedding_grad, {dy, op.inputs[1]}, {d_table}, {}});
    contribute(table, d_table);
}

Status Reverse::through(const Op& op) {
    const SlotId dy = flow(op.outputs[0]);
    using enum Opcode;
    switch (op.code) {
        case matmul:
            through_matmul(op, dy);
            return {};
        case layernorm:
            through_layernorm(op, dy);
            return {};
        case attention:
            through_attention(op, dy);
            return {};
        case cross_entropy:
            through_cross_entropy(op, dy);
            return {};
        case gather_rows:
            through_gather_rows(op, dy);
            return {};
        case row_sum:
        case column_sum:
            contribute(op.inputs[0], spread(op.inputs[0], dy));
            return {};
        default:
            return through_elementwise(op, dy);
    }
}

}  // namespace

namespace {

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

Result<std::vector<SlotId>> gradients(Builder& builder, SlotId loss, std::span<const SlotId> wrt) {
    Reverse reverse(builder);
    GYM_CHECK(reverse.run(loss, wrt));
    std::vector<SlotId> result;
    for (const SlotId slot : wrt) {
        if (reverse.flow(slot) == kNoSlot)
            return fail(ErrorCode::kInvalidArgument,
                        "the loss does not depend on '" + builder.slot(slot).name + "'");
        result.push_back(with_dims_of(builder, slot, reverse.flow(slot)));
    }
    return result;
}

}  // namespace gym::program
