#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::protocol {

/// A unit of the round that is about to be aggregated, or one that the round before held back.
struct DeltaCandidate {
    std::uint32_t slot = 0;
    Digest unit;
    Digest delta_root;
    UnitState state = UnitState::kAssigned;
    double delta_norm = 0;  ///< Euclidean norm of the decoded delta, computed by whoever aggregates
    bool held = false;      ///< of the round before
    std::uint32_t steps = 1;  ///< of its unit
};

struct InclusionPolicy {
    /// A delta is left out above this norm; without a bound only when its norm is not finite.
    std::optional<double> delta_norm_max;
    /// A delta is left out whose norm, for each step of its unit, is above so many times the median
    /// of those of the timely deltas that go in (of an even number the upper one), at least 1. One
    /// worker's delta has no say beyond that, however large it is; whoever has most of a round's
    /// slots chooses the median.
    std::optional<double> delta_norm_factor;
    /// Beyond so many, held deltas are left out, and then those of the highest slots.
    std::size_t deltas_max = std::numeric_limits<std::size_t>::max();
};

struct ExcludedDelta {
    std::uint32_t slot = 0;
    Digest unit;
    std::string reason;     ///< one sentence
    bool for_norm = false;  ///< it is finite and passes delta_norm_max, not delta_norm_factor
};

struct Inclusion {
    std::vector<IncludedDelta> included;  ///< in the order of a record's list
    std::vector<ExcludedDelta> excluded;  ///< ascending by slot
};

/// The fixed rule: a delta goes in when its unit is accepted (is_accepted), its norm passes the
/// bounds, and there is room. Independent of the order of `candidates`, and told by its result
/// alone: of the timely deltas exactly those go in that pass the bound which their own median
/// gives.
[[nodiscard]] Inclusion include_deltas(std::span<const DeltaCandidate> candidates,
                                       const InclusionPolicy& policy);

/// The largest norm, for each step, that goes in beside timely deltas of these norms for each
/// step, which are finite; absent without a factor, or without norms.
[[nodiscard]] std::optional<double> norm_bound(std::vector<double> timely,
                                               const InclusionPolicy& policy);
[[nodiscard]] inline double norm_per_step(const DeltaCandidate& delta) {
    return delta.delta_norm / delta.steps;
}

}  // namespace gym::protocol
