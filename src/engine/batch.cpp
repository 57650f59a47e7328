#include "gym/engine/batch.hpp"

#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/positions.hpp"
#include "gym/kernels/philox.h"

namespace gym::engine {
namespace {

__extension__ using Uint128 = unsigned __int128;

/// Fills `batch` from windows of window_tokens + 1 tokens that start at `starts`.
Result<Batch> gather(const blob::Dataset& dataset, blob::Split split,
                     const std::vector<std::uint64_t>& starts, std::uint32_t window_tokens) {
    Batch batch;
    batch.windows = static_cast<std::uint32_t>(starts.size());
    batch.window_tokens = window_tokens;
    batch.tokens.reserve(starts.size() * (std::size_t{window_tokens} + 1));
    for (const std::uint64_t start : starts) {
        GYM_TRY(const auto window, dataset.window(split, start, window_tokens + 1));
        for (const std::uint32_t token : window)
            batch.tokens.push_back(static_cast<std::int32_t>(token));
    }
    const std::uint64_t dims[] = {starts.size(), std::uint64_t{window_tokens} + 1};
    batch.root = commit::tensor_root(commit::DType::kI32, dims,
                                     {reinterpret_cast<const std::uint8_t*>(batch.tokens.data()),
                                      batch.tokens.size() * sizeof(std::int32_t)});
    return batch;
}

Status check_shape(std::uint32_t windows, std::uint32_t window_tokens) {
    if (windows == 0 || window_tokens == 0)
        return fail(ErrorCode::kInvalidArgument, "a batch needs at least one window of one token");
    if (windows > kBatchWindowsMax || window_tokens > kWindowTokensMax)
        return fail(ErrorCode::kOutOfRange, "a batch of " + std::to_string(windows) +
                                                " windows of " + std::to_string(window_tokens) +
                                                " tokens is too large");
    return {};
}

}  // namespace

std::uint64_t window_start(const BatchKey& key, std::uint64_t step, std::uint32_t i,
                           std::uint64_t starts) {
    const kernels::RandomPosition position{key.round, key.slot, static_cast<std::uint32_t>(step),
                                           kRandomOpBatch};
    GYM_ASSERT(step < kUnitStepsMax && kernels::random_position_valid(position),
               "round, slot and step fit the random counter");
    const auto block =
        kernels::random_block(kernels::philox_key(key.job_seed.data.data()), position, i);
    const std::uint64_t word = block.word[0] | std::uint64_t{block.word[1]} << 32;
    return static_cast<std::uint64_t>(static_cast<Uint128>(word) * starts >> 64);
}

Result<WindowStarts> window_starts(const blob::Dataset& dataset, blob::Split split,
                                   std::uint32_t window_tokens, std::uint32_t stride) {
    WindowStarts starts;
    starts.stride = stride;
    const std::uint64_t begins =
        split == blob::Split::kValidation ? dataset.tokens(blob::Split::kTrain).size() : 0;
    starts.first = (stride - begins % stride) % stride;
    const std::uint64_t length = std::uint64_t{window_tokens} + 1;
    // The windows that fit, as if the split began with a row.
    GYM_TRY(const std::uint64_t count, dataset.window_count(split, starts.first + length));
    starts.count = (count - 1) / stride + 1;
    return starts;
}

Result<Batch> training_batch(const blob::Dataset& dataset, const BatchKey& key, std::uint64_t step,
                             std::uint32_t windows, std::uint32_t window_tokens,
                             std::uint32_t stride) {
    GYM_CHECK(check_shape(windows, window_tokens));
    GYM_TRY(const WindowStarts all,
            window_starts(dataset, blob::Split::kTrain, window_tokens, stride));
    std::vector<std::uint64_t> starts(windows);
    for (std::uint32_t i = 0; i < windows; ++i)
        starts[i] = all.first + window_start(key, step, i, all.count) * all.stride;
    return gather(dataset, blob::Split::kTrain, starts, window_tokens);
}

Result<Batch> validation_batch(const blob::Dataset& dataset, std::uint32_t first,
                               std::uint32_t windows, std::uint32_t total,
                               std::uint32_t window_tokens, std::uint32_t stride,
                               blob::Split split) {
    GYM_CHECK(check_shape(windows, window_tokens));
    GYM_TRY(const WindowStarts all, window_starts(dataset, split, window_tokens, stride));
    std::vector<std::uint64_t> starts(windows);
    for (std::uint32_t i = 0; i < windows; ++i) {
        const auto spread =
            static_cast<std::uint64_t>(static_cast<Uint128>(first + i) * all.count / total);
        starts[i] = all.first + spread * all.stride;
        if (spread >= all.count)
            return fail(ErrorCode::kOutOfRange, "validation window " + std::to_string(first + i) +
                                                    " of " + std::to_string(total));
    }
    return gather(dataset, split, starts, window_tokens);
}

}  // namespace gym::engine
