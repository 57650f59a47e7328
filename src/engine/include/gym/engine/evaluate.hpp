#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"

namespace gym::engine {

struct Evaluation {
    float mean_loss = 0;      ///< nats per token (per row of a classifier), exact mean over batches
    float perplexity = 0;     ///< exp(mean_loss), the exact program of docs/NUMERICS.md
    Digest program_root;      ///< of the evaluation program
    Digest root;              ///< of everything that decides the figures, and of the figures
    bool classifies = false;  ///< a window is a row, and its class what is predicted
    std::uint32_t windows = 0;
    std::uint64_t tokens = 0;
    /// Of a classifier: rows whose largest logit, the first of equal ones, is that of their class.
    /// Exact; no part of the root.
    std::uint32_t correct = 0;
    /// Of each batch its root and its loss, as of a step that changes no state. No part of the
    /// root, which has the losses.
    std::vector<StepRecord> records;
};

/// Told after every batch how many windows are done; false ends the evaluation.
using EvaluationProgress =
    std::function<bool(std::uint32_t done, std::uint32_t windows, float batch_loss)>;

/// Mean validation loss over about `windows_max` windows (whole batches, at least one, and no more
/// windows than `split` has places for) spread evenly over `split`. The window set depends on the
/// dataset, `windows_max` and `split` alone, so losses of different rounds compare. `train` may be
/// its evaluation program as well; `base` holds its parameters (a training state works).
/// @errors kOutOfRange if the validation split is shorter than one window; kShapeMismatch;
/// kCancelled when `progress` says so.
[[nodiscard]] Result<Evaluation> evaluate(const program::Program& train, const State& base,
                                          const blob::Dataset& dataset, std::uint32_t windows_max,
                                          const EngineOptions& options = {},
                                          const EvaluationProgress& progress = {},
                                          blob::Split split = blob::Split::kValidation);

/// windows_max for an evaluation of exactly `batches` batches, if the split has places for them.
/// @errors kOutOfRange for none, or for more windows than 2^32; those of the program's shape.
[[nodiscard]] Result<std::uint32_t> evaluation_windows(const program::Program& train,
                                                       std::uint32_t batches);

}  // namespace gym::engine
