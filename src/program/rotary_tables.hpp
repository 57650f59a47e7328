#pragma once

#include <cstdint>
#include <vector>

#include "gym/program/train_program.hpp"

namespace gym::program {

struct RotaryShape {
    std::uint32_t positions;
    std::uint32_t frequencies;  ///< half the size of a head
    double theta;               ///< at least 1
    RopeScaling scaling = {};
};

struct RotaryTables {
    std::vector<float> cosine;  // (positions, frequencies)
    std::vector<float> sine;    // (positions, frequencies)
};

/// The tables of a llama.
[[nodiscard]] RotaryShape rotary_shape(const ModelConfig& config);

/// cos and sin of position * frequency i, which is theta^(-i / frequencies), scaled: by +, -, *, /
/// and floor of binary64 alone, in the order that docs/PROGRAMS.md gives, so that every compiler
/// finds the same bits.
[[nodiscard]] RotaryTables rotary_tables(const RotaryShape& shape);

}  // namespace gym::program
