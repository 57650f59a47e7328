// The peer of the training benchmarks: the same GPT in libtorch FP32, eager, as one writes it with
// torch::nn, with AdamW and clipping. Embeddings are tied.
#pragma once

#include <memory>
#include <span>

#include "gym/engine/state.hpp"
#include "gym/program/train_program.hpp"

namespace gym::bench {

class TorchGptPeer {
  public:
    /// Random initial weights and the peak learning rate, unless told otherwise below.
    TorchGptPeer(const program::TrainConfig& config, int threads);
    ~TorchGptPeer();

    /// Takes the parameters of a train program's state. Ends the process if one is missing here or
    /// there, or has other dims: nothing could be compared.
    void load(const engine::State& state);
    /// Rounds every parameter to TF32 (11 significant bits), once: another start, as close to the
    /// first as such hardware could tell.
    void round_parameters();

    /// From now on the gradient of the logits enters its two products as a Q14 product sees it, one
    /// exponent for 1024 elements (docs/NUMERICS.md); the products themselves stay FP32.
    void quantise_logit_gradients();

    /// From now on the forward pass runs under libtorch's autocast to bf16, and the backward pass
    /// follows it; weights and optimizer stay FP32.
    void autocast_to_bf16();

    void set_learning_rate(double rate);
    /// One step. @param tokens (batch, context + 1). @return the loss before it.
    float step(std::span<const std::int32_t> tokens);
    /// The loss on `tokens`, without a step.
    [[nodiscard]] float loss(std::span<const std::int32_t> tokens) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::bench
