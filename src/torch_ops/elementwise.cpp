#include <ATen/ExpandUtils.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "bridge.hpp"
#include "gym/program/validate.hpp"
#include "ops.hpp"

namespace gym::torch_ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const char* name_of(Opcode code) {
    return program::to_string(code).data();  // a literal of the op table
}

/// The op without autograd.
Tensor raw_binary(Opcode code, const Tensor& a, const Tensor& b) {
    const char* op = name_of(code);
    const Tensor& larger = a.numel() >= b.numel() ? a : b;
    const Tensor out = empty_f32(larger.sizes());
    run(op, code, {a, b}, {out});
    return out;
}

void require_broadcast(const char* op, const Tensor& a, const Tensor& b) {
    require_f32(op, "a", a);
    require_f32(op, "b", b);
    const at::IntArrayRef larger = (a.numel() >= b.numel() ? a : b).sizes();
    bool fits = a.dim() <= static_cast<std::int64_t>(larger.size()) &&
                b.dim() <= static_cast<std::int64_t>(larger.size());
    if (fits) {
        fits = at::is_expandable_to(a.sizes(), larger) && at::is_expandable_to(b.sizes(), larger);
    }
    TORCH_CHECK(fits, "gym::", op, ": a ", a.sizes(), " and b ", b.sizes(),
                " do not fit; one of them must have the dims of the result");
}

program::Dims dims_of(const Tensor& tensor) {
    program::Dims dims(tensor.sizes().begin(), tensor.sizes().end());
    if (dims.empty()) dims.push_back(1);
    return dims;
}

/// A gradient with the result's dims, summed where `operand` was repeated: as the program module
/// does.
Tensor reduce_to(const Tensor& operand, const Tensor& gradient) {
    if (operand.numel() == gradient.numel()) return gradient.view(operand.sizes());
    const auto rule = program::broadcast(dims_of(operand), dims_of(gradient));
    const Tensor out = empty_f32(operand.sizes());
    if (rule.has_value() && rule->divisor > 1) {
        std::vector<std::int64_t> column = gradient.sizes().vec();
        column.back() = 1;
        run("row_sum", Opcode::kRowSum, {gradient}, {out.view(column)});
    } else {
        run("column_sum", Opcode::kColumnSum, {gradient}, {out});
    }
    return out;
}

Tensor scaled(const Tensor& x, float factor) {
    return raw_binary(Opcode::kMul, x, scalar_f32(factor));
}

/// dy through a / b, towards b: -(dy / b) * (a / b).
Tensor divisor_gradient(const Tensor& quotient, const Tensor& y) {
    return raw_binary(Opcode::kMul, scaled(quotient, -1.0F), y);
}

struct Binary : Function<Binary> {
    static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b,
                          std::int64_t opcode) {
        const auto code = static_cast<Opcode>(opcode);
        require_broadcast(name_of(code), a, b);
        const Tensor y = raw_binary(code, a, b);
        context->saved_data["opcode"] = opcode;
        context->save_for_backward({a, b, code == Opcode::kDiv ? y : Tensor()});
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto code = static_cast<Opcode>(context->saved_data["opcode"].toInt());
        const Tensor dy = incoming(name_of(code), gradients[0]);
        const variable_list saved = context->get_saved_variables();
        const Tensor &a = saved[0], &b = saved[1];
        const bool wants_a = context->needs_input_grad(0), wants_b = context->needs_input_grad(1);
        Tensor da, db;
        switch (code) {
            case Opcode::kAdd:
                da = dy;
                db = dy;
                break;
            case Opcode::kSub:
                da = dy;
                if (wants_b) db = scaled(dy, -1.0F);
                break;
            case Opcode::kMul:
                if (wants_a) da = raw_binary(Opcode::kMul, dy, b);
                if (wants_b) db = raw_binary(Opcode::kMul, dy, a);
                break;
            default:  // div
                da = raw_binary(Opcode::kDiv, dy, b);
                if (wants_b) db = divisor_gradient(da, saved[2]);
                break;
        }
        return {wants_a ? reduce_to(a, da) : Tensor(), wants_b ? reduce_to(b, db) : Tensor(),
                Tensor()};
    }
};

Tensor raw_unary(Opcode code, const Tensor& x) {
    const Tensor y = empty_f32(x.sizes());
    run(name_of(code), code, {x}, {y});
    return y;
}

Tensor unary_gradient(Opcode code, const Tensor& x, const Tensor& y, const Tensor& dy) {
    const auto times = [](const Tensor& a, const Tensor& b) {
        return raw_binary(Opcode::kMul, a, b);
    };
    switch (code) {
        case Opcode::kExp:
            return times(dy, y);
        case Opcode::kLog:
            return raw_binary(Opcode::kDiv, dy, x);
        case Opcode::kSqrt:
            return raw_binary(Opcode::kDiv, scaled(dy, 0.5F), y);
        case Opcode::kRsqrt:
            return times(dy, times(scaled(y, -0.5F), times(y, y)));
        case Opcode::kSigmoid:
            return times(dy, times(y, raw_binary(Opcode::kSub, scalar_f32(1.0F), y)));
        default: {  // gelu
            const Tensor dx = empty_f32(x.sizes());
            run("gelu", Opcode::kGeluGrad, {x, dy}, {dx});
            return dx;
        }
    }
}

struct Unary : Function<Unary> {
    static Tensor forward(AutogradContext* context, const Tensor& x, std::int64_t opcode) {
        const auto code = static_cast<Opcode>(opcode);
        require_f32(name_of(code), "x", x);
        const Tensor y = raw_unary(code, x);
        context->saved_data["opcode"] = opcode;
        context->save_for_backward({x, y});
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto code = static_cast<Opcode>(context->saved_data["opcode"].toInt());
        const Tensor dy = incoming(name_of(code), gradients[0]);
        const variable_list saved = context->get_saved_variables();
        return {unary_gradient(code, saved[0], saved[1], dy), Tensor()};
    }
};

Tensor binary(Opcode code, const Tensor& a, const Tensor& b) {
    return Binary::apply(a, b, static_cast<std::int64_t>(code));
}

Tensor unary(Opcode code, const Tensor& x) {
    return Unary::apply(x, static_cast<std::int64_t>(code));
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
    return binary(Opcode::kAdd, a, b);
}
Tensor sub(const Tensor& a, const Tensor& b) {
    return binary(Opcode::kSub, a, b);
}
Tensor mul(const Tensor& a, const Tensor& b) {
    return binary(Opcode::kMul, a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
    return binary(Opcode::kDiv, a, b);
}
Tensor exp(const Tensor& x) {
    return unary(Opcode::kExp, x);
}
Tensor log(const Tensor& x) {
    return unary(Opcode::kLog, x);
}
Tensor sqrt(const Tensor& x) {
    return unary(Opcode::kSqrt, x);
}
Tensor rsqrt(const Tensor& x) {
    return unary(Opcode::kRsqrt, x);
}
Tensor sigmoid(const Tensor& x) {
    return unary(Opcode::kSigmoid, x);
}
Tensor gelu(const Tensor& x) {
    return unary(Opcode::kGelu, x);
}

}  // namespace gym::torch_ops
