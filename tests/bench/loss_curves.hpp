// Losses of several runs side by side, and what they say about each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gym::bench {

/// The training losses of one run, step by step, and its validation losses after some steps.
struct LossCurve {
    std::string name;
    std::vector<double> training;
    std::vector<double> validation;

    /// The mean of the last `count` training losses up to and with `step`, or of fewer at the
    /// start.
    [[nodiscard]] double mean_before(std::size_t step, std::size_t count) const;
};

/// The longest time for which one curve's mean stays on one side of the other's.
struct LongestGap {
    std::size_t first_step = 0, steps = 0;
    double mean_relative = 0;  ///< mean of (ours - peer) / peer over those steps
};
[[nodiscard]] LongestGap find_longest_gap(const LossCurve& ours, const LossCurve& peer,
                                          std::size_t mean_steps);

/// One line a step: the losses, their means over `mean_steps` steps and, where validation was
/// measured, its losses (otherwise empty). @return false if the file cannot be written.
[[nodiscard]] bool write_csv(const std::string& path, const std::vector<LossCurve>& curves,
                             const std::vector<std::size_t>& validated_steps,
                             std::size_t mean_steps);

}  // namespace gym::bench
