#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "bridge.hpp"
#include "ops.hpp"

namespace gym::torch_ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct RowStatistics {
    Tensor loss;       ///< one element, no dims
    Tensor maximum;    ///< (rows, 1)
    Tensor numerator;  ///< (rows, 1): exact sum of exp(x - maximum)
};

RowStatistics cross_entropy_of(const char* op, const Tensor& rows, const Tensor& targets) {
    RowStatistics found{empty_f32({}), empty_f32({rows.size(0), 1}), empty_f32({rows.size(0), 1})};
    run(op, Opcode::kCrossEntropy, {rows, targets}, {found.loss, found.maximum, found.numerator});
    return found;
}

Tensor elementwise(const char* op, Opcode code, const Tensor& a, const Tensor& b) {
    const Tensor out = empty_f32(a.sizes());
    run(op, code, {a, b}, {out});
    return out;
}

struct CrossEntropy : Function<CrossEntropy> {
    static Tensor forward(AutogradContext* context, const Tensor& logits, const Tensor& targets) {
        require_f32("cross_entropy", "logits", logits);
        TORCH_CHECK(
            logits.dim() >= 1 && targets.sizes() == logits.sizes().slice(0, logits.dim() - 1),
            "gym::cross_entropy: targets ", targets.sizes(), " must have the dims of logits ",
            logits.sizes(), " but for the last");
        const Tensor rows = as_rows(logits);
        const Tensor flat =
            indices_i32("cross_entropy", "targets", targets, logits.size(-1)).view({-1});
        const RowStatistics found = cross_entropy_of("cross_entropy", rows, flat);
        context->save_for_backward({logits, flat, found.maximum, found.numerator});
        return found.loss;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor d_loss = incoming("cross_entropy", gradients[0]).view({1});
        const variable_list saved = context->get_saved_variables();
        const Tensor d_logits = empty_f32(saved[0].sizes());
        run("cross_entropy", Opcode::kCrossEntropyGrad,
            {as_rows(saved[0]), saved[1], saved[2], saved[3], d_loss}, {as_rows(d_logits)});
        return {d_logits, Tensor()};
    }
};

struct Softmax : Function<Softmax> {
    static Tensor forward(AutogradContext* context, const Tensor& input) {
        require_f32("softmax", "input", input);
        const Tensor rows = as_rows(input);
        // The row maxima and sums of a cross-entropy do not depend on its targets.
        const Tensor targets = at::zeros({rows.size(0)}, at::TensorOptions().dtype(at::kInt));
        const RowStatistics found = cross_entropy_of("softmax", rows, targets);
        const Tensor shifted = elementwise("softmax", Opcode::kSub, rows, found.maximum);
        const Tensor numerators = empty_f32(rows.sizes());
        run("softmax", Opcode::kExp, {shifted}, {numerators});
        const Tensor y = empty_f32(input.sizes());
        run("softmax", Opcode::kDiv, {numerators, found.numerator}, {as_rows(y)});
        context->save_for_backward({y});
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = as_rows(incoming("softmax", gradients[0]));
        const Tensor saved = context->get_saved_variables()[0];
        const Tensor y = as_rows(saved);
        const Tensor weighted = empty_f32({y.size(0), 1});
        run("softmax", Opcode::kRowSum, {elementwise("softmax", Opcode::kMul, dy, y)}, {weighted});
        const Tensor centred = elementwise("softmax", Opcode::kSub, dy, weighted);
        const Tensor dx = empty_f32(saved.sizes());
        run("softmax", Opcode::kMul, {y, centred}, {as_rows(dx)});
        return {dx};
    }
};

struct Sum : Function<Sum> {
    static Tensor forward(AutogradContext* context, const Tensor& x, bool rows) {
        const char* op = rows ? "row_sum" : "column_sum";
        require_f32(op, "x", x);
        TORCH_CHECK(x.dim() >= 1, "gym::", op, ": x has no dims");
        std::vector<std::int64_t> dims = x.sizes().vec();
        if (rows)
            dims.back() = 1;
        else
            dims = {x.size(-1)};
        const Tensor y = empty_f32(dims);
        run(op, rows ? Opcode::kRowSum : Opcode::kColumnSum, {x}, {y});
        context->saved_data["dims"] = x.sizes().vec();
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("sum", gradients[0]);
        const std::vector<std::int64_t> dims = context->saved_data["dims"].toIntVector();
        return {dy.expand(dims).contiguous(), Tensor()};
    }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
    return CrossEntropy::apply(logits, targets);
}

Tensor softmax(const Tensor& input) {
    return Softmax::apply(input);
}

Tensor row_sum(const Tensor& x) {
    return Sum::apply(x, true);
}

Tensor column_sum(const Tensor& x) {
    return Sum::apply(x, false);
}

}  // namespace gym::torch_ops
