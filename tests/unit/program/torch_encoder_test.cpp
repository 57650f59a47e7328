#include <array>

#include "gym/kernels/philox.h"
#include "torch_training.hpp"

namespace gym::program {
namespace {

/// The encoder of train_program.hpp written in libtorch by the textbook, in FP64, with parameters
/// by name. Rows are what docs/PROGRAMS.md says, all of them from tokens that are drawn at random.
class TorchEncoder {
  public:
    TorchEncoder(const ModelConfig& config, std::map<std::string, torch::Tensor> params)
        : c_(config), params_(std::move(params)) {}

    /// @param batch i64 (windows, context + 1).
    [[nodiscard]] torch::Tensor loss(const torch::Tensor& batch) const {
        const std::int64_t sequences = c_.task == Task::kEmbed
                                           ? c_.passages + 1
                                           : (c_.task == Task::kRerank ? c_.passages : 1);
        const torch::Tensor tokens =
            batch.slice(1, 0, c_.context).reshape({-1, c_.context / sequences});
        const torch::Tensor label = batch.select(1, c_.context);
        const torch::Tensor real = is_real(tokens);
        if (c_.task == Task::kMasked) return masked_loss(tokens, real);
        const torch::Tensor x = encoded(torch::embedding(at("token_embedding"), tokens), real);
        const torch::Tensor pooled = c_.pooling == Pooling::kFirst
                                         ? x.select(1, 0)
                                         : (x * real.unsqueeze(-1)).sum(1) / real.sum(1, true);
        if (c_.task == Task::kEmbed) return contrast(pooled);
        const torch::Tensor hidden = torch::tanh(linear(pooled, "pooler"));
        if (c_.task == Task::kClassify)
            return torch::cross_entropy_loss(linear(hidden, "head"), label);
        const torch::Tensor scores = hidden.matmul(at("head").t()).reshape({-1, c_.passages});
        return torch::cross_entropy_loss(
            scores, label.clamp(0, static_cast<std::int64_t>(c_.passages) - 1));
    }
    [[nodiscard]] const std::map<std::string, torch::Tensor>& params() const { return params_; }

  private:
    [[nodiscard]] const torch::Tensor& at(const std::string& name) const {
        return params_.at(name);
    }
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
        return x.matmul(at(name + ".weight").t()) + at(name + ".bias");
    }
    [[nodiscard]] torch::Tensor norm(const torch::Tensor& x, const std::string& name) const {
        return torch::layer_norm(x, {c_.width}, at(name + ".gamma"), at(name + ".beta"),
                                 c_.layernorm_epsilon);
    }
    /// 1 where a token is not padding, else 0.
    [[nodiscard]] torch::Tensor is_real(const torch::Tensor& tokens) const {
        const std::int64_t padding = c_.padding_token ? std::int64_t{*c_.padding_token} : -1;
        return tokens.ne(padding).to(torch::kDouble);
    }
    [[nodiscard]] torch::Tensor attention(const torch::Tensor& x, const torch::Tensor& real) const {
        const std::int64_t size = c_.width / c_.heads;
        const torch::Tensor parts =
            x.reshape({x.size(0), x.size(1), 3, c_.heads, size}).permute({2, 0, 3, 1, 4});
        const torch::Tensor scores =
            (parts[0].matmul(parts[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(size)))
                .masked_fill(real.eq(0).unsqueeze(1).unsqueeze(1), -1e30);
        const torch::Tensor o = torch::softmax(scores, -1).matmul(parts[2]);
        return o.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(1), c_.width});
    }
    [[nodiscard]] torch::Tensor encoded(torch::Tensor x, const torch::Tensor& real) const {
        x = norm(x + at("position_embedding"), "embedding_norm");
        for (std::uint32_t layer = 0; layer < c_.layers; ++layer) {
            const std::string name = "blocks." + std::to_string(layer);
            torch::Tensor h = attention(linear(x, name + ".attention.qkv"), real);
            x = norm(x + linear(h, name + ".attention.out"), name + ".norm1");
            h = torch::gelu(linear(x, name + ".mlp.up"), "tanh");
            x = norm(x + linear(h, name + ".mlp.down"), name + ".norm2");
        }
        return x;
    }
    [[nodiscard]] torch::Tensor contrast(const torch::Tensor& pooled) const {
        const torch::Tensor units =
            (pooled / pooled.norm(2, -1, true)).reshape({-1, c_.passages + 1, c_.width});
        const torch::Tensor passages = units.slice(1, 1).reshape({-1, c_.width});
        const torch::Tensor scores = units.select(1, 0).matmul(passages.t()) / c_.temperature;
        const torch::Tensor wanted =
            torch::arange(units.size(0), torch::kLong) * static_cast<std::int64_t>(c_.passages);
        return torch::cross_entropy_loss(scores, wanted);
    }
    /// The runner's random numbers are those of an all-zero position.
    [[nodiscard]] torch::Tensor masked_loss(const torch::Tensor& tokens,
                                            const torch::Tensor& real) const {
        const auto threshold = static_cast<std::uint32_t>(c_.mask_rate * 0x1p32);
        std::vector<std::int64_t> hidden;
        for (std::int64_t i = 0; i < tokens.numel(); ++i)
            if (kernels::random_word({}, {0, 0, 0, kRandomOpDropoutFirst}, i) < threshold &&
                real.reshape({-1})[i].item<double>() != 0)
                hidden.push_back(i);
        const torch::Tensor places = torch::tensor(hidden, torch::kLong);
        const std::int64_t mask = c_.mask_token == 0 ? c_.vocabulary - 1 : c_.mask_token;
        const torch::Tensor flat = tokens.reshape({-1});
        const torch::Tensor shown = flat.index_fill(0, places, mask).reshape(tokens.sizes());
        const torch::Tensor x = encoded(torch::embedding(at("token_embedding"), shown), real);
        torch::Tensor h = torch::gelu(linear(x.reshape({-1, c_.width}), "transform"), "tanh");
        h = norm(h, "transform_norm").index_select(0, places);
        const torch::Tensor head = at(c_.tied_embeddings ? "token_embedding" : "head");
        const torch::Tensor scores = h.matmul(head.t()) + at("head.bias");
        return torch::cross_entropy_loss(scores, flat.index_select(0, places));
    }

    ModelConfig c_;
    std::map<std::string, torch::Tensor> params_;
};

TrainConfig encoder_config(Task task) {
    TrainConfig config;
    config.batch = 4;
    config.model = {
        .vocabulary = 40, .context = 12, .layers = 2, .heads = 2, .width = 16, .init_std = 0.2};
    config.model.architecture = Architecture::kEncoder;
    config.model.task = task;
    config.model.hidden_width = 24;
    config.model.temperature = 0.2;
    config.optimizer.warmup_steps = 2;
    config.optimizer.total_steps = 20;
    config.optimizer.inner_warmup_steps = 3;
    if (task == Task::kClassify) config.model.classes = 40;  // every token is a class
    if (task == Task::kEmbed) config.model.passages = 2;
    if (task == Task::kRerank) config.model.passages = 3;
    return config;
}

class TorchEncoderParity : public ::testing::TestWithParam<Task> {};

TEST_P(TorchEncoderParity, LossAndEveryGradient) {
    for (const Pooling pooling : {Pooling::kFirst, Pooling::kMean}) {
        TrainConfig config = encoder_config(GetParam());
        config.model.pooling = pooling;
        config.model.tied_embeddings = pooling == Pooling::kFirst;
        testing::Both<TorchEncoder> both(config);
        both.run(0);
        testing::expect_equal_gradients(both);
    }
}

/// Of tokens that are drawn from six one in six is padding, wherever it stands.
TrainConfig padded_config(Task task) {
    TrainConfig config = encoder_config(task);
    config.model.vocabulary = 6;
    if (task == Task::kClassify) config.model.classes = 6;
    config.model.padding_token = 2;
    return config;
}

TEST_P(TorchEncoderParity, LossAndEveryGradientWithPadding) {
    for (const Pooling pooling : {Pooling::kFirst, Pooling::kMean}) {
        TrainConfig config = padded_config(GetParam());
        config.model.pooling = pooling;
        testing::Both<TorchEncoder> both(config);
        both.run(0);
        testing::expect_equal_gradients(both);
    }
}

TEST_P(TorchEncoderParity, TrainsAlikeWithPadding) {
    testing::expect_equal_training<TorchEncoder>(padded_config(GetParam()), "qkv.bias");
}

TEST_P(TorchEncoderParity, TrainsAlike) {
    // What is added to all keys changes no share of attention.
    testing::expect_equal_training<TorchEncoder>(encoder_config(GetParam()), "qkv.bias");
}

std::string name_of(const ::testing::TestParamInfo<Task>& test) {
    constexpr std::array kNames{"Masked", "Classify", "Embed", "Rerank"};
    return kNames.at(static_cast<std::size_t>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Tasks, TorchEncoderParity,
                         ::testing::Values(Task::kMasked, Task::kClassify, Task::kEmbed,
                                           Task::kRerank),
                         name_of);

}  // namespace
}  // namespace gym::program
