#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/program/train_program.hpp"

namespace gym::bench {

struct Model {
    std::string name;
    program::TrainConfig config;
};

/// The two GPTs whose training step is measured: byte-level with d = 384, and 124 million
/// parameters.
/// @param small_batch, large_batch windows of 256 tokens a step.
inline std::vector<Model> gpt_models(std::uint32_t small_batch, std::uint32_t large_batch) {
    program::TrainConfig small;
    small.model = {.vocabulary = 256, .context = 256, .layers = 6, .heads = 6, .width = 384};
    small.batch = small_batch;
    program::TrainConfig large;
    large.model = {.vocabulary = 50257, .context = 256, .layers = 12, .heads = 12, .width = 768};
    large.batch = large_batch;
    return {{"gpt-d384", small}, {"gpt-d768", large}};
}

}  // namespace gym::bench
