#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::protocol {

/// A unit of the round that is about to be aggregated.
struct DeltaCandidate {
    std::uint32_t slot = 0;
    Digest unit;
    Digest delta_root;
    UnitState state = UnitState::kAssigned;
    double delta_norm = 0;  ///< Euclidean norm of the decoded delta, computed by whoever aggregates
};

struct InclusionPolicy {
    /// A delta is left out above this norm; without a bound only when its norm is not finite.
    std::optional<double> delta_norm_max;
};

struct ExcludedDelta {
    std::uint32_t slot = 0;
    Digest unit;
    std::string reason;  ///< one sentence
};

struct Inclusion {
    std::vector<IncludedDelta> included;  ///< ascending by slot
    std::vector<ExcludedDelta> excluded;  ///< ascending by slot
};

/// The fixed rule: a delta goes in when its unit is accepted (is_accepted) and its norm passes the
/// bound. Independent of the order of `candidates`.
[[nodiscard]] Inclusion include_deltas(std::span<const DeltaCandidate> candidates,
                                       const InclusionPolicy& policy);

}  // namespace gym::protocol
