#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gym::game::sim {

/// The outcome of one history.
struct Outcome {
    std::vector<std::string> violations;
    std::uint64_t transactions = 0;
    std::uint64_t moves = 0;
    std::uint64_t units = 0;
    std::uint64_t faulty = 0;   ///< of them
    std::uint64_t sampled = 0;  ///< faulty ones that an honest verifier has run again
    std::uint64_t settled = 0;  ///< took a stake
    std::uint64_t games = 0;
    std::uint64_t upheld = 0;
    std::uint64_t proven = 0;
    std::uint64_t by_clock = 0;
    std::uint64_t moot = 0;
    std::uint64_t aggregates = 0;         ///< of the units
    std::uint64_t aggregates_proven = 0;  ///< of the games that were proven, by moves
    std::uint64_t conflicts = 0;          ///< games that were won when they were opened by one
    std::uint64_t reorgs = 0;
    std::uint64_t crashes = 0;
    friend bool operator==(const Outcome&, const Outcome&) = default;
    /// Adds the numbers.
    Outcome& operator+=(const Outcome& other);
};

/// Plays one history: workers, verifiers and those who want their money, on a bad chain. The same
/// seed gives the same history. @threads safe.
[[nodiscard]] Outcome simulate(std::uint64_t seed);

}  // namespace gym::game::sim
