#include "gym/common/duration_text.hpp"

#include <array>
#include <cstdio>

namespace gym {
namespace {

/// A unit of time and how much shorter times are told in it.
struct TimeUnit {
    double seconds;
    double from_s;
    const char* name;
};
constexpr std::array<TimeUnit, 4> kTimeUnits{
    {{86'400, 2 * 86'400, "days"}, {3'600, 2 * 3'600, "h"}, {60, 100, "min"}, {1, 0, "s"}}};

const TimeUnit& unit_of(double seconds) {
    for (const TimeUnit& unit : kTimeUnits)
        if (seconds >= unit.from_s) return unit;
    return kTimeUnits.back();
}

std::string number_text(double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", value < 9.95 ? 1 : 0, value);
    return text.data();
}

}  // namespace

std::string duration_text(double seconds) {
    if (seconds < 0.1) return "less than 0.1 s";
    const TimeUnit& unit = unit_of(seconds);
    return number_text(seconds / unit.seconds) + " " + unit.name;
}

std::string duration_text(double low_s, double high_s) {
    const TimeUnit& unit = unit_of(high_s);
    const std::string low = number_text(low_s / unit.seconds);
    const std::string high = number_text(high_s / unit.seconds);
    return (low == high ? "" : low + " to ") + high + " " + unit.name;
}

}  // namespace gym
