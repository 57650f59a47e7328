#pragma once

// Our f32 tensors beside libtorch's FP64 ones.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gym/program/program.hpp"

namespace gym::program::testing {

inline std::vector<std::int64_t> torch_dims(const Dims& dims) {
    return {dims.begin(), dims.end()};
}

inline torch::Tensor to_torch(const std::vector<float>& values, const Dims& dims) {
    return torch::tensor(values).to(torch::kFloat64).reshape(torch_dims(dims));
}

inline torch::Tensor to_torch(const std::vector<std::int32_t>& values, const Dims& dims) {
    return torch::tensor(values).to(torch::kInt64).reshape(torch_dims(dims));
}

/// Normal values with the given deviation.
inline std::vector<float> normal_values(std::mt19937_64& rng, std::uint64_t count,
                                        float deviation) {
    std::normal_distribution<float> normal(0.0F, deviation);
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(rng);
    return values;
}

/// Where a token may not read another, of tokens (windows, context): the ones behind it and, with a
/// separator, those of the documents before its own. Bool (windows, 1, context, context).
inline torch::Tensor unread(const torch::Tensor& tokens, std::optional<std::uint32_t> separator) {
    const std::int64_t windows = tokens.size(0), context = tokens.size(1);
    torch::Tensor mask = torch::ones({windows, 1, context, context}, torch::kBool);
    for (std::int64_t window = 0; window < windows; ++window) {
        std::int64_t start = 0;
        for (std::int64_t i = 0; i < context; ++i) {
            mask[window][0][i].slice(0, start, i + 1).fill_(false);
            const auto token = tokens[window][i].item<std::int64_t>();
            if (separator && token == static_cast<std::int64_t>(*separator)) start = i + 1;
        }
    }
    return mask;
}

/// |ours - theirs| / |theirs|, over all elements.
inline void expect_close(const std::vector<float>& ours, const torch::Tensor& theirs,
                         double tolerance, const std::string& what) {
    const torch::Tensor want = theirs.detach().reshape({-1});
    ASSERT_EQ(static_cast<std::int64_t>(ours.size()), want.numel()) << what;
    const torch::Tensor have = torch::tensor(ours).to(torch::kFloat64);
    const double error = (have - want).norm().item<double>();
    const double size = want.norm().item<double>();
    EXPECT_TRUE(error <= tolerance * size + 1e-12) << what << ": off by " << error / size;
}

}  // namespace gym::program::testing
