// Random histories through the whole accounting, against what the rules give for the plan alone.
#include <algorithm>
#include <random>

#include "gym/rewards/formulas.hpp"
#include "random_seed.hpp"
#include "rewards_fixture.hpp"

namespace gym::rewards {
namespace {

using testing::PlannedUnit;

constexpr std::uint64_t kBudget = 1'000'000'000;
const Amount kPrice(1'000);  // as funded_job()

class RewardProperties : public RewardsTest {
  protected:
    RewardProperties() {
        config_.fees.fee_ppm = 12'345;
        config_.fees.burned_ppm = 333'333;
        config_.fees.account = testing::test_address(0x81, 1);
        restart();
    }
    std::vector<PlannedUnit> any_round() {
        constexpr Fate kFates[] = {Fate::kVerified, Fate::kUnsampled, Fate::kRejected,
                                   Fate::kExpired};
        std::vector<PlannedUnit> units;
        // A worker has one slot of a round.
        for (std::size_t worker = 0; worker < 3; ++worker)
            if (random_() % 4 != 0)
                units.push_back({worker, random_() % 5 == 0 ? 0 : random_() % (50 * kPflop),
                                 kFates[random_() % 4]});
        std::shuffle(units.begin(), units.end(), random_);
        return units;
    }
    Amount payable(const Address& earner) { return summary_of(earner).payable; }

    const std::uint64_t seed_ = testing::random_seed();
    std::mt19937_64 random_{seed_};
    ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GYM_TEST_SEED=" + std::to_string(seed_)};
};

void add(Amount& to, const Amount& amount) {
    to = *to.plus(amount);
}

/// The credits of a plan by the formulas alone.
struct Expected {
    std::map<Address, Amount> of;

    void round(const testing::History& history, const std::vector<PlannedUnit>& units,
               const FeeTerms& fees) {
        Amount charged;
        const auto give = [&](const Address& earner, const Amount& amount) {
            add(of[earner], amount);
            add(charged, amount);
        };
        for (const PlannedUnit& unit : units) {
            const Amount compute = *compute_credit(unit.flops, kPrice);
            if (unit.fate == Fate::kVerified || unit.fate == Fate::kUnsampled) {
                give(history.earner(unit.worker), compute);
                give(history.earner(unit.worker), *uptime_bonus(compute, kPpm, 50'000));
            }
            if (unit.fate == Fate::kVerified || unit.fate == Fate::kRejected)
                give(history.verifier_earner(),
                     *verification_credit(unit.flops, kPrice, 1'100'000));
        }
        const Fee fee = *fee_of(charged, fees.fee_ppm, fees.burned_ppm);
        add(of[fees.account], fee.kept);
        add(of[kBurnAddress], fee.burned);
    }
    [[nodiscard]] Amount total() const {
        Amount sum;
        for (const auto& [earner, amount] : of)
            add(sum, amount);
        return sum;
    }
};

TEST_F(RewardProperties, OnlyFinalUnitsAreCreditedEachOnceAndTheSumsAreExact) {
    const Digest job = funded_job(kBudget);
    Expected expected;
    for (int round = 0; round < 6; ++round) {
        const auto units = any_round();
        if (units.empty()) continue;
        history_.run_round(job, units);
        expected.round(history_, units, config_.fees);
        for (int i = 0; i < 4; ++i) {  // an epoch wherever it falls, and events read again
            chain_.delivered = random_() % 3 == 0 ? 0 : chain_.delivered;
            restart();
            tick();
        }
    }
    for (int i = 0; i < 8; ++i)
        tick();
    for (const auto& [earner, amount] : expected.of)
        EXPECT_EQ(payable(earner), amount) << earner.hex();
    const Amount left = balance(escrow_account(asset(), job)).spendable();
    EXPECT_EQ(*left.plus(expected.total()), Amount(kBudget)) << "to the last unit";
    EXPECT_EQ(chain_.distributor, expected.total());
}

/// The same work in another order of slots, and of rounds, earns the same.
TEST_F(RewardProperties, TheOrderOfTheWorkDoesNotMatter) {
    std::vector<std::vector<PlannedUnit>> plan;
    while (plan.size() < 4)
        if (auto units = any_round(); !units.empty()) plan.push_back(std::move(units));
    std::map<Address, Amount> first;
    const std::vector<Address> earners = {history_.earner(0),   history_.earner(1),
                                          history_.earner(2),   history_.verifier_earner(),
                                          config_.fees.account, kBurnAddress};
    for (int pass = 0; pass < 2; ++pass) {
        const Digest job = funded_job(kBudget, "job " + std::to_string(pass));
        for (const auto& units : plan)
            history_.run_round(job, units);
        for (int i = 0; i < 10; ++i)
            tick();
        for (const Address& earner : earners) {
            if (pass == 0) first[earner] = payable(earner);
            EXPECT_EQ(payable(earner), *first[earner].mul_div(Amount(pass + 1U), Amount(1)))
                << earner.hex();
        }
        std::shuffle(plan.begin(), plan.end(), random_);
        for (auto& units : plan)
            std::shuffle(units.begin(), units.end(), random_);
    }
}

/// One worker's unit in one job, cut into three workers' in another.
TEST_F(RewardProperties, ThreeNodesNeverEarnMoreThanOneForTheSameWork) {
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t whole = 3 + random_() % (50 * kPflop);
        const std::uint64_t a = random_() % whole, b = random_() % (whole - a);
        const auto earned = [&] {
            Amount sum;
            for (std::size_t worker = 0; worker < 3; ++worker)
                add(sum, payable(history_.earner(worker)));
            return sum;
        };
        const Amount before = earned();
        const std::string name = std::to_string(i);
        history_.run_round(funded_job(kBudget, "one " + name), {{0, whole, Fate::kUnsampled}});
        for (int k = 0; k < 6; ++k)
            tick();
        const Amount after_one = earned();
        history_.run_round(funded_job(kBudget, "three " + name),
                           {{0, a, Fate::kUnsampled},
                            {1, b, Fate::kUnsampled},
                            {2, whole - a - b, Fate::kUnsampled}});
        for (int k = 0; k < 6; ++k)
            tick();
        EXPECT_LE(*earned().minus(after_one), *after_one.minus(before)) << whole;
    }
}

}  // namespace
}  // namespace gym::rewards
