#include "gym/common/save_pace.hpp"

#include <gtest/gtest.h>

namespace gym {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SavePace::Time kStart{seconds(1'000)};

TEST(SavePace, IsDueOnceTheIntervalIsOver) {
    SavePace pace(seconds(30), kStart);
    EXPECT_FALSE(pace.due(kStart + milliseconds(29'999)));
    EXPECT_TRUE(pace.due(kStart + seconds(30)));
    pace.saved(kStart + seconds(30), kStart + seconds(31));
    EXPECT_FALSE(pace.due(kStart + seconds(60)));
    EXPECT_TRUE(pace.due(kStart + seconds(61)));
}

TEST(SavePace, ASlowSaveIsFollowedByTwentyTimesAsMuchWork) {
    SavePace pace(seconds(30), kStart);
    pace.saved(kStart, kStart + seconds(10));
    EXPECT_FALSE(pace.due(kStart + seconds(209)));
    EXPECT_TRUE(pace.due(kStart + seconds(210)));
}

TEST(SavePace, AnIntervalOfZeroIsAlwaysDue) {
    SavePace pace(milliseconds(0), kStart);
    pace.saved(kStart, kStart + seconds(10));
    EXPECT_TRUE(pace.due(kStart + seconds(10)));
}

}  // namespace
}  // namespace gym
