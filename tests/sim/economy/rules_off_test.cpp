// The simulator finds a hole where a rule is missing, so the other test can fail.
#include <gtest/gtest.h>

#include <ostream>

#include "history.hpp"

namespace gym::sim::economy {
namespace {

struct Hole {
    std::string_view name;
    const Arena& (*arena)();
    std::string_view arm;  ///< the beginning of its name
    void (*open)(Rules& rules);
    /// Only networks whose workers have one open unit: a worker with more of them loses the pay of
    /// all, which would hide what the missing rule is for.
    bool one_unit = false;
};

void PrintTo(const Hole& hole, std::ostream* out) {
    *out << hole.name;
}

const Hole kHoles[] = {
    {"NoStake", worker_arena, "one wrong unit, and", [](Rules& r) { r.stake_needed = false; },
     true},
    {"StakeThatIsWithdrawnAtOnce", worker_arena, "a wrong unit, and",
     [](Rules& r) { r.stake_thaws = false; }, true},
    {"MissedClocksThatCostNothing", worker_arena, "one wrong unit, and",
     [](Rules& r) { r.clocks_cost = false; }, true},
    {"NoShareOfVerifiers", worker_arena, "all of its open",
     [](Rules& r) { r.reports_paid = false; }},
    {"NoAudits", verifier_arena, "copies every", [](Rules& r) { r.reports_audited = false; }},
    {"NobodyRunsAggregates", coordinator_arena, "a wrong aggregate",
     [](Rules& r) { r.aggregates_checked = false; }},
    {"RecordsThatNeedNotChain", coordinator_arena, "a next record",
     [](Rules& r) { r.conflicts_slash = false; }},
    {"TreesWithoutSums", settler_arena, "a leaf more", [](Rules& r) { r.sums_in_tree = false; }},
    {"FallsThatNobodyProves", settler_arena, "takes from",
     [](Rules& r) { r.falls_disable = r.leaves_on_demand = false; }},
    {"LeftOutUnseen", settler_arena, "leaves an earner",
     [](Rules& r) { r.falls_disable = r.leaves_on_demand = false; }},
    {"TreesThatNobodySees", settler_arena, "withholds",
     [](Rules& r) { r.leaves_on_demand = false; }},
    {"NoGuardian", settler_arena, "gives itself", [](Rules& r) { r.guardian_acts = false; }},
    {"NoGrowthLimit", settler_arena, "the same, and", [](Rules& r) { r.growth_limited = false; }},
    {"ReleasesWithoutOrders", settler_arena, "releases deposits",
     [](Rules& r) { r.orders_signed = r.guardian_acts = false; }},
    {"LocksThatDoNotBind", owner_arena, "withdraws what", [](Rules& r) { r.locks_bind = false; }},
    {"UnitsThatNobodyCanDo", owner_arena, "deadlines that cut",
     [](Rules& r) { r.units_fit = r.prefixes_paid = false; }},
    {"NoLeastPrice", owner_arena, "a price of", [](Rules& r) { r.prices_have_floor = false; }},
    {"EmissionOnPay", owner_arena, "owns workers",
     [](Rules& r) { r.emission_within_burn = false; }},
    {"OrdersWithoutSignatures", thief_arena, "an order that it",
     [](Rules& r) { r.orders_signed = false; }},
    {"OrdersThatCountTwice", thief_arena, "an order a second",
     [](Rules& r) { r.orders_once = false; }},
    {"OrdersThatNeverExpire", thief_arena, "an order that has",
     [](Rules& r) { r.orders_expire = false; }},
    {"KeysWithoutALimit", thief_arena, "an order of the owner above",
     [](Rules& r) { r.keys_limited = false; }},
};

class RulesOff : public ::testing::TestWithParam<Hole> {};

/// Whether the deviation gains on average, or a season broke what is said of it.
bool is_found(const Tally& tally, const Hole& hole) {
    const Arena& arena = hole.arena();
    for (std::size_t arm = 1; arm < arena.arms.size(); ++arm) {
        if (!arena.arms[arm].name.starts_with(hole.arm)) continue;
        const ArmResult& result = tally.arms[arm];
        const bool pays =
            arena.arms[arm].claim == Claim::kLoses && result.gain.value() > result.gain.error();
        return pays || result.violations > 0;
    }
    ADD_FAILURE() << "no such deviation: " << hole.arm;
    return false;
}

/// Where chance decides, more histories are needed.
std::uint64_t histories_of(const Arena& arena) {
    return arena.tries == 1 ? 30 : 60;
}

bool is_for(const Hole& hole, std::uint64_t seed) {
    Dice dice(seed);  // as a history chooses its network
    return !hole.one_unit || random_network(dice.next(), Rules()).params.worker.open_units_max == 1;
}

TEST_P(RulesOff, ADeviationPaysOrSomebodyHonestLoses) {
    Rules rules;
    GetParam().open(rules);
    Tally off, on;
    for (std::uint64_t seed = 1; on.histories < histories_of(GetParam().arena()); ++seed) {
        if (!is_for(GetParam(), seed)) continue;
        play_history(GetParam().arena(), rules, seed, off);
        play_history(GetParam().arena(), Rules(), seed, on);
    }
    EXPECT_TRUE(is_found(off, GetParam()));
    EXPECT_FALSE(is_found(on, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Missing, RulesOff, ::testing::ValuesIn(kHoles),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace gym::sim::economy
