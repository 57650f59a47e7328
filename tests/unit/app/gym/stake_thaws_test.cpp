// The worth of thaws after slashes, as Stake.sol pays them out.
#include <gtest/gtest.h>

#include "gym/contracts/stake.hpp"
#include "stake/stake_command.hpp"

namespace gym::app {
namespace {

contracts::StakeEvent staked(std::uint64_t amount) {
    return contracts::Staked{{}, {}, Amount(amount)};
}
contracts::StakeEvent thawing(std::uint64_t amount, std::uint64_t shares) {
    return contracts::ThawStarted{{}, Amount(amount), Amount(shares), 7};
}
contracts::StakeEvent withdrawn(std::uint64_t amount) {
    return contracts::StakeWithdrawn{{}, Amount(amount)};
}
contracts::StakeEvent slashed(std::uint64_t burned, std::uint64_t reward) {
    return contracts::Slashed{{}, {}, Amount(burned), Amount(reward), Amount(0)};
}

std::vector<std::uint64_t> worths(const std::vector<contracts::StakeEvent>& events,
                                  std::uint64_t count) {
    const auto thaws = open_thaws(events, count);
    EXPECT_TRUE(thaws.ok()) << thaws.error().message;
    std::vector<std::uint64_t> out;
    for (const OpenThaw& thaw : thaws.value_or({}))
        out.push_back(thaw.worth.to_u64().value());
    return out;
}
using Worths = std::vector<std::uint64_t>;

TEST(StakeThaws, AreWorthWhatTheyWereWithoutASlash) {
    EXPECT_EQ(worths({staked(10), thawing(3, 3), thawing(4, 4)}, 2), (Worths{3, 4}));
    EXPECT_EQ(worths({staked(10), thawing(3, 3), thawing(4, 4), withdrawn(3)}, 1), (Worths{4}));
}

TEST(StakeThaws, AreWorthNothingAfterASlashOfEverything) {
    const std::vector<contracts::StakeEvent> gone{staked(10), thawing(3, 3), slashed(6, 4)};
    EXPECT_EQ(worths(gone, 1), (Worths{0}));
    // Later slashes have nothing to do with it.
    auto later = gone;
    later.insert(later.end(), {staked(5), thawing(2, 2)});
    EXPECT_EQ(worths(later, 2), (Worths{0, 2}));
}

TEST(StakeThaws, ShareWhatASlashLeft) {
    // Active stake goes first: 2 of the thawing 4 are left, and new shares are bought at that
    // price.
    std::vector<contracts::StakeEvent> events{staked(10), thawing(4, 4), slashed(5, 3)};
    EXPECT_EQ(worths(events, 1), (Worths{2}));
    events.insert(events.end(), {staked(10), thawing(3, 6)});
    EXPECT_EQ(worths(events, 2), (Worths{2, 3}));
    EXPECT_EQ(open_thaws(events, 2)->front().amount, Amount(4));
}

TEST(StakeThaws, AreRoundedDownAndTheLastGetsTheRest) {
    const std::vector<contracts::StakeEvent> events{staked(9), thawing(3, 3), thawing(3, 3),
                                                    thawing(3, 3), slashed(2, 0)};
    EXPECT_EQ(worths(events, 3), (Worths{2, 2, 3}));
}

TEST(StakeThaws, RefuseLogsThatAreNotAllThere) {
    const std::vector<std::vector<contracts::StakeEvent>> cut{{}, {thawing(3, 3)}};
    for (const auto& events : cut) {
        const auto thaws = open_thaws(events, 1);
        ASSERT_FALSE(thaws.ok());
        EXPECT_EQ(thaws.error().code, ErrorCode::kMismatch);
    }
}

}  // namespace
}  // namespace gym::app
