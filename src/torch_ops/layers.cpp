#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <utility>
#include <vector>

#include "bridge.hpp"
#include "ops.hpp"

namespace gym::torch_ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Operands stored transposed, as the engine's matmul has it: A (M, K) times B (N, K)^T.
struct Transposed {
    bool a = false;
    bool b = false;
};

Tensor product(const char* op, const Tensor& a, const Tensor& b, Transposed transposed) {
    const Tensor out = empty_f32({a.size(transposed.a ? 1 : 0), b.size(transposed.b ? 1 : 0)});
    const std::uint64_t attributes[] = {transposed.a, transposed.b};
    run(op, Opcode::kMatmul, {a, b}, {out}, attributes);
    return out;
}

struct Matmul : Function<Matmul> {
    static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b,
                          bool transposed_a, bool transposed_b) {
        for (const auto& [name, matrix] : {std::pair{"a", a}, {"b", b}}) {
            require_f32("matmul", name, matrix);
            TORCH_CHECK(matrix.dim() == 2, "gym::matmul: ", name, " ", matrix.sizes(),
                        " is not a matrix");
        }
        context->saved_data["a"] = transposed_a;
        context->saved_data["b"] = transposed_b;
        context->save_for_backward({a, b});
        return product("matmul", a, b, {transposed_a, transposed_b});
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("matmul", gradients[0]);
        const bool ta = context->saved_data["a"].toBool(), tb = context->saved_data["b"].toBool();
        const variable_list saved = context->get_saved_variables();
        const Tensor &a = saved[0], &b = saved[1];
        Tensor da, db;
        // C = A' B'^T: dA' = dC B', dB' = dC^T A'; which is stored transposed decides the order.
        if (context->needs_input_grad(0)) {
            da = ta ? product("matmul", b, dy, {!tb, false})
                    : product("matmul", dy, b, {false, !tb});
        }
        if (context->needs_input_grad(1)) {
            db = tb ? product("matmul", a, dy, {!ta, true}) : product("matmul", dy, a, {true, !ta});
        }
        return {da, db, Tensor(), Tensor()};
    }
};

struct Layernorm : Function<Layernorm> {
    static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& gamma,
                          const Tensor& beta, double epsilon) {
        require_f32("layernorm", "input", input);
        require_f32("layernorm", "gamma", gamma);
        require_f32("layernorm", "beta", beta);
        const Tensor x = as_rows(input), y = empty_f32(input.sizes());
        const Tensor mean = empty_f32({x.size(0), 1}), rstd = empty_f32({x.size(0), 1});
        const std::uint64_t attributes[] = {f32_attribute(static_cast<float>(epsilon))};
        run("layernorm", Opcode::kLayernorm, {x, gamma, beta}, {as_rows(y), mean, rstd},
            attributes);
        context->save_for_backward({input, gamma, mean, rstd});
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("layernorm", gradients[0]);
        const variable_list saved = context->get_saved_variables();
        const Tensor x = as_rows(saved[0]), &gamma = saved[1];
        const Tensor dx = empty_f32(saved[0].sizes());
        const Tensor dgamma = empty_f32(gamma.sizes()), dbeta = empty_f32(gamma.sizes());
        run("layernorm", Opcode::kLayernormGrad, {x, gamma, saved[2], saved[3], as_rows(dy)},
            {as_rows(dx), dgamma, dbeta});
        return {dx, dgamma, dbeta, Tensor()};
    }
};

struct Attention : Function<Attention> {
    static Tensor forward(AutogradContext* context, const Tensor& qkv, std::int64_t heads,
                          bool causal) {
        require_f32("attention", "qkv", qkv);
        TORCH_CHECK(qkv.dim() == 3, "gym::attention: qkv ", qkv.sizes(),
                    " must be (batch, context, 3 * width)");
        TORCH_CHECK(heads >= 1 && qkv.size(2) % (3 * heads) == 0, "gym::attention: 3 * heads (",
                    heads, ") must divide the last dim of qkv ", qkv.sizes());
        const std::int64_t batch = qkv.size(0), length = qkv.size(1), width = qkv.size(2) / 3;
        // sqrt and / are correctly rounded: the scale is the engine's.
        const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
        const std::uint64_t attributes[] = {
            static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(heads),
            f32_attribute(static_cast<float>(scale)), causal ? std::uint64_t{0} : std::uint64_t{1}};
        const Tensor o = empty_f32({batch, length, width});
        const Tensor m = empty_f32({batch, heads, length, 1}), l = empty_f32(m.sizes());
        run("attention", Opcode::kAttention, {as_rows(qkv)}, {as_rows(o), m, l}, attributes);
        context->save_for_backward({qkv, o, m, l});
        context->saved_data["attributes"] =
            std::vector<std::int64_t>(std::begin(attributes), std::end(attributes));
        return o;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor d_o = incoming("attention", gradients[0]);
        const variable_list saved = context->get_saved_variables();
        const auto kept = context->saved_data["attributes"].toIntVector();
        const std::vector<std::uint64_t> attributes(kept.begin(), kept.end());
        const Tensor d_qkv = empty_f32(saved[0].sizes());
        run("attention", Opcode::kAttentionGrad,
            {as_rows(saved[0]), as_rows(saved[1]), saved[2], saved[3], as_rows(d_o)},
            {as_rows(d_qkv)}, attributes);
        return {d_qkv, Tensor(), Tensor()};
    }
};

struct Embedding : Function<Embedding> {
    static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& indices) {
        require_f32("embedding", "weight", weight);
        TORCH_CHECK(weight.dim() == 2, "gym::embedding: weight ", weight.sizes(),
                    " is not a matrix");
        const Tensor rows = indices_i32("embedding", "indices", indices, weight.size(0));
        std::vector<std::int64_t> dims = indices.sizes().vec();
        dims.push_back(weight.size(1));
        const Tensor y = empty_f32(dims);
        const Tensor flat = rows.view({-1});
        run("embedding", Opcode::kGatherRows, {weight, flat}, {as_rows(y)});
        context->save_for_backward({flat});
        context->saved_data["vocabulary"] = weight.size(0);
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("embedding", gradients[0]);
        const Tensor indices = context->get_saved_variables()[0];
        const Tensor d_table = empty_f32({context->saved_data["vocabulary"].toInt(), dy.size(-1)});
        run("embedding", Opcode::kEmbeddingGrad, {as_rows(dy), indices}, {d_table});
        return {d_table, Tensor()};
    }
};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
    return Matmul::apply(a, b, transpose_a, !transpose_b);
}

Tensor linear(const Tensor& input, const Tensor& weight, const c10::optional<Tensor>& bias) {
    require_f32("linear", "input", input);
    require_f32("linear", "weight", weight);
    TORCH_CHECK(input.dim() >= 1 && weight.dim() == 2 && input.size(-1) == weight.size(1),
                "gym::linear: input ", input.sizes(), " and weight ", weight.sizes(),
                " must be (..., K) and (N, K)");
    std::vector<std::int64_t> dims = input.sizes().vec();
    dims.back() = weight.size(0);
    const Tensor y = Matmul::apply(as_rows(input), weight, false, false);
    if (!bias.has_value() || !bias->defined()) return y.view(dims);
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == weight.size(0), "gym::linear: bias ",
                bias->sizes(), " must have the ", weight.size(0), " elements of an output row");
    return torch_ops::add(y, *bias).view(dims);
}

Tensor layernorm(const Tensor& input, const Tensor& gamma, const Tensor& beta, double epsilon) {
    return Layernorm::apply(input, gamma, beta, epsilon);
}

Tensor attention(const Tensor& qkv, std::int64_t heads, bool causal) {
    return Attention::apply(qkv, heads, causal);
}

Tensor embedding(const Tensor& weight, const Tensor& indices) {
    return Embedding::apply(weight, indices);
}

}  // namespace gym::torch_ops
