#include "gym/protocol/dispute_window.hpp"

#include <algorithm>

namespace gym::protocol {
namespace {

/// Sums below stay far from overflow with it: a thousand draws of both deadlines.
constexpr std::int64_t kMsMax = std::int64_t{1} << 40;

/// "660 s", "0.5 s"
std::string seconds(std::int64_t ms) {
    std::string out = std::to_string(ms / 1'000);
    if (ms % 1'000 != 0) {
        std::string rest = std::to_string(1'000 + ms % 1'000).substr(1);
        rest.erase(rest.find_last_not_of('0') + 1);
        out += "." + rest;
    }
    return out + " s";
}

std::string change(const LifecycleParams& params, std::int64_t window_ms) {
    constexpr std::int64_t kSecond = 1'000, kLeast = 10'000;
    const std::int64_t now = report_ms_max(params.draws_max, params.reveal_ms, window_ms);
    const std::int64_t one = report_ms_max(1, params.reveal_ms, window_ms);
    if (now >= kLeast)
        return "set deadlines.report_ms to " + std::to_string(now / kSecond * kSecond) +
               " at most, or lower deadlines.reveal_ms or sampling.draws_max";
    if (one >= kLeast)
        return "set sampling.draws_max to 1 and deadlines.report_ms to " +
               std::to_string(one / kSecond * kSecond) + " at most";
    return "lower deadlines.reveal_ms, deadlines.report_ms and sampling.draws_max, or take a "
           "network with a longer window";
}

}  // namespace

std::int64_t checks_ms(const LifecycleParams& params) noexcept {
    const std::int64_t report = std::clamp<std::int64_t>(params.report_ms, 0, kMsMax);
    const std::int64_t reveal = std::clamp<std::int64_t>(params.reveal_ms, 0, kMsMax);
    const std::int64_t draws = std::min<std::uint32_t>(params.draws_max, 1U << 20U);
    return draws * (report + reveal) + report;
}

std::int64_t report_ms_max(std::uint32_t draws_max, std::int64_t reveal_ms,
                           std::int64_t window_ms) noexcept {
    const std::int64_t draws = std::min<std::uint32_t>(draws_max, 1U << 20U);
    return (window_ms - draws * std::clamp<std::int64_t>(reveal_ms, 0, kMsMax)) / (draws + 1);
}

std::string outlasts_window(const LifecycleParams& params, std::int64_t window_ms) {
    const std::int64_t checks = checks_ms(params);
    if (checks <= window_ms) return {};
    return "checking a unit of this job may take " + seconds(checks) + " (sampling.draws_max " +
           std::to_string(params.draws_max) + " x (deadlines.report_ms " +
           seconds(params.report_ms) + " + deadlines.reveal_ms " + seconds(params.reveal_ms) +
           ") + " + seconds(params.report_ms) +
           " to run it once more), and on this network a fault can be taken to the chain for " +
           seconds(std::max<std::int64_t>(window_ms, 0)) +
           " after the draw: " + change(params, window_ms);
}

}  // namespace gym::protocol
