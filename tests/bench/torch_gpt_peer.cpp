#include "torch_gpt_peer.hpp"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "bench_support.hpp"

namespace gym::bench {
namespace {

namespace nn = torch::nn;
using program::ModelConfig;

struct BlockImpl : nn::Module {
    explicit BlockImpl(const ModelConfig& config) : heads(config.heads) {
        const std::int64_t width = config.width, hidden = width * config.mlp_ratio;
        const auto linear = [&](std::int64_t from, std::int64_t to) {
            return nn::Linear(nn::LinearOptions(from, to).bias(config.bias));
        };
        const auto layer_norm = nn::LayerNormOptions({width}).eps(config.layernorm_epsilon);
        norm1 = register_module("norm1", nn::LayerNorm(layer_norm));
        norm2 = register_module("norm2", nn::LayerNorm(layer_norm));
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

/// The values that the operand of a Q14 product keeps of `rows`: multiples of 2^(e - 13), with e
/// the exponent of the largest of a block of 1024.
torch::Tensor quantise_q14(const torch::Tensor& rows) {
    constexpr std::int64_t kBlock = 1024;
    const std::int64_t length = rows.size(1), block = std::min(length, kBlock);
    const auto padded = torch::constant_pad_nd(rows, {0, (block - length % block) % block});
    const auto blocks = padded.reshape({-1, block});
    const auto largest = blocks.abs().amax(-1, true).clamp_min(std::numeric_limits<float>::min());
    const auto scale = torch::exp2(12 - torch::floor(torch::log2(largest)));
    return (torch::round(blocks * scale) / scale).view_as(padded).slice(1, 0, length);
}

struct ModelImpl : nn::Module {
    explicit ModelImpl(const ModelConfig& config) {
        tokens = register_module("tokens", nn::Embedding(config.vocabulary, config.width));
        positions = register_module("positions", nn::Embedding(config.context, config.width));
        blocks = register_module("blocks", nn::Sequential());
        for (std::uint32_t i = 0; i < config.layers; ++i)
            blocks->push_back(Block(config));
        norm = register_module(
            "norm",
            nn::LayerNorm(nn::LayerNormOptions({config.width}).eps(config.layernorm_epsilon)));
        const torch::NoGradGuard guard;
        for (torch::Tensor& p : parameters()) {
            if (p.dim() == 2) p.normal_(0, config.init_std);
        }
    }
    torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) {
        auto x = tokens->forward(input) + positions->forward(torch::arange(input.size(1)));
        x = norm->forward(blocks->forward(x));
        const auto logits = unembed(x.view({-1, x.size(-1)}));
        return torch::cross_entropy_loss(logits.view({-1, logits.size(-1)}).to(torch::kFloat),
                                         target.reshape({-1}));
    }
    /// Logits by the tied embedding.
    torch::Tensor unembed(const torch::Tensor& x) {
        if (!quantises_logit_gradients) return torch::linear(x, tokens->weight);
        // Two products with the same value, one for each gradient, which see other blocks of it.
        const auto for_input = torch::linear(x, tokens->weight.detach());
        const auto for_weight = torch::linear(x.detach(), tokens->weight);
        if (for_input.requires_grad()) {
            for_input.register_hook([](const torch::Tensor& g) { return quantise_q14(g); });
            for_weight.register_hook(
                [](const torch::Tensor& g) { return quantise_q14(g.t().contiguous()).t(); });
        }
        return for_input + (for_weight - for_weight.detach());
    }
    bool quantises_logit_gradients = false;
    nn::Embedding tokens{nullptr}, positions{nullptr};
    nn::Sequential blocks{nullptr};
    nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Model);

/// "blocks.0.attention.qkv.weight" of a train program is "blocks.0.qkv.weight" here.
std::string peer_name(std::string name) {
    const auto replace = [&](const std::string& from, const std::string& to) {
        if (const auto at = name.find(from); at != std::string::npos)
            name.replace(at, from.size(), to);
    };
    replace("token_embedding", "tokens.weight");
    replace("position_embedding", "positions.weight");
    replace("final_norm", "norm");
    replace(".attention.", ".");
    replace(".mlp.", ".");
    replace(".gamma", ".weight");
    replace(".beta", ".bias");
    return name;
}

/// Linear layers' weights decay; embeddings, norms and biases do not.
std::vector<torch::optim::OptimizerParamGroup> groups_of(
    const Model& model, const program::OptimizerConfig& optimizer) {
    std::vector<torch::Tensor> decaying, others;
    for (const auto& item : model->named_parameters()) {
        const bool embedding = item.key() == "tokens.weight" || item.key() == "positions.weight";
        (item.value().dim() == 2 && !embedding ? decaying : others).push_back(item.value());
    }
    const auto options = [&](double weight_decay) {
        return std::make_unique<torch::optim::AdamWOptions>(
            torch::optim::AdamWOptions(optimizer.learning_rate)
                .betas({optimizer.beta1, optimizer.beta2})
                .eps(optimizer.epsilon)
                .weight_decay(weight_decay));
    };
    return {{decaying, options(optimizer.weight_decay)}, {others, options(0)}};
}

[[noreturn]] void refuse(const std::string& reason) {
    std::fprintf(stderr, "the libtorch peer does not have the program's parameters: %s\n",
                 reason.c_str());
    std::exit(1);
}

}  // namespace

struct TorchGptPeer::Impl {
    explicit Impl(const program::TrainConfig& c)
        : config(c),
          model(c.model),
          optimizer(groups_of(model, c.optimizer),
                    torch::optim::AdamWOptions(c.optimizer.learning_rate)) {}
    [[nodiscard]] torch::Tensor loss(std::span<const std::int32_t> tokens) {
        const std::int64_t length = config.model.context + 1;
        const auto batch = torch::tensor(at::ArrayRef<std::int32_t>(tokens.data(), tokens.size()))
                               .to(torch::kLong)
                               .view({-1, length});
        const auto input = batch.slice(1, 0, length - 1), target = batch.slice(1, 1, length);
        if (!autocasts) return model->loss(input, target);
        at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
        at::autocast::set_cpu_enabled(true);
        auto result = model->loss(input, target);
        at::autocast::clear_cache();  // of weights in bf16, which the next step makes anew
        at::autocast::set_cpu_enabled(false);
        return result;
    }
    program::TrainConfig config;
    bool autocasts = false;
    Model model;
    torch::optim::AdamW optimizer;
};

TorchGptPeer::TorchGptPeer(const program::TrainConfig& config, int threads) {
    if (!config.model.tied_embeddings) refuse("its embeddings are tied, the program's are not");
    torch::set_num_threads(threads);
    set_peer_threads(threads);
    impl_ = std::make_unique<Impl>(config);
}
TorchGptPeer::~TorchGptPeer() = default;

void TorchGptPeer::load(const engine::State& state) {
    const torch::NoGradGuard guard;
    auto params = impl_->model->named_parameters();
    std::size_t loaded = 0;
    for (const engine::StateTensor& tensor : state.tensors) {
        torch::Tensor* const param = params.find(peer_name(tensor.name));
        if (param == nullptr) continue;  // the optimizer's
        const auto size = static_cast<std::size_t>(param->numel()) * sizeof(float);
        const bool same_dims =
            std::equal(tensor.dims.begin(), tensor.dims.end(), param->sizes().begin(),
                       param->sizes().end(), [](std::uint64_t ours, std::int64_t peers) {
                           return ours == static_cast<std::uint64_t>(peers);
                       });
        if (!same_dims || tensor.bytes.size() != size) refuse(tensor.name + " has other dims");
        std::memcpy(param->data_ptr<float>(), tensor.bytes.data(), size);
        ++loaded;
    }
    if (loaded != params.size())
        refuse(std::to_string(loaded) + " of " + std::to_string(params.size()) + " were found");
}

void TorchGptPeer::round_parameters() {
    constexpr int kMantissaBits = 11;
    const torch::NoGradGuard guard;
    for (const torch::Tensor& param : impl_->model->parameters()) {
        float* const values = param.data_ptr<float>();
        for (std::int64_t i = 0; i < param.numel(); ++i) {
            int exponent = 0;
            const float mantissa = std::frexp(values[i], &exponent);
            values[i] = std::ldexp(std::nearbyint(std::ldexp(mantissa, kMantissaBits)),
                                   exponent - kMantissaBits);
        }
    }
}

void TorchGptPeer::quantise_logit_gradients() {
    impl_->model->quantises_logit_gradients = true;
}

void TorchGptPeer::autocast_to_bf16() {
    impl_->autocasts = true;
}

void TorchGptPeer::set_learning_rate(double rate) {
    for (auto& group : impl_->optimizer.param_groups())
        static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
}

float TorchGptPeer::step(std::span<const std::int32_t> tokens) {
    impl_->optimizer.zero_grad();
    const auto loss = impl_->loss(tokens);
    loss.backward();
    nn::utils::clip_grad_norm_(impl_->model->parameters(), impl_->config.optimizer.clip_norm);
    impl_->optimizer.step();
    return loss.item<float>();
}

float TorchGptPeer::loss(std::span<const std::int32_t> tokens) const {
    const torch::NoGradGuard guard;
    return impl_->loss(tokens).item<float>();
}

}  // namespace gym::bench
