#pragma once

#include <cstdint>
#include <vector>

namespace gym::program {

/// Deltas of an aggregate that are subtracted: at most so many.
inline constexpr std::uint32_t kWithdrawnMax = 16;

/// The weight of each delta of an aggregate. Its place in the list decides it:
///   those of the round itself:                 2
///   held ones, of the round before:            1
///   withdrawn ones, which went in with 2:     -2
///   withdrawn ones, which were held then:     -1
/// The sum is divided by what the first two groups count together
/// (docs/adr/0023-withdrawn-deltas.md). Where nothing is withdrawn and all of them are of one
/// group, each counts 1.
struct DeltaGroups {
    std::uint32_t held = 0;
    std::uint32_t withdrawn = 0;       ///< both groups of them, the last ones of the list
    std::uint32_t withdrawn_held = 0;  ///< of them, the last ones

    constexpr DeltaGroups() = default;
    /// Without withdrawn ones. Implicit: such lists are told by this one number.
    constexpr DeltaGroups(std::uint64_t held_deltas)  // NOLINT(google-explicit-constructor)
        : held(static_cast<std::uint32_t>(held_deltas)) {}
    constexpr DeltaGroups(std::uint64_t held_deltas, std::uint64_t withdrawn_deltas,
                          std::uint64_t withdrawn_held_deltas)
        : held(static_cast<std::uint32_t>(held_deltas)),
          withdrawn(static_cast<std::uint32_t>(withdrawn_deltas)),
          withdrawn_held(static_cast<std::uint32_t>(withdrawn_held_deltas)) {}

    friend constexpr bool operator==(const DeltaGroups&, const DeltaGroups&) = default;
};

/// Whether an aggregate of so many deltas can have these groups: one delta at least goes in, and at
/// most kWithdrawnMax are withdrawn.
[[nodiscard]] constexpr bool are_legal(const DeltaGroups& groups, std::uint64_t deltas) {
    return groups.withdrawn <= kWithdrawnMax && groups.withdrawn_held <= groups.withdrawn &&
           groups.withdrawn < deltas && groups.held <= deltas - groups.withdrawn;
}

/// As one number, which is hashed: held ones in bits 0 to 15, withdrawn ones in 16 to 23, those of
/// them that were held in 24 to 31. Without withdrawn ones it is the number of held ones.
[[nodiscard]] constexpr std::uint32_t packed(const DeltaGroups& groups) {
    return (groups.held & 0xFFFF) | (groups.withdrawn & 0xFF) << 16 | groups.withdrawn_held << 24;
}
[[nodiscard]] constexpr DeltaGroups groups_of(std::uint32_t packed) {
    return {packed & 0xFFFF, packed >> 16 & 0xFF, packed >> 24};
}

/// What the deltas are multiplied with, and what the sum is divided by.
struct DeltaWeights {
    std::vector<float> factors;  ///< of each delta; empty: all count 1
    float divisor = 1;
};
/// @pre are_legal().
[[nodiscard]] inline DeltaWeights weights_of(const DeltaGroups& groups, std::uint32_t deltas) {
    const std::uint32_t added = deltas - groups.withdrawn, timely = added - groups.held;
    DeltaWeights out;
    out.divisor = static_cast<float>(added);
    if (groups.withdrawn == 0 && (groups.held == 0 || timely == 0)) return out;
    out.divisor = static_cast<float>(added + timely);
    out.factors.assign(timely, 2.0F);
    out.factors.resize(added, 1.0F);
    out.factors.resize(deltas - groups.withdrawn_held, -2.0F);
    out.factors.resize(deltas, -1.0F);
    return out;
}

}  // namespace gym::program
