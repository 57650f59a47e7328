#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "gym/quality/sketch.hpp"

namespace gym::quality {

/// The owner of a band key: the number of the first dataset that had it.
using KeyOwners = std::unordered_map<std::uint64_t, std::uint64_t>;

struct Nearest {
    std::uint64_t dataset = 0;
    std::uint32_t ppm = 0;  ///< floor(10^6 * tokens in chunks like one of its / sampled tokens)
};

/// The registered dataset that most of the sketch's tokens are like; of equal ones the one that was
/// registered first. Absent where that is less than 1 ppm. What was copied from a copy counts for
/// the original, whose keys they are. @determinism bitwise.
[[nodiscard]] std::optional<Nearest> nearest(const DatasetSketch& sketch, const KeyOwners& owners);

}  // namespace gym::quality
