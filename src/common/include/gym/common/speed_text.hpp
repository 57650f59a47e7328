#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace gym {

/// A speed for people, to three digits: "950 MFLOP/s", "28.2 GFLOP/s", "1.25 TFLOP/s".
[[nodiscard]] inline std::string speed_text(double flops_per_second) {
    constexpr std::array kUnits = {"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    constexpr double kStep = 1000, kRounded = 999.5;  // what would be shown as 1000
    double speed = flops_per_second / 1e6;
    std::size_t unit = 0;
    for (; unit + 1 < kUnits.size() && speed >= kRounded; ++unit)
        speed /= kStep;
    const int decimals = speed < 9.995 ? 2 : speed < 99.95 ? 1 : 0;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f %s", decimals, speed, kUnits[unit]);
    return text.data();
}

}  // namespace gym
