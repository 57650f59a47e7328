#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "bridge.hpp"
#include "ops.hpp"

// The ops of Llama-style models that others do not have.

namespace gym::torch_ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Rmsnorm : Function<Rmsnorm> {
    static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& gamma,
                          double epsilon) {
        require_f32("rmsnorm", "input", input);
        require_f32("rmsnorm", "gamma", gamma);
        const Tensor x = as_rows(input), y = empty_f32(input.sizes());
        const Tensor rstd = empty_f32({x.size(0), 1});
        const std::uint64_t attributes[] = {f32_attribute(static_cast<float>(epsilon))};
        run("rmsnorm", Opcode::kRmsnorm, {x, gamma}, {as_rows(y), rstd}, attributes);
        context->save_for_backward({input, gamma, rstd});
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("rmsnorm", gradients[0]);
        const variable_list saved = context->get_saved_variables();
        const Tensor dx = empty_f32(saved[0].sizes()), dgamma = empty_f32(saved[1].sizes());
        run("rmsnorm", Opcode::kRmsnormGrad, {as_rows(saved[0]), saved[1], saved[2], as_rows(dy)},
            {as_rows(dx), dgamma});
        return {dx, dgamma, Tensor()};
    }
};

struct Swiglu : Function<Swiglu> {
    static Tensor forward(AutogradContext* context, const Tensor& gate, const Tensor& up) {
        require_f32("swiglu", "gate", gate);
        require_f32("swiglu", "up", up);
        const Tensor y = empty_f32(gate.sizes());
        run("swiglu", Opcode::kSwiglu, {gate, up}, {y});
        context->save_for_backward({gate, up});
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("swiglu", gradients[0]);
        const variable_list saved = context->get_saved_variables();
        const Tensor d_gate = empty_f32(dy.sizes()), d_up = empty_f32(dy.sizes());
        run("swiglu", Opcode::kSwigluGrad, {saved[0], saved[1], dy}, {d_gate, d_up});
        return {d_gate, d_up};
    }
};

/// Rotations are orthogonal: a gradient is turned back.
struct Rope : Function<Rope> {
    static Tensor turned(const Tensor& x, const Tensor& cosine, const Tensor& sine,
                         std::int64_t heads, bool inverse) {
        const Tensor y = empty_f32(x.sizes());
        const std::uint64_t attributes[] = {static_cast<std::uint64_t>(heads), inverse};
        run("rope", Opcode::kRope, {as_rows(x), cosine, sine}, {as_rows(y)}, attributes);
        return y;
    }
    static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& cosine,
                          const Tensor& sine, std::int64_t heads) {
        require_f32("rope", "x", x);
        require_f32("rope", "cosine", cosine);
        require_f32("rope", "sine", sine);
        TORCH_CHECK(heads >= 1, "gym::rope: ", heads, " heads");
        TORCH_CHECK(!cosine.requires_grad() && !sine.requires_grad(),
                    "gym::rope: the tables have no gradient");
        context->saved_data["heads"] = heads;
        context->save_for_backward({cosine, sine});
        return turned(x, cosine, sine, heads, false);
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list tables = context->get_saved_variables();
        const Tensor dx = turned(incoming("rope", gradients[0]), tables[0], tables[1],
                                 context->saved_data["heads"].toInt(), true);
        return {dx, Tensor(), Tensor(), Tensor()};
    }
};

struct RepeatHeads : Function<RepeatHeads> {
    static Tensor forward(AutogradContext* context, const Tensor& qkv, std::int64_t heads,
                          std::int64_t kv_heads) {
        require_f32("repeat_heads", "qkv", qkv);
        TORCH_CHECK(qkv.dim() >= 1 && heads >= 1 && kv_heads >= 1 && heads <= 65536 &&
                        heads % kv_heads == 0 && qkv.size(-1) % (heads + 2 * kv_heads) == 0,
                    "gym::repeat_heads: qkv ", qkv.sizes(), " does not hold ", heads,
                    " heads of queries and ", kv_heads,
                    " of keys and values, which must divide them");
        std::vector<std::int64_t> sizes = qkv.sizes().vec();
        sizes.back() = sizes.back() / (heads + 2 * kv_heads) * 3 * heads;
        const Tensor y = empty_f32(sizes);
        const std::uint64_t attributes[] = {static_cast<std::uint64_t>(heads),
                                            static_cast<std::uint64_t>(kv_heads)};
        run("repeat_heads", Opcode::kRepeatHeads, {as_rows(qkv)}, {as_rows(y)}, attributes);
        context->saved_data["sizes"] = qkv.sizes().vec();
        context->saved_data["heads"] = std::vector<std::int64_t>{heads, kv_heads};
        return y;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const Tensor dy = incoming("repeat_heads", gradients[0]);
        const auto heads = context->saved_data["heads"].toIntVector();
        const std::vector<std::uint64_t> attributes(heads.begin(), heads.end());
        const Tensor dx = empty_f32(context->saved_data["sizes"].toIntVector());
        run("repeat_heads", Opcode::kRepeatHeadsGrad, {as_rows(dy)}, {as_rows(dx)}, attributes);
        return {dx, Tensor(), Tensor()};
    }
};

}  // namespace

Tensor rmsnorm(const Tensor& input, const Tensor& gamma, double epsilon) {
    return Rmsnorm::apply(input, gamma, epsilon);
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
    return Swiglu::apply(gate, up);
}

Tensor rope(const Tensor& x, const Tensor& cosine, const Tensor& sine, std::int64_t heads) {
    return Rope::apply(x, cosine, sine, heads);
}

Tensor repeat_heads(const Tensor& qkv, std::int64_t heads, std::int64_t kv_heads) {
    return RepeatHeads::apply(qkv, heads, kv_heads);
}

}  // namespace gym::torch_ops
