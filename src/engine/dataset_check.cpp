#include "gym/engine/dataset_check.hpp"

#include "gym/engine/batch.hpp"
#include "program_shape.hpp"

namespace gym::engine {

Status check_dataset(const program::Program& train, const blob::Dataset& dataset) {
    GYM_TRY(const WindowShape shape, window_shape(train));
    GYM_CHECK(check_vocabulary(train, dataset));
    for (const blob::Split split : {blob::Split::kTrain, blob::Split::kValidation}) {
        const auto starts = window_starts(dataset, split, shape.window_tokens, shape.stride);
        if (!starts.ok()) return starts.error().in("dataset");
        if (shape.classes == 0) continue;
        const auto tokens = dataset.tokens(split);
        for (std::uint64_t k = 0; k < starts->count; ++k)
            GYM_CHECK(check_class(
                shape, tokens[starts->first + k * starts->stride + shape.window_tokens]));
    }
    return {};
}

}  // namespace gym::engine
