#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/state.hpp"

namespace gym::blob {
class Dataset;
}

namespace gym::engine {

struct Evaluation {
    float mean_loss = 0;      ///< nats per token (per row of a classifier), exact mean over batches
    float perplexity = 0;     ///< exp(mean_loss), the exact program of docs/NUMERICS.md
    Digest program_root;      ///< of the evaluation program
    Digest root;              ///< of everything that decides the figures, and of the figures
    bool classifies = false;  ///< a window is a row, and its class what is predicted
    std::uint32_t windows = 0;
    std::uint64_t tokens = 0;
};

/// Mean validation loss over about `windows_max` windows (whole batches, at least one) spread
/// evenly over the validation split. The window set depends on the dataset and `windows_max` alone,
/// so losses of different rounds compare. `evaluation` is the program's evaluation program; `base`
/// holds its parameters (a training state works).
/// @errors kOutOfRange if the validation split is shorter than one window; kShapeMismatch.
[[nodiscard]] Result<Evaluation> evaluate(const program::Program& train, const State& base,
                                          const blob::Dataset& dataset, std::uint32_t windows_max,
                                          const EngineOptions& options = {});

}  // namespace gym::engine
