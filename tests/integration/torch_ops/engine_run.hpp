#pragma once

// The engine's side: a GPT trained for a few steps, and everything that another implementation
// needs to do the same.

#include <cstdint>
#include <string>
#include <vector>

#include "gym/engine/state.hpp"
#include "gym/program/train_program.hpp"

namespace gym::testing {

struct EngineRun {
    program::TrainConfig config;
    program::Program program;
    engine::State initial;
    std::vector<std::vector<std::int32_t>> batches;  ///< per step: (batch, context + 1)
    std::vector<float> rates;                        ///< learning rate of each step
    std::vector<std::uint32_t> loss_bits;
    std::vector<std::uint32_t> grad_norm_bits;
    engine::State trained;  ///< the training state at the end
};

/// Embeddings, layernorm, products, attention, GELU, cross-entropy, clipping and AdamW: the ops of
/// the library, `steps` times.
EngineRun run_engine(std::uint32_t steps);

/// The weight decay that the program applies to a parameter.
float weight_decay(const program::Program& program, const std::string& param);

/// The parameters' names, in slot order.
std::vector<std::string> param_names(const program::Program& program);

}  // namespace gym::testing
