#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gym::data {

/// `total` in whole parts that are as `weights`: each is its exact share rounded up or down, and
/// together they are `total` (largest remainders; of equal ones the first).
/// @pre the weights' sum is above 0. Deterministic.
[[nodiscard]] std::vector<std::uint64_t> apportion(std::span<const std::uint64_t> weights,
                                                   std::uint64_t total);

/// The most tokens of which every input can give its share.
/// @param available tokens of each input. @pre every weight is above 0.
[[nodiscard]] std::uint64_t most_in_shares(std::span<const std::uint64_t> weights,
                                           std::span<const std::uint64_t> available);

/// What each input gives to `total` tokens: its share, or all that it has. What is missing then is
/// taken from the others, by their weights. Together `total`, or everything if there is less.
[[nodiscard]] std::vector<std::uint64_t> quotas(std::span<const std::uint64_t> weights,
                                                std::span<const std::uint64_t> available,
                                                std::uint64_t total);

}  // namespace gym::data
