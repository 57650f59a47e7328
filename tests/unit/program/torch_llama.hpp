#pragma once

#include <cmath>
#include <map>
#include <string>

#include "gym/program/train_program.hpp"
#include "torch_compare.hpp"

namespace gym::program::testing {

/// The Llama of train_program.hpp written in libtorch by the textbook, in FP64, with parameters by
/// name.
class TorchLlama {
  public:
    TorchLlama(const ModelConfig& config, std::map<std::string, torch::Tensor> params)
        : c_(config),
          kv_heads_(config.kv_heads == 0 ? config.heads : config.kv_heads),
          size_(config.width / config.heads),
          params_(std::move(params)) {}

    /// @param batch i64 (windows, context + 1).
    [[nodiscard]] torch::Tensor loss(const torch::Tensor& batch) const {
        torch::Tensor x = hidden(batch.slice(1, 0, c_.context));
        if (c_.classes != 0) {
            const torch::Tensor logits = x.select(1, c_.context - 1).matmul(at("head").t());
            return torch::cross_entropy_loss(logits, batch.select(1, c_.context));
        }
        const torch::Tensor head = at(c_.tied_embeddings ? "token_embedding" : "head");
        return torch::cross_entropy_loss(x.matmul(head.t()).reshape({-1, c_.vocabulary}),
                                         batch.slice(1, 1).reshape({-1}));
    }
    [[nodiscard]] const std::map<std::string, torch::Tensor>& params() const { return params_; }

  private:
    [[nodiscard]] const torch::Tensor& at(const std::string& name) const {
        return params_.at(name);
    }
    [[nodiscard]] torch::Tensor hidden(const torch::Tensor& tokens) const {
        torch::Tensor x = torch::embedding(at("token_embedding"), tokens);
        for (std::uint32_t layer = 0; layer < c_.layers; ++layer) {
            const std::string name = "blocks." + std::to_string(layer);
            x = x + attention(norm(x, name + ".norm1"), name + ".attention");
            x = x + mlp(norm(x, name + ".norm2"), name + ".mlp");
        }
        return norm(x, "final_norm");
    }
    [[nodiscard]] torch::Tensor norm(const torch::Tensor& x, const std::string& name) const {
        const torch::Tensor square = x.square().mean(-1, true);
        return x * torch::rsqrt(square + c_.layernorm_epsilon) * at(name + ".gamma");
    }
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
        return x.matmul(at(name + ".weight").t());
    }
    [[nodiscard]] torch::Tensor mlp(const torch::Tensor& x, const std::string& name) const {
        const torch::Tensor gate = torch::silu(linear(x, name + ".gate"));
        return linear(gate * linear(x, name + ".up"), name + ".down");
    }
    /// @param x (windows, heads, context, size).
    [[nodiscard]] torch::Tensor turned(const torch::Tensor& x) const {
        const std::int64_t half = size_ / 2;
        const auto f64 = torch::kFloat64;
        const torch::Tensor exponents = torch::arange(half, f64) / static_cast<double>(half);
        const torch::Tensor frequencies = torch::pow(c_.rope_theta, -exponents);
        const torch::Tensor angles = torch::arange(x.size(2), f64).unsqueeze(1) * frequencies;
        const torch::Tensor first = x.slice(3, 0, half), second = x.slice(3, half);
        return torch::cat({first * angles.cos() - second * angles.sin(),
                           second * angles.cos() + first * angles.sin()},
                          3);
    }
    [[nodiscard]] torch::Tensor attention(const torch::Tensor& x, const std::string& name) const {
        const std::int64_t windows = x.size(0), context = x.size(1), heads = c_.heads;
        const torch::Tensor parts =
            linear(x, name + ".qkv").reshape({windows, context, -1, size_}).permute({0, 2, 1, 3});
        const std::int64_t group = heads / kv_heads_;
        const torch::Tensor q = turned(parts.slice(1, 0, heads));
        const torch::Tensor k = turned(parts.slice(1, heads, heads + kv_heads_));
        const torch::Tensor v = parts.slice(1, heads + kv_heads_);
        torch::Tensor scores = q.matmul(k.repeat_interleave(group, 1).transpose(-1, -2)) /
                               std::sqrt(static_cast<double>(size_));
        const torch::Tensor future = torch::ones({context, context}, torch::kBool).triu(1);
        scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
        const torch::Tensor o = torch::softmax(scores, -1).matmul(v.repeat_interleave(group, 1));
        return linear(o.permute({0, 2, 1, 3}).reshape({windows, context, c_.width}), name + ".out");
    }

    ModelConfig c_;
    std::int64_t kv_heads_, size_;
    std::map<std::string, torch::Tensor> params_;
};

}  // namespace gym::program::testing
