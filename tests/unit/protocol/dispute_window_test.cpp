#include "gym/protocol/dispute_window.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gym::protocol {
namespace {

TEST(DisputeWindow, AJobFitsToTheMillisecond) {
    LifecycleParams params;
    EXPECT_EQ(checks_ms(params), 3 * (600'000 + 60'000) + 600'000);
    EXPECT_EQ(outlasts_window(params, 2'580'000), "");
    EXPECT_NE(outlasts_window(params, 2'579'999), "");
    params.draws_max = 1;
    EXPECT_EQ(outlasts_window(params, 1'260'000), "");
}

TEST(DisputeWindow, TheLongestReportThatFitsDoesAndNoLongerOne) {
    for (std::uint32_t draws = 1; draws < 20; ++draws)
        for (const std::int64_t window : {10'000, 60'001, 1'234'567, 86'400'000}) {
            LifecycleParams params;
            params.draws_max = draws;
            params.reveal_ms = 500;
            params.report_ms = report_ms_max(draws, 500, window);
            EXPECT_EQ(outlasts_window(params, window), "") << draws << " in " << window;
            ++params.report_ms;
            EXPECT_NE(outlasts_window(params, window), "") << draws << " in " << window;
        }
}

TEST(DisputeWindow, TheSentenceNamesTheNumbersAndWhatToChange) {
    LifecycleParams params;
    EXPECT_EQ(outlasts_window(params, 1'800'000),
              "checking a unit of this job may take 2580 s (sampling.draws_max 3 x "
              "(deadlines.report_ms 600 s + deadlines.reveal_ms 60 s) + 600 s to run it once "
              "more), and on this network a fault can be taken to the chain for 1800 s after the "
              "draw: set deadlines.report_ms to 405000 at most, or lower deadlines.reveal_ms or "
              "sampling.draws_max");
    const std::string once = outlasts_window(params, 178'500);
    EXPECT_NE(once.find("set sampling.draws_max to 1 and deadlines.report_ms to 59000 at most"),
              std::string::npos)
        << once;
    const std::string none = outlasts_window(params, 60'500);
    EXPECT_NE(none.find("for 60.5 s after the draw: lower deadlines.reveal_ms"), std::string::npos)
        << none;
}

TEST(DisputeWindow, ExtremesDoNotOverflow) {
    LifecycleParams params;
    params.report_ms = params.reveal_ms = std::numeric_limits<std::int64_t>::max();
    params.draws_max = std::numeric_limits<std::uint32_t>::max();
    EXPECT_GT(checks_ms(params), 86'400'000);
    EXPECT_NE(outlasts_window(params, 86'400'000), "");
    EXPECT_NE(outlasts_window({}, -1), "");
}

}  // namespace
}  // namespace gym::protocol
