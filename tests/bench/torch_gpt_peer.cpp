#include "torch_gpt_peer.hpp"

#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "bench_support.hpp"

namespace gym::bench {
namespace {

namespace nn = torch::nn;
using program::GptConfig;

struct BlockImpl : nn::Module {
    explicit BlockImpl(const GptConfig& config) : heads(config.heads) {
        const std::int64_t width = config.width, hidden = width * config.mlp_ratio;
        const auto linear = [&](std::int64_t from, std::int64_t to) {
            return nn::Linear(nn::LinearOptions(from, to).bias(config.bias));
        };
        norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
        norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
        qkv = register_module("qkv", linear(width, 3 * width));
        out = register_module("out", linear(width, width));
        up = register_module("up", linear(width, hidden));
        down = register_module("down", linear(hidden, width));
        const auto size = std::int64_t{config.context};
        future = register_buffer("future", torch::ones({size, size}, torch::kBool).triu(1));
    }
    torch::Tensor attention(const torch::Tensor& x) {
        const auto windows = x.size(0), context = x.size(1), width = x.size(2);
        const auto parts = qkv->forward(x).chunk(3, -1);
        const auto head = [&](const torch::Tensor& part) {
            return part.view({windows, context, heads, width / heads}).transpose(1, 2);
        };
        const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
        auto scores = head(parts[0]).matmul(head(parts[1]).transpose(-2, -1)) * scale;
        scores = scores.masked_fill(future, -std::numeric_limits<float>::infinity());
        const auto mixed = torch::softmax(scores, -1).matmul(head(parts[2]));
        return out->forward(mixed.transpose(1, 2).contiguous().view({windows, context, width}));
    }
    torch::Tensor forward(torch::Tensor x) {
        x = x + attention(norm1->forward(x));
        return x + down->forward(torch::gelu(up->forward(norm2->forward(x)), "tanh"));
    }
    std::int64_t heads;
    nn::LayerNorm norm1{nullptr}, norm2{nullptr};
    nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
    torch::Tensor future;
};
TORCH_MODULE(Block);

struct ModelImpl : nn::Module {
    explicit ModelImpl(const GptConfig& config) {
        tokens = register_module("tokens", nn::Embedding(config.vocabulary, config.width));
        positions = register_module("positions", nn::Embedding(config.context, config.width));
        blocks = register_module("blocks", nn::Sequential());
        for (std::uint32_t i = 0; i < config.layers; ++i)
            blocks->push_back(Block(config));
        norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({config.width})));
        const torch::NoGradGuard guard;
        for (torch::Tensor& p : parameters()) {
            if (p.dim() == 2) p.normal_(0, config.init_std);
        }
    }
    torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) {
        auto x = tokens->forward(input) + positions->forward(torch::arange(input.size(1)));
        x = norm->forward(blocks->forward(x));
        const auto logits = torch::linear(x, tokens->weight);  // tied
        return torch::cross_entropy_loss(logits.view({-1, logits.size(-1)}), target.reshape({-1}));
    }
    nn::Embedding tokens{nullptr}, positions{nullptr};
    nn::Sequential blocks{nullptr};
    nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Model);

}  // namespace

struct TorchGptPeer::Impl {
    explicit Impl(const program::TrainConfig& c)
        : config(c),
          model(c.model),
          optimizer(model->parameters(), torch::optim::AdamWOptions(c.optimizer.learning_rate)
                                             .betas({c.optimizer.beta1, c.optimizer.beta2})
                                             .eps(c.optimizer.epsilon)
                                             .weight_decay(c.optimizer.weight_decay)) {}
    program::TrainConfig config;
    Model model;
    torch::optim::AdamW optimizer;
};

TorchGptPeer::TorchGptPeer(const program::TrainConfig& config, int threads) {
    torch::set_num_threads(threads);
    set_peer_threads(threads);
    impl_ = std::make_unique<Impl>(config);
}
TorchGptPeer::~TorchGptPeer() = default;

float TorchGptPeer::step(std::span<const std::int32_t> tokens) {
    const std::int64_t length = impl_->config.model.context + 1;
    const auto batch = torch::tensor(at::ArrayRef<std::int32_t>(tokens.data(), tokens.size()))
                           .to(torch::kLong)
                           .view({-1, length});
    impl_->optimizer.zero_grad();
    const auto loss = impl_->model->loss(batch.slice(1, 0, length - 1), batch.slice(1, 1, length));
    loss.backward();
    nn::utils::clip_grad_norm_(impl_->model->parameters(), impl_->config.optimizer.clip_norm);
    impl_->optimizer.step();
    return loss.item<float>();
}

}  // namespace gym::bench
