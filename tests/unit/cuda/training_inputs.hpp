#pragma once

#include <gtest/gtest.h>

#include <array>

#include "gym/engine/batch.hpp"
#include "gym/engine/engine.hpp"
#include "small_model.hpp"

namespace gym::engine::testing {

/// The inputs of step `step` of a unit that starts the job.
struct TrainingInputs {
    Batch batch;
    std::array<std::int32_t, 2> clock;
    std::array<std::int32_t, program::kRandomWords> random{1, 2, 0, 0, 0};
    bool has_random = false;

    TrainingInputs(const blob::Dataset& dataset, const program::TrainConfig& config,
                   std::uint64_t step)
        : clock{static_cast<std::int32_t>(step), static_cast<std::int32_t>(step)} {
        auto made = training_batch(dataset, {seed_of("device"), 0, 0}, step, config.batch,
                                   config.model.context);
        EXPECT_TRUE(made.ok());
        batch = std::move(made).value();
        has_random = config.model.dropout != 0;
        random.back() = static_cast<std::int32_t>(step);
    }
    [[nodiscard]] std::vector<NamedTensorView> views() const {
        const auto bytes = [](const auto& values) {
            return ByteView(reinterpret_cast<const std::uint8_t*>(values.data()),
                            values.size() * sizeof values[0]);
        };
        std::vector<NamedTensorView> views{{program::kBatchInput, bytes(batch.tokens)},
                                           {program::kClockInput, bytes(clock)}};
        if (has_random) views.push_back({program::kRandomInput, bytes(random)});
        return views;
    }
};

}  // namespace gym::engine::testing
