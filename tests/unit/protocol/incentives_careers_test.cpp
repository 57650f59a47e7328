// A worker that adapts: it fills its record where that is cheap, and then cheats where that pays.
// The rates and stakes are the protocol's own functions.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "gym/protocol/sampling.hpp"
#include "gym/protocol/stake_rule.hpp"
#include "incentives_dice.hpp"
#include "incentives_sample.hpp"
#include "random_seed.hpp"

namespace gym::protocol {
namespace {

using testing::Dice;
using testing::Mean;

constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
/// Of the pay: the work itself, the network's fee on a job of one's own, the uptime bonus.
constexpr double kCost = 0.6, kFee = 0.03, kBonus = 0.05;
constexpr double kBurned = 0.5;
constexpr std::uint64_t kVerifiers = 10, kColluding = 3;

/// Units that pay so many wei for 10^15 FLOPs, ordered by somebody else or by the worker itself.
struct Job {
    std::uint64_t pay = 0;
    bool own = false;

    [[nodiscard]] Amount value() const { return work_value(kPflop, Amount(pay)).value(); }
    [[nodiscard]] double profit() const {
        const auto whole = static_cast<double>(pay);
        return own ? -whole * (kCost + kFee) : whole * (1 + kBonus - kCost);
    }
};
constexpr std::array kJobs = {Job{1, true},     Job{100, true},    Job{100, false},
                              Job{1'000, true}, Job{1'000, false}, Job{100'000, false}};

/// `right` units of one job in a row, then `wrong` ones of another at once.
struct Career {
    Job before;
    std::uint64_t right = 0;
    Job then;
    std::uint64_t wrong = 1;
};

/// Which stake a network demands for a unit of the job.
using StakeFor = Amount (*)(const Job&);

Amount by_value(const Job& job) {
    const StakeRule rule{Amount(1'000), kStakePerUnitPay};
    return stake_needed(rule, {Amount(job.pay), kPflop, 1}).value();
}
Amount the_same_for_all(const Job&) {
    return Amount(60'000);  // enough for units that pay 1,000
}

/// A career's numbers in wei, which chance does not change.
struct Odds {
    std::uint32_t rate_ppm = 0;
    double pay = 0;           ///< of all wrong units
    double honest = 0;        ///< the profit of the same units done right
    double record_costs = 0;  ///< work for oneself: the price of the record
    double stake = 0;
};

Odds odds_of(const Career& career, StakeFor stake_for) {
    const Amount record = career.before.value().mul_div(Amount(career.right), Amount(1)).value();
    const auto wrong = static_cast<double>(career.wrong);
    Odds out;
    out.rate_ppm = sampling_rate_ppm(units_worth(record, career.then.value()), {});
    out.pay = wrong * static_cast<double>(career.then.pay) * (1 + kBonus);
    out.honest = wrong * career.then.profit();
    if (career.before.own)
        out.record_costs = -career.before.profit() * static_cast<double>(career.right);
    out.stake = static_cast<double>(stake_for(career.then).to_u64().value());
    return out;
}

/// The gain, less that of the same units done right. An accomplice takes what is not burned.
double play(const Odds& odds, std::uint64_t wrong, Dice& dice) {
    bool caught = false;
    for (std::uint64_t unit = 0; unit < wrong; ++unit)
        caught = (dice.ppm(odds.rate_ppm) && dice.below(kVerifiers) >= kColluding) || caught;
    const double made = caught ? -kBurned * odds.stake : odds.pay;
    return made - odds.honest - odds.record_costs;
}

std::vector<Career> careers() {
    std::vector<Career> out;
    for (const Job& before : kJobs)
        for (const std::uint64_t right : {0U, 1U, 5U, 20U, 200U, 2'000U})
            for (const Job& then : kJobs)
                for (const std::uint64_t wrong : {1U, 2U, 8U, 30U})
                    if (!then.own) out.push_back({before, right, then, wrong});
    return out;
}

/// The careers that pay, beyond chance.
std::vector<Career> that_pay(StakeFor stake_for, std::uint64_t seed) {
    std::vector<Career> out;
    Dice dice(seed);
    const auto plays = static_cast<int>(20'000 * gym::testing::test_scale());
    for (const Career& career : careers()) {
        const Odds odds = odds_of(career, stake_for);
        Mean gain;
        for (int i = 0; i < plays; ++i)
            gain.add(play(odds, career.wrong, dice));
        if (gain.value() > gain.noise()) out.push_back(career);
    }
    return out;
}

TEST(Careers, NoRecordMakesCheatingPayWhereStakeFollowsValue) {
    for (const Career& career : that_pay(by_value, 1))
        ADD_FAILURE() << career.right << " right units that pay " << career.before.pay << ", then "
                      << career.wrong << " wrong ones that pay " << career.then.pay;
}

/// So the test above can fail.
TEST(Careers, OneStakeForAllUnitsLeavesTheDearOnesToCheats) {
    const auto paying = that_pay(the_same_for_all, 2);
    EXPECT_FALSE(paying.empty());
    for (const Career& career : paying)
        EXPECT_EQ(career.then.pay, 100'000U) << "only these pay more than the stake covers";
}

/// What a record of one's own making costs is more than the pay of the unit that it is for.
TEST(Careers, ARecordOfOnesOwnCostsMoreThanTheUnitItIsForPays) {
    const Job dear{100'000, false};
    for (const Job& job : kJobs) {
        if (!job.own) continue;
        std::uint64_t units = 0;
        while (sampling_rate_ppm(
                   units_worth(job.value().mul_div(Amount(units), Amount(1)).value(), dear.value()),
                   {}) > kSamplingFloorPpm)
            units = units == 0 ? 1 : units + units / 8 + 1;
        EXPECT_GT(-job.profit() * static_cast<double>(units),
                  static_cast<double>(dear.pay) * (1 + kBonus))
            << job.pay;
    }
}

}  // namespace
}  // namespace gym::protocol
