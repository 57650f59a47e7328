#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/state.hpp"

namespace gym::engine {

struct GenerateOptions {
    std::uint32_t tokens = 200;  ///< how many to append
    double temperature = 0.8;    ///< 0: always the most likely token
    std::uint32_t top_k = 0;     ///< sample among the k most likely; 0: all
    Digest seed;                 ///< Philox key
    EngineOptions engine;
    /// Whether a token may be sampled, such as whether the tokenizer has it; empty: every one.
    std::function<bool(std::int32_t token)> permits = {};
};

/// Continues `prompt` token by token. `train` is the job's program. Not part of any commitment;
/// still the same for every thread count and ISA level. @return the new tokens alone.
/// @errors kInvalidArgument (empty prompt, token outside the vocabulary, no token permitted),
/// kShapeMismatch; kMalformed if the state makes every logit NaN or infinite.
[[nodiscard]] Result<std::vector<std::int32_t>> generate(const program::Program& train,
                                                         const State& base,
                                                         std::span<const std::int32_t> prompt,
                                                         const GenerateOptions& options = {});

/// The scores of the next token after each token of `text`, in one run of the model: at most its
/// context of tokens. @return (tokens, vocabulary), row-major. @errors as generate(); kOutOfRange
/// for a text longer than the context.
[[nodiscard]] Result<std::vector<float>> logits_of(const program::Program& train, const State& base,
                                                   std::span<const std::int32_t> text,
                                                   const EngineOptions& options = {});

}  // namespace gym::engine
