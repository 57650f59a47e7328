// Strategies played out with dice, against the formulas' verdicts: what happens to each unit and
// report is the protocol's rules (sampling, assignment, slash, exclusion), nothing of the formulas.
#include <gtest/gtest.h>

#include <cstdlib>

#include "gym/protocol/incentives.hpp"
#include "gym/protocol/sampling.hpp"
#include "incentives_dice.hpp"
#include "incentives_sample.hpp"

namespace gym::protocol {
namespace {

using testing::Dice;
using testing::Mean;
using testing::safe_params;

constexpr int kPlays = 10'000;

/// One batch of open units, `wrong` of them not computed; an accomplice takes the finder's part.
double play_worker(const IncentiveParams& p, std::uint64_t open, std::uint64_t wrong, Dice& dice) {
    const std::uint64_t colluding = colluding_verifiers(p.sampling);
    double balance = -static_cast<double>(open - wrong) * p.worker.unit_cost_tokens;
    std::uint64_t found = 0;
    for (std::uint64_t unit = 0; unit < open; ++unit) {
        const bool drawn = dice.ppm(p.sampling.floor_ppm);
        const bool honest_verifier = dice.below(p.sampling.verifiers) >= colluding;
        if (unit < wrong) {
            balance += p.worker.outside_gain_tokens;
            found += drawn && honest_verifier ? 1 : 0;
        }
    }
    if (found > 0) {
        // It never answers, so its clock runs out.
        const double stake = p.worker.stake_tokens * p.slash.missed_clock_ppm / kPpm;
        const double back = stake * (kPpm - p.slash.burned_ppm) / kPpm;
        balance -= stake - back;
        if (p.worker.credits_wait) return balance;
    }
    const double reward = p.worker.unit_reward_tokens;
    return balance +
           static_cast<double>(open - found) * (reward + reward * p.worker.bonus_ppm / kPpm);
}

IncentiveParams random_worker_params(Dice& dice) {
    IncentiveParams p = safe_params();
    p.sampling = {.floor_ppm = static_cast<std::uint32_t>(50'000 + dice.below(300'000)),
                  .verifiers = 2 + dice.below(10),
                  .colluding_ppm = static_cast<std::uint32_t>(dice.below(500'000))};
    p.worker.open_units_max = 1 + dice.below(6);
    p.worker.outside_gain_tokens = static_cast<double>(dice.below(3));
    p.worker.credits_wait = dice.below(2) == 0;
    p.worker.stake_tokens = 10 + static_cast<double>(dice.below(600));
    p.slash.burned_ppm = static_cast<std::uint32_t>(500'000 + dice.below(400'000));
    p.slash.compensation_ppm = (kPpm - p.slash.burned_ppm) / 2;
    p.slash.missed_clock_ppm = static_cast<std::uint32_t>(200'000 + dice.below(800'001));
    return p;
}

TEST(IncentivesSimulation, NoNumberOfWrongUnitsPaysWhereTheVerdictSaysSo) {
    int safe = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        Dice dice(seed);
        const IncentiveParams p = random_worker_params(dice);
        const Strategy best = best_cheat(p);
        const bool verdict = testing::holds(p, "cheating_loses");
        bool profit_seen = false, profit_possible = false;
        for (std::uint64_t n = 1; n <= p.worker.open_units_max; ++n) {
            Mean all_wrong;
            for (int i = 0; i < kPlays; ++i)
                all_wrong.add(play_worker(p, n, n, dice));
            profit_seen = profit_seen || all_wrong.value() > all_wrong.noise();
            profit_possible = profit_possible || all_wrong.value() > -all_wrong.noise();
            if (n == best.count) {
                EXPECT_NEAR(all_wrong.value(), best.gain_tokens - best.loss_tokens,
                            all_wrong.noise())
                    << "seed " << seed;
            }
        }
        EXPECT_FALSE(verdict && profit_seen) << "seed " << seed;
        EXPECT_TRUE(verdict || profit_possible) << "seed " << seed;
        (verdict ? safe : refused) += 1;
    }
    EXPECT_GE(safe, 5);
    EXPECT_GE(refused, 5);
}

TEST(IncentivesSimulation, WhereCheatingLosesAFewWrongUnitsAmongRightOnesLoseToo) {
    for (std::uint64_t seed = 100; seed < 112; ++seed) {
        Dice dice(seed);
        IncentiveParams p = random_worker_params(dice);
        p.worker.outside_gain_tokens = 0;
        p.worker.open_units_max = 5;
        p.worker.stake_tokens = safe_bounds(p).stake_tokens * 1.2;
        ASSERT_TRUE(testing::holds(p, "cheating_loses"));
        Mean honest;
        for (int i = 0; i < kPlays; ++i)
            honest.add(play_worker(p, 5, 0, dice));
        for (std::uint64_t wrong = 1; wrong <= 5; ++wrong) {
            Mean partial;
            for (int i = 0; i < kPlays; ++i)
                partial.add(play_worker(p, 5, wrong, dice));
            EXPECT_LT(partial.value() - partial.noise(), honest.value())
                << "seed " << seed << ", " << wrong << " wrong";
        }
    }
}

enum class Habit : std::uint8_t { kHonest, kCopies, kStopsEarly };
enum class Span : std::uint8_t { kOneBatch, kForEver };

struct Outcome {
    double cost_tokens = 0;
    bool found_out = false;
};

Outcome play_report(const IncentiveParams& p, Habit habit, Dice& dice) {
    const bool canary = dice.ppm(p.verifier.canary_ppm);
    const double cost = p.verifier.unit_cost_tokens;
    if (habit == Habit::kHonest) return {cost, false};
    if (habit == Habit::kStopsEarly)
        return {cost * p.verifier.traced_ppm / kPpm, canary && !dice.ppm(p.verifier.traced_ppm)};
    const bool partner = dice.ppm(p.verifier.double_ppm) &&
                         dice.below(p.sampling.verifiers) >= colluding_verifiers(p.sampling);
    return {0, dice.ppm(p.verifier.audit_ppm) || canary || partner};
}

/// A verifier's life, which begins with a batch of reports that are pending together. After each
/// batch it leaves with a chance of 1 in (reports_ahead + 1); being found out ends it too.
double play_verifier(const IncentiveParams& p, Habit habit, Span span, std::uint64_t batch,
                     Dice& dice) {
    const auto ahead = static_cast<std::uint64_t>(p.verifier.reports_ahead);
    double balance = 0;
    do {
        bool found_out = false;
        for (std::uint64_t i = 0; i < batch; ++i) {
            const Outcome one = play_report(p, habit, dice);
            balance -= one.cost_tokens;
            found_out = found_out || one.found_out;
        }
        if (found_out) return balance - p.verifier.stake_tokens;
        balance += static_cast<double>(batch) * p.verifier.report_reward_tokens;
        if (span == Span::kOneBatch) habit = Habit::kHonest;
        batch = 1;
    } while (dice.below(ahead + 1) != 0);
    return balance;
}

Mean mean_of(const IncentiveParams& p, Habit habit, Span span, std::uint64_t batch, Dice& dice) {
    Mean out;
    for (int i = 0; i < kPlays; ++i)
        out.add(play_verifier(p, habit, span, batch, dice));
    return out;
}

TEST(IncentivesSimulation, LazyVerifiersEarnLessWhereTheVerdictSaysSo) {
    int safe = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Dice dice(seed);
        IncentiveParams p = safe_params();
        p.verifier.reports_ahead = static_cast<double>(dice.below(20));
        p.verifier.reports_pending_max = 1 + dice.below(4);
        p.verifier.stake_tokens = static_cast<double>(dice.below(20));
        p.verifier.audit_ppm = static_cast<std::uint32_t>(dice.below(300'000));
        p.verifier.canary_ppm = static_cast<std::uint32_t>(dice.below(300'000));
        p.verifier.double_ppm = static_cast<std::uint32_t>(dice.below(200'000));
        for (const Habit habit : {Habit::kCopies, Habit::kStopsEarly}) {
            const bool copies = habit == Habit::kCopies;
            const bool verdict =
                testing::holds(p, copies ? "copying_loses" : "stopping_early_loses");
            bool lazy_pays = false, lazy_may_pay = false;
            for (std::uint64_t batch = 1; batch <= p.verifier.reports_pending_max; ++batch) {
                const Mean honest = mean_of(p, Habit::kHonest, Span::kForEver, batch, dice);
                for (const Span span : {Span::kOneBatch, Span::kForEver}) {
                    const Mean lazy = mean_of(p, habit, span, batch, dice);
                    const double noise = honest.noise() + lazy.noise();
                    lazy_pays = lazy_pays || lazy.value() > honest.value() + noise;
                    lazy_may_pay = lazy_may_pay || lazy.value() > honest.value() - noise;
                }
            }
            EXPECT_FALSE(verdict && lazy_pays) << "seed " << seed << ", copies " << copies;
            EXPECT_TRUE(verdict || lazy_may_pay) << "seed " << seed << ", copies " << copies;
            (verdict ? safe : refused) += 1;
        }
    }
    EXPECT_GE(safe, 4);
    EXPECT_GE(refused, 4);
}

/// What a challenger in the right gains by a game of `moves` moves. An accomplice of the cheat was
/// first and has the reward; other games of `others` moves in all were won, too.
double play_prover(const IncentiveParams& p, std::uint64_t moves, std::uint64_t others,
                   Dice& dice) {
    const ChallengeTerms& c = p.challenge;
    const double gas =
        static_cast<double>(c.challenger_gas) + 2.0 * static_cast<double>(c.defender_gas);
    const double spent = gas * c.gas_price_gwei * 1e-9 * c.ether_price_tokens;
    if (dice.ppm(c.outage_ppm)) return -spent - c.bond_tokens;
    const double lost = p.worker.stake_tokens * p.slash.missed_clock_ppm / kPpm;
    const double pot = lost * p.slash.compensation_ppm / kPpm;
    return pot * static_cast<double>(moves) / static_cast<double>(moves + others) - spent;
}

IncentiveParams random_challenge_params(Dice& dice) {
    IncentiveParams p = safe_params();
    p.worker.stake_tokens = 200 + static_cast<double>(dice.below(3'000));
    p.slash.missed_clock_ppm = static_cast<std::uint32_t>(300'000 + dice.below(700'001));
    p.slash.compensation_ppm = static_cast<std::uint32_t>(50'000 + dice.below(150'000));
    p.challenge.outage_ppm = static_cast<std::uint32_t>(dice.below(100'000));
    p.challenge.provers = 1 + dice.below(6);
    return p;
}

TEST(IncentivesSimulation, AProverThatIsNeverFirstGainsWhereTheVerdictSaysSo) {
    constexpr std::uint64_t kMoves = 20;
    int safe = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Dice dice(seed);
        const IncentiveParams p = random_challenge_params(dice);
        Mean gain;
        for (int i = 0; i < kPlays; ++i)
            gain.add(play_prover(p, kMoves, kMoves * (p.challenge.provers - 1), dice));
        const bool verdict = testing::holds(p, "challenging_pays");
        EXPECT_FALSE(verdict && gain.value() < -gain.noise()) << "seed " << seed;
        EXPECT_FALSE(!verdict && gain.value() > gain.noise()) << "seed " << seed;
        (verdict ? safe : refused) += 1;
    }
    EXPECT_GE(safe, 10);
    EXPECT_GE(refused, 10);
}

/// More games than the verdict counts on cost their players more than they take from others.
TEST(IncentivesSimulation, WhoDilutesTheCompensationLosesMultiplesOfWhatItTakes) {
    constexpr std::uint64_t kMoves = 20;
    int taken = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Dice dice(seed);
        IncentiveParams p = random_challenge_params(dice);
        p.challenge.outage_ppm = 0;
        if (!testing::holds(p, "challenging_pays")) continue;
        const std::uint64_t others = kMoves * (1 + dice.below(100));
        const double honest = play_prover(p, kMoves, others, dice);
        if (honest >= 0) continue;
        ++taken;
        const double games = static_cast<double>(others) / kMoves;
        const double attackers = games * play_prover(p, kMoves, others, dice);
        EXPECT_LE(attackers, honest * static_cast<double>(p.challenge.provers - 1))
            << "seed " << seed;
    }
    EXPECT_GT(taken, 20);
}

}  // namespace
}  // namespace gym::protocol
