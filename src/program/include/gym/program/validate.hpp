#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

/// Every rule a legal program obeys: bounds, names, kinds, single assignment before use, arity,
/// attributes, dtypes and shapes of every op. Program::create() calls it.
/// @errors naming the op or slot and the rule.
Status validate(const ProgramParts& parts);

/// Shapes, dtypes and attributes of one op over `slots` (its slot ids must be in range).
Status check_op(std::span<const Slot> slots, const Op& op);

/// Attributes of one op by themselves: unused ones are 0, flags 0 or 1, floats not NaN.
Status check_attributes(const Op& op);

/// How an elementwise operand is repeated over the output: element i reads (i / divisor) % period.
struct Broadcast {
    std::uint64_t divisor = 1;
    std::uint64_t period = 1;
    friend bool operator==(const Broadcast&, const Broadcast&) = default;
};

/// The first rule that fits: as many elements as the output (identity); one element (scalar);
/// the output's dims with the last one 1 (column); the output's last dim and a number of elements
/// that divides the output's (periodic: a bias row, position embeddings). nullopt: none fits.
[[nodiscard]] std::optional<Broadcast> broadcast(const Dims& operand, const Dims& output);

/// ceil(n / kBlockElements).
[[nodiscard]] std::uint64_t block_count(std::uint64_t n);

}  // namespace gym::program
