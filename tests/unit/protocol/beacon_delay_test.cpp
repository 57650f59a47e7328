// The gain of grinding prevrandao for a coordinator, a worker and proposers that are one party, by
// the number of blocks from the root to the beacon (docs/PROTOCOL.md, "Choosing a draw").
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gym/protocol/sampling.hpp"

namespace gym::protocol {
namespace {

constexpr double kRate = 0.05;  // of a worker with a long record: kSamplingFloorPpm
/// Slots among which the party chooses the one with its root: two hours.
constexpr std::size_t kWait = 600;
constexpr int kDraws = 2'000;
constexpr std::uint32_t kSeed = 20'261'128;

/// The slots that the party proposes in, with this share of all validators.
std::vector<bool> proposers(double share, std::mt19937& random) {
    std::bernoulli_distribution is_its_own(share);
    std::vector<bool> out(kWait + 2 * kBeaconDelayBlocks);
    std::generate(out.begin(), out.end(), [&] { return is_its_own(random); });
    return out;
}

/// How many proposals of its own, one after another, end with the one before the beacon's block:
/// each can be withheld, which draws again. Only those that are before `known` count.
unsigned own_at_the_end(const std::vector<bool>& slots, std::size_t beacon, std::size_t known) {
    unsigned out = 0;
    for (std::size_t at = beacon; at-- > 0 && slots[at] && out < 8;)
        if (at < known) ++out;
    return out;
}

/// The chance that a unit is drawn although the party sends its root when that suits it best and
/// then takes the best of the draws that it has: each block that it can withhold doubles them.
double chance(double share, std::uint32_t delay_blocks) {
    std::mt19937 random(kSeed);
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
        const std::vector<bool> slots = proposers(share, random);
        std::size_t best = 0;
        unsigned most = 0;
        // It knows the proposers of kProposersKnownSlots slots, the root's among them.
        for (std::size_t root = 0; root < kWait; ++root) {
            const unsigned seen =
                own_at_the_end(slots, root + delay_blocks, root + kProposersKnownSlots);
            const bool last_is_known = delay_blocks <= kProposersKnownSlots;
            if (last_is_known && seen > most) {
                most = seen;
                best = root;
            }
        }
        const unsigned own = own_at_the_end(slots, best + delay_blocks, slots.size());
        sum += std::pow(kRate, std::pow(2, own));
    }
    return sum / kDraws;
}

/// By how many rewards of a unit a stake must exceed it for a cheat to pay nothing at this chance.
double stake_of(double chance) {
    return (1 - chance) / chance;
}

TEST(BeaconDelay, AFewBlocksLetTwoProposersPassOverAnyUnit) {
    for (const std::uint32_t delay : {1U, 2U, 4U, 32U, 64U})
        EXPECT_GT(stake_of(chance(0.10, delay)), 50'000)
            << delay << " blocks: it knows two proposals of its own in a row, and waits for them";
}

TEST(BeaconDelay, TheDefaultLeavesTheShareThatChanceGives) {
    // Whoever proposes last before the beacon's block is drawn after the root is on chain.
    for (const double share : {0.01, 0.05, 0.10, 0.25}) {
        const double drawn = chance(share, kBeaconDelayBlocks);
        EXPECT_GT(drawn, kRate * (1 - share) * 0.95) << share;
        EXPECT_LT(drawn, kRate * (1 - share) * 1.05 + kRate * kRate) << share;
        EXPECT_LT(stake_of(drawn), stake_of(kRate) / (1 - share) * 1.1) << share;
    }
    EXPECT_GE(kBeaconDelayBlocks, kProposersKnownSlots + 2) << "neither of the last two is known";
}

}  // namespace
}  // namespace gym::protocol
