#include "gym/game/dispute_params.hpp"

#include <gtest/gtest.h>

namespace gym::game {
namespace {

std::string refusal(const DisputeParams& params) {
    const Status checked = check_dispute_params(params);
    if (checked.ok()) return "accepted";
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    return checked.error().message;
}

TEST(DisputeParams, DefaultsHold) {
    EXPECT_EQ(refusal({}), "accepted");
}

TEST(DisputeParams, SettlingHoldsTwoClocks) {
    DisputeParams params;
    params.settling_s = 2 * params.clock_s;
    EXPECT_EQ(refusal(params), "accepted");
    --params.settling_s;
    EXPECT_NE(refusal(params).find("raise it to 345600 s"), std::string::npos) << refusal(params);
}

TEST(DisputeParams, StakeOutlastsTheWindowAndTwoClocks) {
    DisputeParams params;
    params.thaw_period_s = params.window_blocks * params.block_time_s + 2 * params.clock_s;
    EXPECT_EQ(refusal(params), "accepted");
    --params.thaw_period_s;
    EXPECT_NE(refusal(params).find("432000 s"), std::string::npos) << refusal(params);
}

TEST(DisputeParams, StakeOfVerifiersOutlastsTwoWindowsAndTwoClocks) {
    DisputeParams params;
    params.thaw_period_s = params.window_blocks * params.block_time_s + 2 * params.clock_s;
    const DisputeParams reports = report_params(params);
    EXPECT_EQ(reports.window_blocks, 2 * params.window_blocks);
    EXPECT_EQ(reports.thaw_period_s,
              reports.window_blocks * params.block_time_s + 2 * params.clock_s);
    EXPECT_EQ(reports.bond, params.bond);
    params.thaw_period_s = 89 * 86'400;
    EXPECT_EQ(refusal(params), "accepted");
    ++params.thaw_period_s;
    EXPECT_NE(refusal(params).find("at most 7689600 s"), std::string::npos) << refusal(params);
}

TEST(DisputeParams, TheClockIsTwiceTheTimeUntilATransactionIsForcedIn) {
    DisputeParams params;
    params.inclusion_delay_s = params.clock_s / 2;
    EXPECT_EQ(refusal(params), "accepted");
    ++params.inclusion_delay_s;
    EXPECT_NE(refusal(params).find("by force"), std::string::npos);
    params.inclusion_delay_s = ~std::uint64_t{0} / 2 + 1;  // twice this is 0 modulo 2^64
    EXPECT_NE(refusal(params).find("by force"), std::string::npos);
}

TEST(DisputeParams, BoundsOfTheContractsAreSaidBeforeDeploying) {
    using Change = void (*)(DisputeParams&);
    const std::pair<const char*, Change> cases[] = {
        {"bond", [](DisputeParams& p) { p.bond = Amount(); }},
        {"clock", [](DisputeParams& p) { p.clock_s = 0; }},
        {"clock", [](DisputeParams& p) { p.clock_s = 31 * 86'400; }},
        {"settling", [](DisputeParams& p) { p.settling_s = 91 * 86'400; }},
        {"thaw period", [](DisputeParams& p) { p.thaw_period_s = 91 * 86'400; }},
        {"at least one block", [](DisputeParams& p) { p.announce_blocks = 0; }},
        {"at least one block", [](DisputeParams& p) { p.open_blocks = 0; }},
        {"window", [](DisputeParams& p) { p.window_blocks = 0; }},
        {"notice", [](DisputeParams& p) { p.notice_blocks = 0; }},
        {"notice", [](DisputeParams& p) { p.notice_blocks = p.window_blocks + 1; }},
        {"window", [](DisputeParams& p) { p.window_blocks = p.announce_blocks; }},
        {"block time", [](DisputeParams& p) { p.block_time_s = 0; }},
        {"500000 ppm", [](DisputeParams& p) { p.burned_ppm = 499'999; }},
        {"1000000 ppm", [](DisputeParams& p) { p.compensation_ppm = 500'001; }},
        {"ppm of the stake", [](DisputeParams& p) { p.missed_clock_ppm = 0; }},
        {"ppm of the stake", [](DisputeParams& p) { p.missed_clock_ppm = 1'000'001; }},
    };
    for (const auto& [named, change] : cases) {
        DisputeParams params;
        change(params);
        EXPECT_NE(refusal(params).find(named), std::string::npos)
            << named << ": " << refusal(params);
    }
}

}  // namespace
}  // namespace gym::game
