// torch.ops.gym from C++: training with the engine's bits, gradients of every op against libtorch
// in FP64, and what a tensor that the ops cannot take is told.
#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "engine_run.hpp"
#include "gym/commit/tensor_root.hpp"

namespace gym::testing {
namespace {

using torch::Tensor;

void load_library() {
    static void* const library = ::dlopen(GYM_OPS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
}

std::vector<c10::IValue> call_all(const char* name, std::vector<c10::IValue> arguments) {
    const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow((std::string("gym::") + name).c_str(), "");
    // Defaults of the schema for what is not given.
    const auto& schema = op.schema().arguments();
    for (std::size_t i = arguments.size(); i < schema.size(); ++i)
        arguments.push_back(schema[i].default_value().value());
    op.callBoxed(arguments);
    return arguments;
}

template <class... Arguments>
Tensor call(const char* name, Arguments... arguments) {
    return call_all(name, {arguments...}).at(0).toTensor();
}

class TorchOps : public ::testing::Test {
  protected:
    void SetUp() override {
        load_library();
        torch::manual_seed(4);
    }
};

// Training.

std::vector<std::int64_t> torch_dims(const std::vector<std::uint64_t>& dims) {
    return {dims.begin(), dims.end()};
}

/// The model of engine_run.cpp, with parameters by name.
class Gpt {
  public:
    explicit Gpt(const EngineRun& run) : config_(run.config.model) {
        for (const std::string& name : param_names(run.program)) {
            const engine::StateTensor& tensor = *run.initial.find(name);
            const Tensor values = torch::empty(torch_dims(tensor.dims));
            std::memcpy(values.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
            params_[name] = values.requires_grad_(true);
        }
    }
    [[nodiscard]] Tensor at(const std::string& name) const { return params_.at(name); }
    [[nodiscard]] Tensor loss(const Tensor& batch) const {
        const Tensor tokens = batch.slice(1, 0, config_.context).contiguous();
        const Tensor targets = batch.slice(1, 1).contiguous();
        Tensor x =
            call("add", call("embedding", at("token_embedding"), tokens), at("position_embedding"));
        for (std::uint32_t layer = 0; layer < config_.layers; ++layer)
            x = block(x, "blocks." + std::to_string(layer));
        const Tensor logits = call("linear", norm(x, "final_norm"), at("token_embedding"));
        return call("cross_entropy", logits, targets);
    }

  private:
    [[nodiscard]] Tensor norm(const Tensor& x, const std::string& name) const {
        return call("layernorm", x, at(name + ".gamma"), at(name + ".beta"),
                    config_.layernorm_epsilon);
    }
    [[nodiscard]] Tensor linear(const Tensor& x, const std::string& name) const {
        return call("linear", x, at(name + ".weight"), at(name + ".bias"));
    }
    [[nodiscard]] Tensor block(Tensor x, const std::string& name) const {
        Tensor h = linear(norm(x, name + ".norm1"), name + ".attention.qkv");
        h = call("attention", h, std::int64_t{config_.heads});
        x = call("add", x, linear(h, name + ".attention.out"));
        h = linear(norm(x, name + ".norm2"), name + ".mlp.up");
        return call("add", x, linear(call("gelu", h), name + ".mlp.down"));
    }

    program::GptConfig config_;
    std::map<std::string, Tensor> params_;
};

/// The optimizer's tensors and step, from the library's ops.
class Optimizer {
  public:
    Optimizer(const EngineRun& run, const Gpt& model) : run_(run), model_(model) {
        for (const std::string& name : param_names(run.program)) {
            state_["m." + name] = torch::zeros_like(model.at(name)).detach();
            state_["v." + name] = torch::zeros_like(model.at(name)).detach();
        }
        state_["beta1_power"] = torch::ones({1});
        state_["beta2_power"] = torch::ones({1});
    }
    /// @return the gradient's norm.
    float step(float rate) {
        const torch::NoGradGuard no_grad;
        const program::OptimizerConfig& o = run_.config.optimizer;
        std::vector<Tensor> gradients;
        for (const std::string& name : param_names(run_.program))
            gradients.push_back(model_.at(name).grad());
        const auto clip = call_all("clip_factor", {gradients, o.clip_norm});
        const Tensor r1 = call("bias_correction_", state_["beta1_power"], o.beta1);
        const Tensor r2 = call("bias_correction_", state_["beta2_power"], o.beta2);
        for (const std::string& name : param_names(run_.program)) {
            const double decay = weight_decay(run_.program, name);
            call_all("adamw_", {model_.at(name), state_["m." + name], state_["v." + name],
                                model_.at(name).grad(), torch::full({1}, rate), clip[1], r1, r2,
                                o.beta1, o.beta2, o.epsilon, decay});
            model_.at(name).mutable_grad() = Tensor();
        }
        return clip[0].toTensor().item<float>();
    }
    [[nodiscard]] Tensor at(const std::string& name) const {
        const auto found = state_.find(name);
        return found != state_.end() ? found->second : model_.at(name).detach();
    }

  private:
    const EngineRun& run_;
    const Gpt& model_;
    std::map<std::string, Tensor> state_;
};

TEST_F(TorchOps, TrainWithTheEnginesBits) {
    const EngineRun run = run_engine(8);
    const Gpt model(run);
    Optimizer optimizer(run, model);
    for (std::size_t step = 0; step < run.batches.size(); ++step) {
        torch::set_num_threads(step % 2 == 0 ? 1 : 2);  // changes no bit
        const Tensor batch = torch::tensor(run.batches[step])
                                 .reshape({run.config.batch, run.config.model.context + 1});
        const Tensor loss = model.loss(batch);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(loss.item<float>()), run.loss_bits[step])
            << "step " << step;
        loss.backward();
        const float norm = optimizer.step(run.rates[step]);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(norm), run.grad_norm_bits[step]) << "step " << step;
    }
    std::vector<Tensor> state;
    for (const engine::StateTensor& tensor : run.trained.tensors) {
        state.push_back(optimizer.at(tensor.name));
        EXPECT_EQ(call_all("tensor_root", {state.back()}).at(0).toStringRef(),
                  commit::tensor_root(tensor.dtype, tensor.dims, tensor.bytes).hex())
            << tensor.name;
    }
    EXPECT_EQ(call_all("state_root", {state}).at(0).toStringRef(),
              engine::state_root(run.trained).hex());
}

TEST_F(TorchOps, InitialWeightsAreTheEngines) {
    const EngineRun run = run_engine(1);
    const program::SlotId slot = run.program.find_slot("blocks.0.mlp.up.weight");
    const engine::StateTensor& want = *run.initial.find("blocks.0.mlp.up.weight");
    const Tensor have = torch::empty(torch_dims(want.dims));
    const float deviation = std::bit_cast<float>(run.program.slot(slot).init.bits);
    call("normal_", have, "torch ops", std::int64_t{slot}, double{deviation});
    EXPECT_EQ(std::memcmp(have.data_ptr(), want.bytes.data(), want.bytes.size()), 0);
}

// Gradients.

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

TEST_F(TorchOps, AViewThatBeginsAnywhereHasTheBitsOfACopy) {
    const Tensor memory = torch::randn({40 * 33 + 1});
    const Tensor view = memory.slice(0, 1).view({40, 33});
    EXPECT_TRUE(call("matmul", view, view, false, true)
                    .equal(call("matmul", view.clone(), view.clone(), false, true)));
    EXPECT_TRUE(call("gelu", view).equal(call("gelu", view.clone())));
}

// What cannot be taken.

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const c10::Error& error) {
        return error.what_without_backtrace();
    }
    return "no error";
}

TEST_F(TorchOps, OtherTensorsAreRefusedWithTheRemedy) {
    const Tensor good = torch::randn({4, 4});
    const auto product = [&](const Tensor& a) {
        return message_of([&] { call("matmul", a, good, false, false); });
    };
    const auto expect = [](const std::string& message, std::initializer_list<const char*> words) {
        for (const char* word : words)
            EXPECT_NE(message.find(word), std::string::npos) << message << "\nlacks " << word;
    };
    expect(product(good.to(torch::kDouble)), {"gym::matmul", "float32", "Double", ".float()"});
    expect(product(good.to(torch::kHalf)), {"float32", "Half"});
    expect(product(good.t()), {"a [4, 4]", "strides [1, 4]", ".contiguous()"});
    expect(product(good.to(torch::kMeta)), {"CPU", "meta", ".cpu()"});
    expect(product(good.to_sparse()), {"dense"});
    expect(product(torch::randn({4, 5})), {"[4, 5]", "do not share a dim"});
    expect(product(torch::randn({4})), {"a [4]", "not a matrix"});
    expect(product(torch::empty({0, 4})), {"no elements"});
    expect(message_of([&] { call("gelu", torch::randn({1, 1, 1, 1, 1, 2})); }), {"6 dims"});
    expect(message_of([&] { call("add", good, torch::randn({2, 8})); }), {"[4, 4]", "[2, 8]"});
    expect(message_of([&] {
               call("embedding", good, torch::tensor({1, 4}));
           }),
           {"has 4", "0 to 3"});
    expect(message_of([&] { call("embedding", good, torch::tensor({-1})); }), {"has -1"});
    expect(message_of([&] { call("embedding", good, good); }), {"int64 or int32"});
    expect(message_of([&] { call("cross_entropy", good, torch::tensor({1})); }), {"targets [1]"});
    expect(message_of([&] { call("layernorm", good, torch::ones({3}), torch::ones({4}), 1e-5); }),
           {"gamma", "[4]"});
    expect(message_of([&] {
               call("attention", torch::randn({1, 2, 9}), std::int64_t{2});
           }),
           {"heads"});
    expect(message_of([&] {
               const Tensor leaf = good.clone().requires_grad_(true);
               call_all("adamw_", {leaf, good, good, good, good, good, good, good});
           }),
           {"no_grad"});
}

TEST_F(TorchOps, SecondDerivativesAreRefusedNotForgotten) {
    const Tensor x = torch::randn({3, 3}).requires_grad_(true);
    const Tensor y = call("gelu", x);
    EXPECT_NE(message_of([&] {
                  (void)torch::autograd::grad({y.sum()}, {x}, {}, true, /*create_graph=*/true);
              }).find("second derivatives"),
              std::string::npos);
}

}  // namespace
}  // namespace gym::testing
