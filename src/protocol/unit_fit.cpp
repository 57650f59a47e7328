#include "gym/protocol/unit_fit.hpp"

#include <algorithm>

namespace gym::protocol {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kMsPerSecond = 1'000;

}  // namespace

std::uint32_t steps_in_time(const UnitLength& unit, std::uint64_t flops_per_second) noexcept {
    if (unit.flops_per_step == 0 || flops_per_second == 0) return unit.steps;
    const auto time_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(unit.unit_ms, 0));
    const Wide steps =
        Wide{flops_per_second} * time_ms / (Wide{unit.flops_per_step} * kMsPerSecond);
    return static_cast<std::uint32_t>(std::min<Wide>(steps, unit.steps));
}

double speed_for(const UnitLength& unit) noexcept {
    const double flops = static_cast<double>(unit.flops_per_step) * unit.steps;
    return flops * kMsPerSecond / static_cast<double>(std::max<std::int64_t>(unit.unit_ms, 1));
}

}  // namespace gym::protocol
