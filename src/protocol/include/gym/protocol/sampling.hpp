#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gym/common/bytes.hpp"
#include "gym/common/ppm.hpp"

namespace gym::protocol {

/// No worker's unit is ever sampled below this.
inline constexpr std::uint32_t kSamplingFloorPpm = 50'000;

struct SamplingPolicy {
    std::uint32_t floor_ppm =
        kSamplingFloorPpm;               ///< lowest rate a long record of valid units reaches
    std::uint32_t aggregate_ppm = kPpm;  ///< rate of the coordinator's own units

    friend bool operator==(const SamplingPolicy&, const SamplingPolicy&) = default;
};

/// 1 for a worker without a record, 1/n after n valid units in a row, never below the policy's
/// floor. A fault sets the run back to 0, so the rate back to 1.
[[nodiscard]] std::uint32_t sampling_rate_ppm(std::uint64_t valid_run,
                                              const SamplingPolicy& policy);

/// H(beacon | unit) < rate, over the full range of the hash's first 64 bits. A rate of kPpm always
/// draws, 0 never does.
[[nodiscard]] bool is_sampled(const Digest& beacon, const Digest& unit, std::uint32_t rate_ppm);

struct VerifierCandidate {
    Address address;
    std::uint32_t draws_failed = 0;  ///< draws of this unit that it let pass without a report
    /// Units of the same epoch that it is to re-execute. Of that epoch alone: a verifier that
    /// reports without computing is always free, and must not get more units for it.
    std::uint32_t units_waiting = 0;
};

/// The verifier of a unit's `draw`-th draw (from 0): the fewest failed draws first, then the fewest
/// waiting units, then the lowest H(beacon | unit | draw | address). The worker itself is never
/// chosen. Independent of the order of `candidates`; nothing when there is no other candidate.
[[nodiscard]] std::optional<Address> assign_verifier(const Digest& beacon, const Digest& unit,
                                                     std::uint32_t draw, const Address& worker,
                                                     std::span<const VerifierCandidate> candidates);

}  // namespace gym::protocol
