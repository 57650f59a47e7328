// The peer of the training benchmark: the same GPT in libtorch FP32, eager, as one writes it with
// torch::nn, with AdamW and clipping.
#pragma once

#include <memory>
#include <span>

#include "gym/program/gpt.hpp"

namespace gym::bench {

class TorchGptPeer {
  public:
    TorchGptPeer(const program::TrainConfig& config, int threads);
    ~TorchGptPeer();
    /// One step. @param tokens (batch, context + 1). @return the loss.
    float step(std::span<const std::int32_t> tokens);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::bench
