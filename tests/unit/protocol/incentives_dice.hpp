#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "gym/common/ppm.hpp"

/// Chance and averages of the simulations of incentives.
namespace gym::protocol::testing {

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    bool ppm(std::uint32_t of_million) { return random_() % kPpm < of_million; }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  private:
    std::mt19937_64 random_;
};

struct Mean {
    double sum = 0, squares = 0;
    int count = 0;
    void add(double value) {
        sum += value;
        squares += value * value;
        ++count;
    }
    [[nodiscard]] double value() const { return sum / count; }
    /// Five standard deviations of the mean.
    [[nodiscard]] double noise() const {
        return 5 * std::sqrt(std::max(squares / count - value() * value(), 0.0) / count);
    }
};

}  // namespace gym::protocol::testing
