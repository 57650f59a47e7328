#include <torch/library.h>

#include "ops.hpp"
#include "training.hpp"

// torch.ops.gym.*; docs/TORCH.md describes them. Ops that have a gradient are autograd functions
// for every backend key, so that a tensor on another device gets the op's own message.
TORCH_LIBRARY(gym, m) {
    namespace ops = gym::torch_ops;
    m.def("add(Tensor a, Tensor b) -> Tensor", &ops::add);
    m.def("sub(Tensor a, Tensor b) -> Tensor", &ops::sub);
    m.def("mul(Tensor a, Tensor b) -> Tensor", &ops::mul);
    m.def("div(Tensor a, Tensor b) -> Tensor", &ops::div);
    m.def("exp(Tensor x) -> Tensor", &ops::exp);
    m.def("log(Tensor x) -> Tensor", &ops::log);
    m.def("sqrt(Tensor x) -> Tensor", &ops::sqrt);
    m.def("rsqrt(Tensor x) -> Tensor", &ops::rsqrt);
    m.def("sigmoid(Tensor x) -> Tensor", &ops::sigmoid);
    m.def("gelu(Tensor x) -> Tensor", &ops::gelu);
    m.def("matmul(Tensor a, Tensor b, *, bool transpose_a=False, bool transpose_b=False) -> Tensor",
          &ops::matmul);
    m.def("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", &ops::linear);
    m.def("layernorm(Tensor input, Tensor gamma, Tensor beta, float epsilon=1e-05) -> Tensor",
          &ops::layernorm);
    m.def("attention(Tensor qkv, int heads, bool causal=True) -> Tensor", &ops::attention);
    m.def("rmsnorm(Tensor input, Tensor gamma, float epsilon=1e-05) -> Tensor", &ops::rmsnorm);
    m.def("swiglu(Tensor gate, Tensor up) -> Tensor", &ops::swiglu);
    m.def("rope(Tensor x, Tensor cosine, Tensor sine, int heads) -> Tensor", &ops::rope);
    m.def("repeat_heads(Tensor qkv, int heads, int kv_heads) -> Tensor", &ops::repeat_heads);
    m.def("embedding(Tensor weight, Tensor indices) -> Tensor", &ops::embedding);
    m.def("softmax(Tensor input) -> Tensor", &ops::softmax);
    m.def("cross_entropy(Tensor logits, Tensor targets) -> Tensor", &ops::cross_entropy);
    m.def("row_sum(Tensor x) -> Tensor", &ops::row_sum);
    m.def("column_sum(Tensor x) -> Tensor", &ops::column_sum);

    m.def(
        "adamw_(Tensor(a!) p, Tensor(b!) m, Tensor(c!) v, Tensor g, Tensor rate, Tensor clip, "
        "Tensor r1, Tensor r2, float beta1=0.9, float beta2=0.95, float epsilon=1e-08, "
        "float weight_decay=0.0) -> ()",
        &ops::adamw_);
    m.def("bias_correction_(Tensor(a!) power, float beta) -> Tensor", &ops::bias_correction_);
    m.def("clip_factor(Tensor[] gradients, float clip_norm) -> (Tensor norm, Tensor factor)",
          &ops::clip_factor);
    m.def("normal_(Tensor(a!) x, str seed, int slot, float deviation) -> Tensor(a!)",
          &ops::normal_);
    m.def("tensor_root(Tensor x) -> str", &ops::tensor_root);
    m.def("state_root(Tensor[] tensors) -> str", &ops::state_root);
}
