#pragma once

#include <cstdint>
#include <vector>

namespace gym::program {

struct RotaryShape {
    std::uint32_t positions;
    std::uint32_t frequencies;  ///< half the size of a head
    double theta;               ///< at least 1
};

struct RotaryTables {
    std::vector<float> cosine;  // (positions, frequencies)
    std::vector<float> sine;    // (positions, frequencies)
};

/// cos and sin of position * theta^(-i / frequencies): by +, -, *, / and floor of binary64 alone,
/// in the order that docs/PROGRAMS.md gives, so that every compiler finds the same bits.
[[nodiscard]] RotaryTables rotary_tables(const RotaryShape& shape);

}  // namespace gym::program
