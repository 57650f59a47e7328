#include <functional>

#include "gym/program/autodiff.hpp"
#include "program_samples.hpp"
#include "reference_runner.hpp"
#include "torch_compare.hpp"

namespace gym::program {
namespace {

using testing::expect_close;
using torch::Tensor;

/// A function of tensors, once as ops and once in libtorch.
struct Case {
    std::string name;
    std::vector<Dims> operands;
    std::function<SlotId(Builder&, const std::vector<SlotId>&)> ours;
    std::function<Tensor(const std::vector<Tensor>&)> theirs;
    bool positive = false;    ///< operands are kept away from zero and below
    double tolerance = 2e-6;  ///< of norms; products are quantised to 14 bits and get more
    std::vector<std::int32_t> indices = {};  ///< given as an i32 input after the operands
};

constexpr double kProduct = 1e-3;

Tensor torch_layernorm(const std::vector<Tensor>& t) {
    return torch::layer_norm(t[0], {t[0].size(1)}, t[1], t[2], 1e-5);
}

/// qkv (B * T, 3 D) -> (B * T, D), by the textbook.
Tensor torch_attention(const Tensor& qkv, std::int64_t context, std::int64_t heads,
                       const Tensor& hidden) {
    const std::int64_t width = qkv.size(1) / 3, size = width / heads;
    const Tensor parts =
        qkv.reshape({-1, context, 3, heads, size}).permute({2, 0, 3, 1, 4});  // 3, B, H, T, K
    Tensor scores =
        parts[0].matmul(parts[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(size));
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
    const Tensor o = torch::softmax(scores, -1).matmul(parts[2]);
    return o.permute({0, 2, 1, 3}).reshape({-1, width});
}
Tensor torch_attention(const Tensor& qkv, std::int64_t context, std::int64_t heads) {
    return torch_attention(qkv, context, heads,
                           torch::ones({context, context}, torch::kBool).triu(1));
}

/// Two windows of nine tokens: documents of 4, 1 and 4, and of 9.
const std::vector<float> kDocuments{0, 0, 0, 0, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
Tensor other_documents() {
    const Tensor number = torch::tensor(kDocuments).reshape({2, 1, 9});
    const Tensor other = number.transpose(-1, -2).ne(number).unsqueeze(1);
    return other.logical_or(torch::ones({9, 9}, torch::kBool).triu(1));
}

Case unary(Opcode code, std::function<Tensor(const Tensor&)> theirs, bool positive) {
    return {std::string(to_string(code)),
            {{5, 7}},
            [code](Builder& b, const std::vector<SlotId>& x) { return b.unary(code, x[0]); },
            [theirs](const std::vector<Tensor>& t) { return theirs(t[0]); },
            positive};
}

Case product(bool ta, bool tb) {
    const Dims a = ta ? Dims{1500, 6} : Dims{6, 1500}, b_dims = tb ? Dims{1500, 5} : Dims{5, 1500};
    return {"matmul" + std::string(ta ? "_ta" : "") + (tb ? "_tb" : ""),
            {a, b_dims},
            [=](Builder& b, const std::vector<SlotId>& x) { return b.matmul(x[0], x[1], ta, tb); },
            [=](const std::vector<Tensor>& t) {
                const Tensor left = ta ? t[0].t() : t[0], right = tb ? t[1].t() : t[1];
                return left.matmul(right.t());
            },
            false,
            kProduct};
}

using Slots = const std::vector<SlotId>&;
using Tensors = const std::vector<Tensor>&;

std::vector<Case> elementwise_cases() {
    return {
        {"add_row",
         {{4, 3, 5}, {5}},
         [](Builder& b, Slots x) { return b.add(x[0], x[1]); },
         [](Tensors t) { return t[0] + t[1]; }},
        {"add_periodic",
         {{6, 5}, {3, 5}},
         [](Builder& b, Slots x) { return b.add(x[0], x[1]); },
         [](Tensors t) {
             return t[0] + t[1].repeat({2, 1});
         }},
        {"sub_column",
         {{4, 5}, {4, 1}},
         [](Builder& b, Slots x) { return b.sub(x[0], x[1]); },
         [](Tensors t) { return t[0] - t[1]; }},
        {"mul_scalar",
         {{4, 5}, {1}},
         [](Builder& b, Slots x) { return b.mul(x[0], x[1]); },
         [](Tensors t) { return t[0] * t[1]; }},
        {"mul_itself",
         {{4, 5}},
         [](Builder& b, Slots x) { return b.mul(x[0], x[0]); },
         [](Tensors t) { return t[0] * t[0]; }},
        {"div",
         {{4, 5}, {4, 1}},
         [](Builder& b, Slots x) { return b.div(x[0], x[1]); },
         [](Tensors t) { return t[0] / t[1]; },
         true},
        {"fma",
         {{4, 5}, {5}, {4, 5}},
         [](Builder& b, Slots x) { return b.fma(x[0], x[1], x[2]); },
         [](Tensors t) { return t[0] * t[1] + t[2]; }},
        unary(
            Opcode::kSqrt, [](const Tensor& x) { return x.sqrt(); }, true),
        unary(
            Opcode::kRsqrt, [](const Tensor& x) { return x.rsqrt(); }, true),
        unary(
            Opcode::kExp, [](const Tensor& x) { return x.exp(); }, false),
        unary(
            Opcode::kLog, [](const Tensor& x) { return x.log(); }, true),
        unary(
            Opcode::kSigmoid, [](const Tensor& x) { return x.sigmoid(); }, false),
        unary(
            Opcode::kSilu, [](const Tensor& x) { return torch::silu(x); }, false),
        unary(
            Opcode::kGelu, [](const Tensor& x) { return torch::gelu(x, "tanh"); }, false),
    };
}

std::vector<Case> sum_and_product_cases() {
    return {
        {"row_sum",
         {{3, 1500}},
         [](Builder& b, Slots x) { return b.row_sum(x[0]); },
         [](Tensors t) { return t[0].sum(1, true); }},
        {"column_sum",
         {{1500, 3}},
         [](Builder& b, Slots x) { return b.column_sum(x[0], {3}); },
         [](Tensors t) { return t[0].sum(0); }},
        product(false, false),
        product(false, true),
        product(true, false),
        product(true, true),
        {"shared_operand",
         {{6, 6}},
         [](Builder& b, Slots x) { return b.matmul(x[0], x[0]); },
         [](Tensors t) { return t[0].matmul(t[0].t()); },
         false,
         kProduct},
    };
}

std::vector<Case> model_cases() {
    return {
        {"layernorm",
         {{6, 33}, {33}, {33}},
         [](Builder& b, Slots x) { return b.layernorm(x[0], x[1], x[2], 1e-5F); },
         torch_layernorm},
        {"attention",
         {{2 * 9, 3 * 12}},
         [](Builder& b, Slots x) { return b.attention(x[0], 9, 3); },
         [](Tensors t) { return torch_attention(t[0], 9, 3); },
         false,
         kProduct},
        {"attention_documents",
         {{2 * 9, 3 * 12}},
         [](Builder& b, Slots x) {
             return b.attention_documents(x[0], b.constant("documents", {18, 1}, kDocuments), 9, 3);
         },
         [](Tensors t) { return torch_attention(t[0], 9, 3, other_documents()); },
         false,
         kProduct},
        {"attention_one_token",
         {{3, 3 * 4}},
         [](Builder& b, Slots x) { return b.attention(x[0], 1, 2); },
         [](Tensors t) { return torch_attention(t[0], 1, 2); },
         false,
         kProduct},
        {"cross_entropy",
         {{5, 30}},
         [](Builder& b, Slots x) { return b.cross_entropy(x[0], x[1]); },
         [](Tensors t) {
             return torch::cross_entropy_loss(t[0], t[1].to(torch::kInt64)).reshape({1});
         },
         false,
         2e-6,
         {0, 29, 7, 7, 11}},
        {"gather_rows",
         {{9, 4}},
         [](Builder& b, Slots x) { return b.gather_rows(x[0], x[1]); },
         [](Tensors t) { return torch::embedding(t[0], t[1].to(torch::kInt64)); },
         false,
         2e-6,
         {3, 3, 0, 8, 3}},
    };
}

Tensor torch_rmsnorm(const std::vector<Tensor>& t) {
    return t[0] * torch::rsqrt(t[0].square().mean(1, true) + 1e-5) * t[1];
}

/// Halves of each head turned by free numbers in the place of cosines and sines.
Tensor torch_rope(const std::vector<Tensor>& t, std::int64_t heads) {
    const std::int64_t context = t[1].size(0), half = t[1].size(1), rotated = 2 * heads * half;
    const Tensor x = t[0].slice(1, 0, rotated).reshape({-1, context, heads, 2, half});
    const Tensor first = x.select(3, 0), second = x.select(3, 1);
    const Tensor c = t[1].unsqueeze(1), s = t[2].unsqueeze(1);  // T, 1, half
    const Tensor turned = torch::stack({first * c - second * s, second * c + first * s}, 3);
    return torch::cat({turned.reshape({-1, rotated}), t[0].slice(1, rotated)}, 1);
}

/// Query heads as they are, key and value heads repeated `group` times.
Tensor torch_repeat_heads(const Tensor& x, std::int64_t heads, std::int64_t kv_heads) {
    const std::int64_t size = x.size(1) / (heads + 2 * kv_heads);
    const Tensor parts = x.reshape({-1, heads + 2 * kv_heads, size});
    const Tensor shared = parts.slice(1, heads).repeat_interleave(heads / kv_heads, 1);
    return torch::cat({parts.slice(1, 0, heads), shared}, 1).reshape({-1, 3 * heads * size});
}

/// Tables are constants: no gradient reaches them.
Case rope(const std::string& name, const Dims& x, const Dims& table, std::uint32_t heads) {
    std::vector<float> cosine(element_count(table)), sine(element_count(table));
    for (std::size_t i = 0; i < cosine.size(); ++i) {
        cosine[i] = static_cast<float>(std::cos(0.7 * static_cast<double>(i)));
        sine[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
    }
    return {name,
            {x},
            [=](Builder& b, const std::vector<SlotId>& slots) {
                const SlotId c = b.constant("cos", table, cosine);
                return b.rope(slots[0], c, b.constant("sin", table, sine), heads);
            },
            [=](const std::vector<Tensor>& t) {
                return torch_rope(
                    {t[0], testing::to_torch(cosine, table), testing::to_torch(sine, table)},
                    heads);
            }};
}

std::vector<Case> llama_cases() {
    return {
        {"rmsnorm",
         {{6, 33}, {33}},
         [](Builder& b, Slots x) { return b.rmsnorm(x[0], x[1], 1e-5F); },
         torch_rmsnorm},
        {"rmsnorm_one_column",
         {{6, 1}, {1}},
         [](Builder& b, Slots x) { return b.rmsnorm(x[0], x[1], 1e-5F); },
         torch_rmsnorm,
         false,
         1e-3},  // cancels almost all
        rope("rope", {2 * 5, 3 * 6 + 7}, {5, 3}, 3),
        rope("rope_all_columns", {4, 8}, {4, 2}, 2),
        rope("rope_one_token", {3, 2}, {1, 1}, 1),
        {"repeat_heads",
         {{5, (6 + 2 * 2) * 3}},
         [](Builder& b, Slots x) { return b.repeat_heads(x[0], 6, 2); },
         [](Tensors t) { return torch_repeat_heads(t[0], 6, 2); }},
        {"repeat_heads_one_each",
         {{5, 3 * 4}},
         [](Builder& b, Slots x) { return b.repeat_heads(x[0], 2, 2); },
         [](Tensors t) { return torch_repeat_heads(t[0], 2, 2); }},
        {"swiglu",
         {{4, 9}, {4, 9}},
         [](Builder& b, Slots x) { return b.swiglu(x[0], x[1]); },
         [](Tensors t) { return torch::silu(t[0]) * t[1]; }},
    };
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const auto& group :
         {elementwise_cases(), sum_and_product_cases(), model_cases(), llama_cases()})
        cases.insert(cases.end(), group.begin(), group.end());
    return cases;
}

class Derivatives : public ::testing::TestWithParam<Case> {};

// loss = sum(weights * f(operands)): value and gradients with respect to every operand.
TEST_P(Derivatives, AgreeWithAutogradInFp64) {
    const Case& test = GetParam();
    std::mt19937_64 rng(testing::test_seed());
    Builder b;
    std::vector<SlotId> operands;
    for (std::size_t i = 0; i < test.operands.size(); ++i)
        operands.push_back(b.input("x" + std::to_string(i), DType::kF32, test.operands[i]));
    const std::vector<SlotId> wrt = operands;
    if (!test.indices.empty())
        operands.push_back(
            b.input("indices", DType::kI32, {static_cast<std::uint32_t>(test.indices.size())}));
    const SlotId y = test.ours(b, operands);
    const SlotId weights = b.input("weights", DType::kF32, b.slot(y).dims);
    const SlotId loss = b.column_sum(b.mul(y, weights), {1});
    const auto grads = gradients(b, loss, wrt);
    ASSERT_TRUE(grads.ok()) << grads.error().message;
    const auto program = b.build();
    ASSERT_TRUE(program.ok()) << program.error().message;

    testing::ReferenceRunner runner(program->parts());
    std::vector<Tensor> tensors;
    for (const SlotId slot : wrt) {
        const Dims& dims = program->slot(slot).dims;
        std::vector<float> values = testing::normal_values(rng, element_count(dims), 1.0F);
        if (test.positive)
            for (float& value : values)
                value = 0.25F + std::abs(value);
        runner.set(slot, values);
        tensors.push_back(testing::to_torch(values, dims).requires_grad_(true));
    }
    if (!test.indices.empty()) {
        runner.set(operands.back(), test.indices);
        tensors.push_back(testing::to_torch(test.indices, program->slot(operands.back()).dims));
    }
    const Dims& y_dims = program->slot(y).dims;
    const std::vector<float> weight_values =
        testing::normal_values(rng, element_count(y_dims), 1.0F);
    runner.set(weights, weight_values);
    runner.run();

    const Tensor their_y = test.theirs(tensors);
    (their_y * testing::to_torch(weight_values, y_dims)).sum().backward();
    expect_close(runner.get<float>(y), their_y, test.tolerance, "value");
    for (std::size_t i = 0; i < wrt.size(); ++i)
        expect_close(runner.get<float>((*grads)[i]), tensors[i].grad(), test.tolerance,
                     "gradient " + std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Torch, Derivatives, ::testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gym::program
