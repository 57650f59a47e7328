#include "gym/game/dispute_params.hpp"

#include <algorithm>
#include <string>

#include "gym/common/ppm.hpp"

namespace gym::game {
namespace {

constexpr std::uint64_t kDayS = 86'400;
constexpr std::uint64_t kClockMaxS = 30 * kDayS;  // of DisputeGame
constexpr std::uint64_t kSettlingMaxS = 90 * kDayS;
constexpr std::uint64_t kThawMaxS = 90 * kDayS;  // of Stake
constexpr std::uint64_t kWindowBlocksMax = 100'000'000;
constexpr std::uint32_t kBlockTimeMaxS = 3'600;

Error wrong(const std::string& message) {
    return fail(ErrorCode::kInvalidArgument, "dispute terms: " + message);
}

std::string seconds(std::uint64_t value) {
    return std::to_string(value) + " s";
}

Status check_bounds(const DisputeParams& p) {
    if (p.bond.is_zero()) return wrong("the bond must be more than 0");
    if (p.clock_s == 0 || p.clock_s > kClockMaxS)
        return wrong("the clock is 1 s to 30 days, not " + seconds(p.clock_s));
    if (p.settling_s > kSettlingMaxS)
        return wrong("settling takes 90 days at most, not " + seconds(p.settling_s));
    if (p.thaw_period_s > kThawMaxS)
        return wrong("the thaw period is 90 days at most, not " + seconds(p.thaw_period_s));
    if (p.announce_blocks == 0 || p.open_blocks == 0)
        return wrong("at least one block to announce and one to open");
    if (p.window_blocks == 0 || p.window_blocks > kWindowBlocksMax)
        return wrong("the window is 1 to 100000000 blocks");
    if (p.notice_blocks == 0 || p.notice_blocks > p.window_blocks)
        return wrong("the notice of a published commitment is 1 block to a window (" +
                     std::to_string(p.window_blocks) + "), not " + std::to_string(p.notice_blocks));
    if (p.block_time_s == 0 || p.block_time_s > kBlockTimeMaxS)
        return wrong("the block time is 1 s to 1 hour");
    if (p.burned_ppm < kPpm / 2 ||
        std::uint64_t{p.burned_ppm} + std::uint64_t{p.compensation_ppm} > kPpm)
        return wrong(
            "of a slash at least 500000 ppm are burned, and shares are 1000000 ppm in all");
    if (p.missed_clock_ppm == 0 || p.missed_clock_ppm > kPpm)
        return wrong("the first clocks that run out cost 1 to 1000000 ppm of the stake, not " +
                     std::to_string(p.missed_clock_ppm));
    return {};
}

}  // namespace

Status check_dispute_params(const DisputeParams& p) {
    GYM_CHECK(check_bounds(p));
    // An asserter that lets an accomplice win first must not be able to stall the others past it.
    if (p.settling_s < 2 * p.clock_s)
        return wrong("settling of " + seconds(p.settling_s) + " is less than two clocks of " +
                     seconds(p.clock_s) + ": raise it to " + seconds(2 * p.clock_s));
    if (p.inclusion_delay_s > kClockMaxS || p.clock_s < 2 * p.inclusion_delay_s)
        return wrong("a clock of " + seconds(p.clock_s) +
                     " is less than twice the time until this chain includes a transaction by "
                     "force, " +
                     seconds(p.inclusion_delay_s) + ": a side that is censored would lose");
    if (p.announce_blocks >= p.window_blocks)
        return wrong("a window of " + std::to_string(p.window_blocks) +
                     " blocks leaves none after the " + std::to_string(p.announce_blocks) +
                     " between announcing and opening");
    const std::uint64_t window_s = p.window_blocks * p.block_time_s;
    const std::uint64_t thaw_min_s = window_s + 2 * p.clock_s;
    if (report_params(p).thaw_period_s > kThawMaxS)
        return wrong("verifiers' stake thaws a window of " + seconds(window_s) +
                     " longer than workers': the thaw period must be at most " +
                     seconds(kThawMaxS - std::min(kThawMaxS, window_s)) + ", not " +
                     seconds(p.thaw_period_s));
    if (p.thaw_period_s < thaw_min_s)
        return wrong("stake would be gone before it can be slashed: the thaw period of " +
                     seconds(p.thaw_period_s) + " must be at least the window (" +
                     seconds(window_s) + ") and two clocks, " + seconds(thaw_min_s));
    return {};
}

DisputeParams report_params(const DisputeParams& units) {
    DisputeParams out = units;
    out.window_blocks = 2 * units.window_blocks;
    out.thaw_period_s = units.thaw_period_s + units.window_blocks * units.block_time_s;
    return out;
}

}  // namespace gym::game
