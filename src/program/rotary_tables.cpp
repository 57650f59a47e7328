#include "rotary_tables.hpp"

#include <algorithm>
#include <cmath>

namespace gym::program {
namespace {

/// The natural logarithm of x >= 1: halved to [1, 2), then 2 atanh((f - 1) / (f + 1)).
double logarithm(double x) {
    constexpr double kLn2 = 0x1.62e42fefa39efp-1;
    constexpr int kTerms = 30;  // the last one is below 3^-59
    double twos = 0;
    while (x >= 2) {
        x = x / 2;
        twos += 1;
    }
    const double z = (x - 1) / (x + 1);
    double series = 0;
    for (int k = kTerms; k >= 0; --k)
        series = 1.0 / (2 * k + 1) + z * z * series;
    return twos * kLn2 + 2 * z * series;
}

/// e^x for -60 <= x <= 0: the series at x / 64, squared six times.
double exponential(double x) {
    constexpr int kTerms = 24;
    const double y = x / 64;
    double series = 1;
    for (int k = kTerms; k >= 1; --k)
        series = 1 + y / k * series;
    for (int i = 0; i < 6; ++i)
        series = series * series;
    return series;
}

double scaled(double frequency, const RopeScaling& s) {
    constexpr double kTurnsPerRadian = 0x1.45f306dc9c883p-3;
    const double factor = s.factor, low = s.low_frequency_factor, high = s.high_frequency_factor;
    if (s.type == RopeScaling::Type::kNone) return frequency;
    if (s.type == RopeScaling::Type::kLinear) return frequency / factor;
    const double turns = s.original_context * frequency * kTurnsPerRadian;
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    return (1 - kept) * frequency / factor + kept * frequency;
}

struct Turn {
    double cosine;
    double sine;
};

/// Of an angle from 0 to 65536: less quarter turns, then the series, then the quadrant.
Turn turn_of(double angle) {
    // pi / 2 in two parts, the first with 33 bits, so that its multiples here are exact.
    constexpr double kHigh = 0x1.921fb544p+0, kLow = 0x1.0b4611a626331p-34;
    constexpr double kQuartersPerRadian = 0x1.45f306dc9c883p-1;
    constexpr int kTerms = 10;
    const double quarters = std::floor(angle * kQuartersPerRadian + 0.5);
    const double y = (angle - quarters * kHigh) - quarters * kLow;
    double cosine = 1, sine = 1;
    for (int k = kTerms; k >= 1; --k) {
        cosine = 1 - y * y / ((2.0 * k - 1) * (2.0 * k)) * cosine;
        sine = 1 - y * y / ((2.0 * k) * (2.0 * k + 1)) * sine;
    }
    sine = y * sine;
    switch (static_cast<std::uint32_t>(quarters) % 4) {
        case 0:
            return {cosine, sine};
        case 1:
            return {-sine, cosine};
        case 2:
            return {-cosine, -sine};
        default:
            return {sine, -cosine};
    }
}

}  // namespace

RotaryShape rotary_shape(const ModelConfig& c) {
    const std::uint32_t size = c.head_width == 0 ? c.width / c.heads : c.head_width;
    RotaryShape shape{c.context, size / 2, c.rope_theta, c.rope_scaling};
    // A program with scaling holds these numbers as f32, and its tables follow from them. The
    // others are f32 from the start: GCC 12 drops the rounding where it pairs two conversions.
    if (shape.scaling.type != RopeScaling::Type::kNone)
        shape.theta = double{static_cast<float>(shape.theta)};
    return shape;
}

RotaryTables rotary_tables(const RotaryShape& shape) {
    const double rate = logarithm(shape.theta);
    std::vector<double> frequencies(shape.frequencies);
    for (std::uint32_t i = 0; i < shape.frequencies; ++i)
        frequencies[i] = scaled(exponential(-(rate * i) / shape.frequencies), shape.scaling);
    RotaryTables tables;
    const std::size_t entries = std::size_t{shape.positions} * shape.frequencies;
    tables.cosine.reserve(entries);
    tables.sine.reserve(entries);
    for (std::uint32_t position = 0; position < shape.positions; ++position) {
        for (const double frequency : frequencies) {
            const Turn turn = turn_of(position * frequency);
            tables.cosine.push_back(static_cast<float>(turn.cosine));
            tables.sine.push_back(static_cast<float>(turn.sine));
        }
    }
    return tables;
}

}  // namespace gym::program
