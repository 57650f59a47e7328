#include "gym/engine/step_inputs.hpp"

#include <algorithm>

#include "gym/blob/dataset.hpp"
#include "gym/kernels/philox.h"
#include "program_shape.hpp"

namespace gym::engine {
namespace {

template <class T>
ByteView bytes_of(const T& values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()),
            values.size() * sizeof(values[0])};
}

}  // namespace

Result<BatchShape> batch_shape(const program::Program& program) {
    GYM_TRY(const WindowShape shape, window_shape(program));
    return BatchShape{shape.windows, shape.window_tokens, shape.stride, shape.classes,
                      vocabulary(program)};
}

std::vector<NamedTensorView> StepInputs::views(const program::Program& program) const {
    std::vector<NamedTensorView> inputs{{program::kBatchInput, bytes_of(batch.tokens)}};
    const auto has = [&](std::string_view name) {
        return program.find_slot(name) != program::kNoSlot;
    };
    if (has(program::kClockInput)) inputs.push_back({program::kClockInput, bytes_of(clock)});
    if (has(program::kRandomInput)) inputs.push_back({program::kRandomInput, bytes_of(random)});
    return inputs;
}

Result<StepInputs> step_inputs(const program::Program& program, const blob::Dataset& dataset,
                               const BatchKey& key, std::uint32_t steps, std::uint64_t step) {
    GYM_TRY(const WindowShape shape, window_shape(program));
    StepInputs inputs;
    GYM_TRY(inputs.batch,
            training_batch(dataset, key, step, shape.windows, shape.window_tokens, shape.stride));
    GYM_CHECK(check_classes(shape, inputs.batch.tokens));
    const std::uint64_t job_step = key.round * steps + step;
    // The clock only looks up tables, whose indices are clamped, so saturating it changes nothing.
    constexpr std::uint64_t kClockMax = 0x7FFFFFFF;
    inputs.clock = {static_cast<std::int32_t>(std::min(job_step, kClockMax)),
                    static_cast<std::int32_t>(step)};
    const auto words = kernels::philox_key(key.job_seed.data.data());
    inputs.random = {static_cast<std::int32_t>(words.word[0]),
                     static_cast<std::int32_t>(words.word[1]), static_cast<std::int32_t>(key.round),
                     static_cast<std::int32_t>(key.slot), static_cast<std::int32_t>(step)};
    return inputs;
}

}  // namespace gym::engine
