#pragma once

#include <cstdint>

/// Whether a machine can do a unit before its deadline: one rule for the coordinator, which gives
/// it no other unit, and for those who refuse a job that nobody could do.
namespace gym::protocol {

struct UnitLength {
    std::uint64_t flops_per_step = 0;  ///< 0: not known, and any machine is fast enough
    std::uint32_t steps = 1;
    std::int64_t unit_ms = 0;  ///< from assignment to commitment
};

/// The steps that a machine does in `unit_ms`, no more than `steps`, transfers not counted.
/// @param flops_per_second as its own benchmark measured; 0: not known, and it does all.
[[nodiscard]] std::uint32_t steps_in_time(const UnitLength& unit,
                                          std::uint64_t flops_per_second) noexcept;
[[nodiscard]] inline bool is_in_time(const UnitLength& unit,
                                     std::uint64_t flops_per_second) noexcept {
    return steps_in_time(unit, flops_per_second) == unit.steps;
}

/// FLOPs a second that are enough for the unit; 0: not known.
[[nodiscard]] double speed_for(const UnitLength& unit) noexcept;

}  // namespace gym::protocol
