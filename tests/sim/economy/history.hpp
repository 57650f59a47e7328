#pragma once

#include <string>
#include <vector>

#include "arena.hpp"

namespace gym::sim::economy {

/// A mean over histories, each of which counts once, in pay of a unit.
struct Mean {
    double sum = 0, squares = 0;
    std::uint64_t count = 0;

    void add(double value);
    [[nodiscard]] double value() const;
    /// Three standard deviations of the mean.
    [[nodiscard]] double error() const;
};

struct ArmResult {
    Mean gain;  ///< of the coalition, less that of the same seasons played honestly
    double most = 0;
    double harm = 0;  ///< the most that an honest party lost
    std::uint64_t violations = 0;
};

/// What histories of one kind of party gave.
struct Tally {
    std::vector<ArmResult> arms;
    Mean adaptive;  ///< of the party that chooses by its past payoffs
    std::uint64_t histories = 0;
    std::vector<std::string> violations;  ///< a gain or a harm above what the arm may have
};

/// One history: a network, a party that tries everything, and then plays what paid best so far,
/// looking at each payoff, except what is known to be left (Claim::kAtMost).
void play_history(const Arena& arena, const Rules& rules, std::uint64_t seed, Tally& tally);

}  // namespace gym::sim::economy
