#include "schedule.hpp"

namespace gym::program {

double cosine_of_half_turns(double turn) {
    // cos(2y) = 1 - 2 sin(y)^2 with y in [0, pi/2], where the Taylor series of sin converges fast.
    constexpr double kHalfPi = 0x1.921fb54442d18p+0;
    constexpr int kTerms = 13;
    const double y = turn * kHalfPi;
    double series = 1.0;
    for (int k = kTerms; k >= 1; --k)
        series = 1.0 - y * y / (2.0 * k * (2.0 * k + 1.0)) * series;
    const double sine = y * series;
    return 1.0 - 2.0 * sine * sine;
}

namespace {

/// Of the way from the minimum up to the peak, `turn` of 0 to 1 into the schedule.
double factor_at(Schedule schedule, double turn) {
    switch (schedule) {
        case Schedule::kCosine:
            return 0.5 * (1.0 + cosine_of_half_turns(turn));
        case Schedule::kLinear:
            return 1.0 - turn;
        case Schedule::kConstant:
            return 1.0;
    }
    return 1.0;
}

}  // namespace

std::vector<float> learning_rate_table(const OptimizerConfig& config) {
    std::vector<float> table;
    const double peak = config.learning_rate, low = config.learning_rate_min;
    for (std::uint32_t step = 0; step <= config.total_steps; ++step) {
        if (step < config.warmup_steps) {
            table.push_back(static_cast<float>(peak * (step + 1.0) / config.warmup_steps));
            continue;
        }
        const std::uint32_t length = config.total_steps - config.warmup_steps;
        const double turn =
            length == 0 ? 1.0 : static_cast<double>(step - config.warmup_steps) / length;
        table.push_back(static_cast<float>(low + (peak - low) * factor_at(config.schedule, turn)));
    }
    return table;
}

std::vector<float> warmup_table(std::uint32_t steps) {
    std::vector<float> table;
    for (std::uint32_t step = 0; step < steps; ++step)
        table.push_back(static_cast<float>((step + 1.0) / steps));
    table.push_back(1.0F);
    return table;
}

}  // namespace gym::program
