#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/ppm.hpp"
#include "gym/common/result.hpp"

namespace gym::protocol {

/// No worker's unit is ever sampled below this.
inline constexpr std::uint32_t kSamplingFloorPpm = 50'000;

/// Whoever proposes a slot of Ethereum is known at most so many slots before (two epochs of 32).
inline constexpr std::uint32_t kProposersKnownSlots = 64;
/// From an epoch's root to the block whose prevrandao draws its units. The proposers of the last
/// two blocks before that one can withhold them, and so draw again; when the root goes into its
/// block, nobody knows yet who they are (docs/PROTOCOL.md, "Choosing a draw").
inline constexpr std::uint32_t kBeaconDelayBlocks = kProposersKnownSlots + 2;

struct SamplingPolicy {
    std::uint32_t floor_ppm =
        kSamplingFloorPpm;               ///< lowest rate a long record of valid units reaches
    std::uint32_t aggregate_ppm = kPpm;  ///< rate of the coordinator's own units

    friend bool operator==(const SamplingPolicy&, const SamplingPolicy&) = default;
};

/// What work counts in a worker's record: its FLOPs times the price of 10^15 of them. Unpaid work
/// counts as if it earned 1 wei. @errors kOutOfRange.
[[nodiscard]] Result<Amount> work_value(std::uint64_t flops, const Amount& price_wei_per_pflop);

/// How many units of the value `unit` a record stands for, rounded down. A worker that fills its
/// record with small units, which it may have ordered itself, has no record for a large one.
/// @param valid work_value() of all valid units since the last fault.
[[nodiscard]] std::uint64_t units_worth(const Amount& valid, const Amount& unit);

/// 1 for a worker without a record, 1/n after n valid units in a row, never below the policy's
/// floor. A fault sets the record back to 0, so the rate back to 1.
/// @param valid_units units_worth() of the worker's record and the unit.
[[nodiscard]] std::uint32_t sampling_rate_ppm(std::uint64_t valid_units,
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
