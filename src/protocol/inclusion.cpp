#include "gym/protocol/inclusion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gym::protocol {
namespace {

/// Why the rule leaves a delta out, or nothing.
std::optional<std::string> obstacle(const DeltaCandidate& candidate,
                                    const InclusionPolicy& policy) {
    if (!is_accepted(candidate.state))
        return "the unit is " + std::string(to_string(candidate.state));
    if (!std::isfinite(candidate.delta_norm)) return "the norm of the delta is not finite";
    if (policy.delta_norm_max && !(candidate.delta_norm <= *policy.delta_norm_max))
        return "the norm of the delta is above the bound";
    return std::nullopt;
}

}  // namespace

Inclusion include_deltas(std::span<const DeltaCandidate> candidates,
                         const InclusionPolicy& policy) {
    Inclusion out;
    for (const DeltaCandidate& candidate : candidates) {
        if (auto reason = obstacle(candidate, policy))
            out.excluded.push_back({candidate.slot, candidate.unit, std::move(*reason)});
        else
            out.included.push_back(
                {candidate.slot, candidate.unit, candidate.delta_root, candidate.held});
    }
    std::ranges::sort(out.included, {},
                      [](const IncludedDelta& delta) { return std::pair(delta.held, delta.slot); });
    for (std::size_t i = policy.deltas_max; i < out.included.size(); ++i)
        out.excluded.push_back({out.included[i].slot, out.included[i].unit,
                                "an aggregate has no room for more deltas"});
    if (out.included.size() > policy.deltas_max) out.included.resize(policy.deltas_max);
    std::ranges::sort(out.excluded, {}, &ExcludedDelta::slot);
    return out;
}

}  // namespace gym::protocol
