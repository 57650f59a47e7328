#pragma once

#include <map>
#include <string>
#include <vector>

#include "gym/program/train_program.hpp"
#include "torch_compare.hpp"

namespace gym::program::testing {

/// The GPT of train_program.hpp written in libtorch by the textbook, in FP64, with parameters by
/// name.
class TorchGpt {
  public:
    TorchGpt(const ModelConfig& config, std::map<std::string, torch::Tensor> params)
        : config_(config), params_(std::move(params)) {}

    /// @param batch i64 (windows, context + 1).
    [[nodiscard]] torch::Tensor logits(const torch::Tensor& batch) const {
        const torch::Tensor tokens = batch.slice(1, 0, config_.context);
        torch::Tensor x =
            torch::embedding(at("token_embedding"), tokens) + at("position_embedding");
        for (std::uint32_t layer = 0; layer < config_.layers; ++layer)
            x = block(x, unread(tokens, config_.document_separator),
                      "blocks." + std::to_string(layer));
        x = norm(x, "final_norm");
        return x.matmul(at(config_.tied_embeddings ? "token_embedding" : "head").t());
    }
    [[nodiscard]] torch::Tensor loss(const torch::Tensor& batch) const {
        const torch::Tensor targets = batch.slice(1, 1, config_.context + 1).reshape({-1});
        return torch::cross_entropy_loss(logits(batch).reshape({-1, config_.vocabulary}), targets);
    }
    [[nodiscard]] const torch::Tensor& at(const std::string& name) const {
        return params_.at(name);
    }
    [[nodiscard]] const std::map<std::string, torch::Tensor>& params() const { return params_; }

  private:
    [[nodiscard]] torch::Tensor norm(const torch::Tensor& x, const std::string& name) const {
        return torch::layer_norm(x, {config_.width}, at(name + ".gamma"), at(name + ".beta"),
                                 config_.layernorm_epsilon);
    }
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
        const torch::Tensor y = x.matmul(at(name + ".weight").t());
        return config_.bias ? y + at(name + ".bias") : y;
    }
    [[nodiscard]] torch::Tensor attention(const torch::Tensor& x,
                                          const torch::Tensor& hidden) const {
        const std::int64_t windows = x.size(0), context = x.size(1), heads = config_.heads;
        const std::int64_t size = config_.width / config_.heads;
        const torch::Tensor parts =
            x.reshape({windows, context, 3, heads, size}).permute({2, 0, 3, 1, 4});
        torch::Tensor scores =
            parts[0].matmul(parts[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(size));
        scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
        const torch::Tensor o = torch::softmax(scores, -1).matmul(parts[2]);
        return o.permute({0, 2, 1, 3}).reshape({windows, context, config_.width});
    }
    [[nodiscard]] torch::Tensor block(torch::Tensor x, const torch::Tensor& hidden,
                                      const std::string& name) const {
        torch::Tensor h = linear(norm(x, name + ".norm1"), name + ".attention.qkv");
        x = x + linear(attention(h, hidden), name + ".attention.out");
        h = torch::gelu(linear(norm(x, name + ".norm2"), name + ".mlp.up"), "tanh");
        return x + linear(h, name + ".mlp.down");
    }

    ModelConfig config_;
    std::map<std::string, torch::Tensor> params_;
};

}  // namespace gym::program::testing
