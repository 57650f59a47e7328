#pragma once

#include <optional>

#include "simulation.hpp"

namespace gym::game::sim {

/// The sums over the histories of many seeds.
struct Many {
    Outcome total;
    std::uint64_t played = 0;
    std::optional<std::uint64_t> failed;  ///< the lowest seed whose history has violations
    std::vector<std::string> violations;  ///< its
};

/// Plays the histories of the seeds from `first` on, as many threads at a time: one history is one
/// thread's, so its seed alone says how it goes. Ends early if one fails. If the program aborts,
/// the seeds under way are printed.
[[nodiscard]] Many simulate_many(std::uint64_t first, std::uint64_t histories, unsigned threads);

}  // namespace gym::game::sim
