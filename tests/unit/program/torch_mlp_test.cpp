#include "torch_training.hpp"

namespace gym::program {
namespace {

/// The MLP of train_program.hpp written in libtorch, in FP64, with parameters by name.
class TorchMlp {
  public:
    TorchMlp(const ModelConfig& config, std::map<std::string, torch::Tensor> params)
        : c_(config), params_(std::move(params)) {}

    /// @param batch i64 (rows, features + 1), the class last.
    [[nodiscard]] torch::Tensor loss(const torch::Tensor& batch) const {
        torch::Tensor x = batch.slice(1, 0, c_.context).to(torch::kFloat64);
        x = x * 2.0 / (c_.vocabulary - 1.0) - 1.0;
        for (std::uint32_t layer = 0; layer < c_.layers; ++layer)
            x = torch::gelu(linear(x, "layers." + std::to_string(layer)), "tanh");
        return torch::cross_entropy_loss(linear(x, "head"), batch.select(1, c_.context));
    }
    [[nodiscard]] const std::map<std::string, torch::Tensor>& params() const { return params_; }

  private:
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
        return x.matmul(params_.at(name + ".weight").t()) + params_.at(name + ".bias");
    }
    ModelConfig c_;
    std::map<std::string, torch::Tensor> params_;
};

TrainConfig mlp_config() {
    TrainConfig config;
    config.batch = 10;
    config.model = {.vocabulary = 40, .context = 7, .layers = 2, .width = 16, .init_std = 0.5};
    config.model.architecture = Architecture::kMlp;
    config.model.classes = 40;  // the test draws every token below 40
    config.optimizer.warmup_steps = 2;
    config.optimizer.total_steps = 20;
    config.optimizer.inner_warmup_steps = 3;
    return config;
}

TEST(TorchMlpParity, LossAndEveryGradient) {
    testing::Both<TorchMlp> both(mlp_config());
    both.run(0);
    testing::expect_equal_gradients(both);
}

TEST(TorchMlpParity, LossAndEveryGradientOfALinearClassifier) {
    TrainConfig config = mlp_config();
    config.model.layers = 0;
    testing::Both<TorchMlp> both(config);
    both.run(0);
    testing::expect_equal_gradients(both);
}

TEST(TorchMlpParity, TrainsAlike) {
    TrainConfig config = mlp_config();
    config.optimizer.decay_biases = true;
    testing::expect_equal_training<TorchMlp>(config);
}

}  // namespace
}  // namespace gym::program
