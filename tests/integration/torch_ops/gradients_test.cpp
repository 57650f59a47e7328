// Values and gradients of every op of torch.ops.gym against libtorch in FP64.
#include <cmath>
#include <functional>
#include <map>

#include "libtorch_ops.hpp"

namespace gym::testing {
namespace {

using Operands = std::vector<Tensor>;

struct GradientCase {
    const char* name;
    std::vector<std::vector<std::int64_t>> dims;
    std::function<Tensor(const Operands&)> ours;
    std::function<Tensor(const Operands&)> theirs;
    double tolerance = 1e-5;  ///< of norms; products are quantised to 14 bits and get more
    bool positive = false;
};

constexpr double kProduct = 2e-3;

Tensor causal_attention(const Tensor& qkv, std::int64_t heads) {
    const std::int64_t batch = qkv.size(0), context = qkv.size(1), width = qkv.size(2) / 3;
    const Tensor parts =
        qkv.reshape({batch, context, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    Tensor scores =
        parts[0].matmul(parts[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(width / heads));
    scores = scores.masked_fill(torch::ones({context, context}, torch::kBool).triu(1), -INFINITY);
    const Tensor o = torch::softmax(scores, -1).matmul(parts[2]);
    return o.permute({0, 2, 1, 3}).reshape({batch, context, width});
}

GradientCase unary(const char* name, std::function<Tensor(const Tensor&)> theirs, bool positive) {
    return {name,
            {{3, 4, 5}},
            [name](const Operands& x) { return call(name, x[0]); },
            [theirs](const Operands& x) { return theirs(x[0]); },
            1e-5,
            positive};
}

std::vector<GradientCase> binary_cases() {
    std::vector<GradientCase> cases;
    const std::map<const char*, Tensor (*)(const Tensor&, const Tensor&)> ops = {
        {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
        {"sub", [](const Tensor& a, const Tensor& b) { return a - b; }},
        {"mul", [](const Tensor& a, const Tensor& b) { return a * b; }},
        {"div", [](const Tensor& a, const Tensor& b) { return a / b; }}};
    const std::vector<std::vector<std::vector<std::int64_t>>> shapes = {
        {{3, 4, 5}, {3, 4, 5}}, {{3, 4, 5}, {5}}, {{3, 4, 5}, {4, 5}},
        {{3, 4, 5}, {3, 4, 1}}, {{3, 4, 5}, {1}}, {{5}, {3, 4, 5}}};
    for (const auto& [name, theirs] : ops) {
        for (const auto& dims : shapes) {
            cases.push_back(
                {name, dims, [name = name](const Operands& x) { return call(name, x[0], x[1]); },
                 [theirs = theirs](const Operands& x) { return theirs(x[0], x[1]); }, 1e-5, true});
        }
    }
    return cases;
}

Tensor turned(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
    const auto parts = x.chunk(2, -1);  // of each head
    return torch::cat({parts[0] * cosine - parts[1] * sine, parts[1] * cosine + parts[0] * sine},
                      -1);
}

/// Three heads of queries, one of keys and values, of four values each.
void add_llama_cases(std::vector<GradientCase>& cases) {
    cases.push_back({"rmsnorm",
                     {{2, 3, 7}, {7}},
                     [](const Operands& x) { return call("rmsnorm", x[0], x[1], 1e-3); },
                     [](const Operands& x) {
                         return x[0] * (x[0].square().mean(-1, true) + 1e-3).rsqrt() * x[1];
                     }});
    cases.push_back({"swiglu",
                     {{2, 3, 7}, {2, 3, 7}},
                     [](const Operands& x) { return call("swiglu", x[0], x[1]); },
                     [](const Operands& x) { return torch::silu(x[0]) * x[1]; }});
    const Tensor angles = torch::rand({5, 2}), cosine = angles.cos(), sine = angles.sin();
    cases.push_back(
        {"rope",
         {{2, 5, 20}},
         [=](const Operands& x) { return call("rope", x[0], cosine, sine, std::int64_t{4}); },
         [=](const Operands& x) {
             const Tensor heads = x[0].slice(-1, 0, 16).reshape({2, 5, 4, 4});
             const Tensor y = turned(heads, cosine.unsqueeze(1), sine.unsqueeze(1));
             return torch::cat({y.reshape({2, 5, 16}), x[0].slice(-1, 16)}, -1);
         }});
    cases.push_back({"repeat_heads",
                     {{2, 5, 20}},
                     [](const Operands& x) {
                         return call("repeat_heads", x[0], std::int64_t{3}, std::int64_t{1});
                     },
                     [](const Operands& x) {
                         return torch::cat(
                             {x[0].slice(-1, 0, 12), x[0].slice(-1, 12, 16).repeat({1, 1, 3}),
                              x[0].slice(-1, 16).repeat({1, 1, 3})},
                             -1);
                     }});
}

std::vector<GradientCase> gradient_cases() {
    std::vector<GradientCase> cases = binary_cases();
    cases.push_back(unary(
        "exp", [](const Tensor& x) { return x.exp(); }, false));
    cases.push_back(unary(
        "log", [](const Tensor& x) { return x.log(); }, true));
    cases.push_back(unary(
        "sqrt", [](const Tensor& x) { return x.sqrt(); }, true));
    cases.push_back(unary(
        "rsqrt", [](const Tensor& x) { return x.rsqrt(); }, true));
    cases.push_back(unary(
        "sigmoid", [](const Tensor& x) { return x.sigmoid(); }, false));
    cases.push_back(unary(
        "gelu", [](const Tensor& x) { return torch::gelu(x, "tanh"); }, false));
    cases.push_back(unary(
        "softmax", [](const Tensor& x) { return x.softmax(-1); }, false));
    cases.push_back(unary(
        "row_sum", [](const Tensor& x) { return x.sum(-1, true); }, false));
    cases.push_back(unary(
        "column_sum",
        [](const Tensor& x) {
            return x.sum(std::vector<std::int64_t>{0, 1});
        },
        false));
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            cases.push_back(
                {"matmul",
                 {ta ? std::vector<std::int64_t>{70, 6} : std::vector<std::int64_t>{6, 70},
                  tb ? std::vector<std::int64_t>{5, 70} : std::vector<std::int64_t>{70, 5}},
                 [=](const Operands& x) { return call("matmul", x[0], x[1], ta, tb); },
                 [=](const Operands& x) {
                     return (ta ? x[0].t() : x[0]).matmul(tb ? x[1].t() : x[1]);
                 },
                 kProduct});
        }
    }
    cases.push_back({"linear",
                     {{2, 3, 7}, {4, 7}, {4}},
                     [](const Operands& x) { return call("linear", x[0], x[1], x[2]); },
                     [](const Operands& x) { return torch::linear(x[0], x[1], x[2]); },
                     kProduct});
    cases.push_back(
        {"layernorm",
         {{2, 3, 7}, {7}, {7}},
         [](const Operands& x) { return call("layernorm", x[0], x[1], x[2], 1e-3); },
         [](const Operands& x) { return torch::layer_norm(x[0], {7}, x[1], x[2], 1e-3); }});
    cases.push_back({"attention",
                     {{2, 5, 24}},
                     [](const Operands& x) { return call("attention", x[0], std::int64_t{2}); },
                     [](const Operands& x) { return causal_attention(x[0], 2); },
                     kProduct});
    add_llama_cases(cases);
    const Tensor indices = torch::tensor({{3, 0, 3}, {8, 1, 0}});
    cases.push_back({"embedding",
                     {{9, 4}},
                     [=](const Operands& x) { return call("embedding", x[0], indices); },
                     [=](const Operands& x) { return torch::embedding(x[0], indices); }});
    cases.push_back(
        {"cross_entropy",
         {{2, 3, 9}},
         [=](const Operands& x) { return call("cross_entropy", x[0], indices); },
         [=](const Operands& x) {
             return torch::cross_entropy_loss(x[0].reshape({6, 9}), indices.reshape({6}));
         }});
    return cases;
}

void expect_close(const Tensor& ours, const Tensor& theirs, double tolerance,
                  const std::string& what) {
    ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
    const double error = (ours.to(torch::kDouble) - theirs).norm().item<double>();
    EXPECT_TRUE(error <= tolerance * theirs.norm().item<double>() + 1e-12)
        << what << ": off by " << error << " of " << theirs.norm().item<double>();
}

TEST_F(TorchOps, ValuesAndGradientsAreThoseOfLibtorch) {
    for (const GradientCase& c : gradient_cases()) {
        Operands ours, theirs;
        std::string title = c.name;
        for (const auto& dims : c.dims) {
            const Tensor values = c.positive ? torch::rand(dims) + 0.5 : torch::randn(dims);
            ours.push_back(values.clone().requires_grad_(true));
            theirs.push_back(values.to(torch::kDouble).requires_grad_(true));
            title += " " + std::to_string(values.numel());
        }
        const Tensor y = c.ours(ours), want = c.theirs(theirs);
        expect_close(y.detach(), want.detach(), c.tolerance, title);
        // An expanded gradient is not contiguous; the ops must take it all the same.
        const Tensor weights =
            torch::randn(want.sizes().slice(want.dim() == 0 ? 0 : want.dim() - 1))
                .expand(want.sizes());
        y.backward(weights);
        want.backward(weights.to(torch::kDouble));
        for (std::size_t i = 0; i < ours.size(); ++i)
            expect_close(ours[i].grad(), theirs[i].grad(), c.tolerance,
                         title + ", gradient " + std::to_string(i));
    }
}

}  // namespace
}  // namespace gym::testing
