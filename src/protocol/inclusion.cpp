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

/// The bound that the deltas below it give themselves. The largest are taken away until all that
/// are left pass it: each step lowers the median, so that nothing that was taken away would pass.
std::optional<double> settled_bound(std::span<const DeltaCandidate> candidates,
                                    const InclusionPolicy& policy) {
    std::vector<double> norms;
    for (const DeltaCandidate& candidate : candidates)
        if (!candidate.held && !obstacle(candidate, policy))
            norms.push_back(norm_per_step(candidate));
    for (;;) {
        const std::optional<double> bound = norm_bound(norms, policy);
        if (!bound || std::erase_if(norms, [&](double norm) { return norm > *bound; }) == 0)
            return bound;
    }
}

}  // namespace

std::optional<double> norm_bound(std::vector<double> timely, const InclusionPolicy& policy) {
    if (!policy.delta_norm_factor || timely.empty()) return std::nullopt;
    const auto middle = timely.begin() + static_cast<std::ptrdiff_t>(timely.size() / 2);
    std::ranges::nth_element(timely, middle);
    return *middle * *policy.delta_norm_factor;
}

Inclusion include_deltas(std::span<const DeltaCandidate> candidates,
                         const InclusionPolicy& policy) {
    Inclusion out;
    const std::optional<double> bound = settled_bound(candidates, policy);
    for (const DeltaCandidate& candidate : candidates) {
        auto reason = obstacle(candidate, policy);
        const bool for_norm = !reason && bound && norm_per_step(candidate) > *bound;
        if (for_norm) reason = "the norm of the delta is far above the median of the round's";
        if (reason)
            out.excluded.push_back({candidate.slot, candidate.unit, std::move(*reason), for_norm});
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
