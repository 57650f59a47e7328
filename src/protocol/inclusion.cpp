#include "gym/protocol/inclusion.hpp"

#include <algorithm>
#include <cmath>

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
            out.included.push_back({candidate.slot, candidate.unit, candidate.delta_root});
    }
    const auto by_slot = [](const auto& a, const auto& b) { return a.slot < b.slot; };
    std::sort(out.included.begin(), out.included.end(), by_slot);
    std::sort(out.excluded.begin(), out.excluded.end(), by_slot);
    return out;
}

}  // namespace gym::protocol
