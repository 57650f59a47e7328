#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/engine/batch.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"

namespace gym::blob {
class Dataset;
}

/// Inputs of a train program at a step: a pure function of program, dataset and unit.
namespace gym::engine {

/// Shape and kind of a program's batch.
struct BatchShape {
    std::uint32_t windows = 0;
    std::uint32_t window_tokens = 0;  ///< a window has one token more
    std::uint32_t stride = 1;         ///< windows begin at multiples of it
    std::uint32_t classes = 0;        ///< of a classifier: the last token of a window is below it
    std::uint32_t vocabulary = 0;     ///< tokens that the model knows; 0 if it cannot be seen
};
/// @errors kInvalidArgument if the program has no input "batch" [windows, tokens + 1].
[[nodiscard]] Result<BatchShape> batch_shape(const program::Program& program);

struct StepInputs {
    Batch batch;
    std::array<std::int32_t, 2> clock{};
    std::array<std::int32_t, program::kRandomWords> random{};

    /// Those that `program` has, borrowed, by name.
    [[nodiscard]] std::vector<NamedTensorView> views(const program::Program& program) const;
};

/// @param steps of the unit: the job's clock is round * steps + step.
/// @errors kInvalidArgument: not a train program, the dataset is shorter than one window, or holds
/// a class that the model does not have.
[[nodiscard]] Result<StepInputs> step_inputs(const program::Program& program,
                                             const blob::Dataset& dataset, const BatchKey& key,
                                             std::uint32_t steps, std::uint64_t step);

}  // namespace gym::engine
