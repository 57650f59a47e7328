#include "preference.hpp"

#include "gym/blob/piece_list.hpp"

namespace gym::mirror {
namespace {

/// A connection begins with ten segments and doubles them each round trip (RFC 6928): a MiB takes
/// six.
constexpr double kSlowStartTrips = 6;
constexpr double kFarFactor = 4;
/// Latencies are measured beside other work: what is closer together than this is one region.
constexpr double kNearLatencies = 2, kNearMs = 50;

void take_less(double& least, double value) {
    if (value > 0 && (least == 0 || value < least)) least = value;
}

}  // namespace

Preference::Preference(std::span<const Measured> sources) {
    for (const Measured& source : sources) {
        take_less(least_latency_ms_, source.latency_ms);
        take_less(best_ms_per_mib_, source.ms_per_mib);
    }
}

double Preference::expected_ms(const Measured& source, std::uint64_t bytes) const {
    const double rate = source.ms_per_mib > 0
                            ? source.ms_per_mib
                            : best_ms_per_mib_ + kSlowStartTrips * source.latency_ms;
    return source.latency_ms +
           rate * static_cast<double>(bytes) / static_cast<double>(blob::kPieceBytes);
}

bool Preference::is_far(const Measured& source) const {
    return source.latency_ms > kNearLatencies * least_latency_ms_ + kNearMs;
}

double Preference::cost_ms(const Measured& source, std::uint64_t bytes) const {
    return expected_ms(source, bytes) * (is_far(source) ? kFarFactor : 1);
}

}  // namespace gym::mirror
