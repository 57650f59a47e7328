#pragma once

#include <cstdint>
#include <span>

namespace gym::mirror {

/// What was measured of a source; 0: not yet.
struct Measured {
    double latency_ms = 0;
    double ms_per_mib = 0;  ///< of one connection, with what the source itself had to fetch
};

/// How the sources that can be used compare with each other. Pure.
class Preference {
  public:
    explicit Preference(std::span<const Measured> sources);

    /// What a piece should take. Where no piece was measured: six round trips, in which a new
    /// connection reaches its rate, and as much as the best source takes.
    [[nodiscard]] double expected_ms(const Measured& source, std::uint64_t bytes) const;
    /// expected_ms() of a near source, four times as much of a far one: a mirror in another region
    /// has to be that much faster, because all share the lines between regions, and a near mirror
    /// that fetches a piece for the first time has it for the next node.
    [[nodiscard]] double cost_ms(const Measured& source, std::uint64_t bytes) const;
    /// Whether the answers of others come much sooner.
    [[nodiscard]] bool is_far(const Measured& source) const;

  private:
    double least_latency_ms_ = 0;
    double best_ms_per_mib_ = 0;
};

}  // namespace gym::mirror
