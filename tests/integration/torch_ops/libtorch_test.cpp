// torch.ops.gym from C++: training with the engine's bits, and what a tensor that the ops cannot
// take is told.
#include <bit>
#include <cstring>
#include <functional>
#include <map>

#include "engine_run.hpp"
#include "gym/commit/tensor_root.hpp"
#include "libtorch_ops.hpp"

namespace gym::testing {
namespace {

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

    program::ModelConfig config_;
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

TEST_F(TorchOps, AViewThatBeginsAnywhereHasTheBitsOfACopy) {
    const Tensor memory = torch::randn({40 * 33 + 1});
    const Tensor view = memory.slice(0, 1).view({40, 33});
    EXPECT_TRUE(call("matmul", view, view, false, true)
                    .equal(call("matmul", view.clone(), view.clone(), false, true)));
    EXPECT_TRUE(call("gelu", view).equal(call("gelu", view.clone())));
}

// Inputs that cannot be taken.

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
