#include "pace.hpp"

#include <gtest/gtest.h>

namespace gym::mirror {
namespace {

using std::chrono::milliseconds;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(Pace, LeavesPiecesToPeersOnlyWhileTheyAreAsFastAsTheSourcesWere) {
    const Pace::Moment begin{};
    Pace pace(begin);
    pace.from_peer(kMiB, begin);
    EXPECT_FALSE(pace.leaves_to_peers(begin)) << "nothing is known of the sources";
    pace.from_source(kMiB, begin);
    EXPECT_TRUE(pace.leaves_to_peers(begin));
    pace.from_source(kMiB, begin + milliseconds(500));
    EXPECT_FALSE(pace.leaves_to_peers(begin + milliseconds(500)));
    pace.from_peer(kMiB, begin + milliseconds(900));
    EXPECT_TRUE(pace.leaves_to_peers(begin + milliseconds(900)));
    EXPECT_FALSE(pace.leaves_to_peers(begin + milliseconds(2'500)))
        << "pieces of more than two seconds ago say nothing of now";
    pace.from_source(1, begin + milliseconds(60'000));
    pace.from_peer(kMiB, begin + milliseconds(60'000));
    EXPECT_FALSE(pace.leaves_to_peers(begin + milliseconds(60'000)))
        << "sources that are asked for little could bring as much as before";
}

TEST(Pace, KnowsWhenPeersHaveFallenSilent) {
    Pace::Moment begin{};
    Pace pace(begin);
    EXPECT_FALSE(pace.peers_are_silent(begin)) << "they may be about to send";
    EXPECT_TRUE(pace.peers_are_silent(begin + milliseconds(3'001)));
    begin += milliseconds(60'000);
    pace.from_peer(1, begin);
    EXPECT_FALSE(pace.peers_are_silent(begin + Pace::kSilence));
    EXPECT_TRUE(pace.peers_are_silent(begin + Pace::kSilence + milliseconds(1)));
}

}  // namespace
}  // namespace gym::mirror
