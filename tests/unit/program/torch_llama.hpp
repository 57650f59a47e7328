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
          size_(config.head_width == 0 ? config.width / config.heads : config.head_width),
          params_(std::move(params)) {}

    /// @param batch i64 (windows, context + 1).
    [[nodiscard]] torch::Tensor loss(const torch::Tensor& batch) const {
        torch::Tensor x = rows(batch.slice(1, 0, c_.context));
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
    [[nodiscard]] torch::Tensor rows(const torch::Tensor& tokens) const {
        torch::Tensor x = torch::embedding(at("token_embedding"), tokens);
        for (std::uint32_t layer = 0; layer < c_.layers; ++layer) {
            const std::string name = "blocks." + std::to_string(layer);
            x = x + attention(norm(x, name + ".norm1"), unread(tokens, c_.document_separator),
                              name + ".attention");
            x = x + mlp(norm(x, name + ".norm2"), name + ".mlp");
        }
        return norm(x, "final_norm");
    }
    [[nodiscard]] torch::Tensor norm(const torch::Tensor& x, const std::string& name) const {
        const torch::Tensor square = x.square().mean(-1, true);
        return x * torch::rsqrt(square + c_.layernorm_epsilon) * at(name + ".gamma");
    }
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
        const torch::Tensor y = x.matmul(at(name + ".weight").t());
        const auto bias = params_.find(name + ".bias");
        return bias == params_.end() ? y : y + bias->second;
    }
    [[nodiscard]] torch::Tensor mlp(const torch::Tensor& x, const std::string& name) const {
        const torch::Tensor gate = torch::silu(linear(x, name + ".gate"));
        return linear(gate * linear(x, name + ".up"), name + ".down");
    }
    /// Of Transformers' Llama 3: wavelengths that are long against the original context are
    /// stretched, short ones kept.
    [[nodiscard]] torch::Tensor scaled(const torch::Tensor& frequencies) const {
        const RopeScaling& s = c_.rope_scaling;
        if (s.type == RopeScaling::Type::kNone) return frequencies;
        if (s.type == RopeScaling::Type::kLinear) return frequencies / s.factor;
        const double original = s.original_context;
        const torch::Tensor waves = 2 * M_PI / frequencies;
        const torch::Tensor smooth = (original / waves - s.low_frequency_factor) /
                                     (s.high_frequency_factor - s.low_frequency_factor);
        const torch::Tensor between = (1 - smooth) * frequencies / s.factor + smooth * frequencies;
        const torch::Tensor slow = waves > original / s.low_frequency_factor;
        const torch::Tensor fast = waves < original / s.high_frequency_factor;
        return torch::where(slow, frequencies / s.factor, torch::where(fast, frequencies, between));
    }
    /// @param x (windows, heads, context, size).
    [[nodiscard]] torch::Tensor turned(const torch::Tensor& x) const {
        const std::int64_t half = size_ / 2;
        const auto f64 = torch::kFloat64;
        const torch::Tensor exponents = torch::arange(half, f64) / static_cast<double>(half);
        const torch::Tensor frequencies = scaled(torch::pow(c_.rope_theta, -exponents));
        const torch::Tensor angles = torch::arange(x.size(2), f64).unsqueeze(1) * frequencies;
        const torch::Tensor first = x.slice(3, 0, half), second = x.slice(3, half);
        return torch::cat({first * angles.cos() - second * angles.sin(),
                           second * angles.cos() + first * angles.sin()},
                          3);
    }
    /// (windows, context, heads, size), each head normalised by itself where it is asked for.
    [[nodiscard]] torch::Tensor headed(const torch::Tensor& x, const std::string& name,
                                       bool normed) const {
        const torch::Tensor y = linear(x, name).reshape({x.size(0), x.size(1), -1, size_});
        return normed ? norm(y, name + "_norm") : y;
    }
    [[nodiscard]] torch::Tensor attention(const torch::Tensor& x, const torch::Tensor& hidden,
                                          const std::string& name) const {
        const std::int64_t windows = x.size(0), context = x.size(1), heads = c_.heads;
        const torch::Tensor parts =
            (c_.qk_norm ? torch::cat({headed(x, name + ".q", true), headed(x, name + ".k", true),
                                      headed(x, name + ".v", false)},
                                     2)
                        : linear(x, name + ".qkv").reshape({windows, context, -1, size_}))
                .permute({0, 2, 1, 3});
        const std::int64_t group = heads / kv_heads_;
        const torch::Tensor q = turned(parts.slice(1, 0, heads));
        const torch::Tensor k = turned(parts.slice(1, heads, heads + kv_heads_));
        const torch::Tensor v = parts.slice(1, heads + kv_heads_);
        torch::Tensor scores = q.matmul(k.repeat_interleave(group, 1).transpose(-1, -2)) /
                               std::sqrt(static_cast<double>(size_));
        scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
        const torch::Tensor o = torch::softmax(scores, -1).matmul(v.repeat_interleave(group, 1));
        return linear(o.permute({0, 2, 1, 3}).reshape({windows, context, heads * size_}),
                      name + ".out");
    }

    ModelConfig c_;
    std::int64_t kv_heads_, size_;
    std::map<std::string, torch::Tensor> params_;
};

}  // namespace gym::program::testing
