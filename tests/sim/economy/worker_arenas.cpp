// The worker with its accomplices among the verifiers, and the coordinator with both.
#include <array>

#include "arena.hpp"
#include "work_season.hpp"

namespace gym::sim::economy {
namespace {

enum WorkerArm : std::size_t {
    kWorkerHonest,
    kOneWrong,
    kHalfWrong,
    kAllWrong,
    kWrongWithoutRecord,
    kRecordOfTinyUnits,
    kAnswersToTheProof,
    kSignsTwice,
    kLeavesWithItsStake,
    kWithoutAccomplice,
    kWrongPrefix,
    kWorkerArms
};

Wei a_unit(const Network& net) {
    return net.reward + net.bonus + net.cost + net.report_reward;
}
/// A unit that ends before its draw, or is drawn for certain, changes who is drawn for the others:
/// a verifier earns as much less as another one more.
Wei other_draws(const Network& net) {
    return static_cast<Wei>(net.params.worker.open_units_max + 2) * (net.report_reward - net.cost);
}
/// A prefix is paid without stake: what a colluding verifier that is drawn for it can pass.
Wei a_prefix(const Network& net) {
    return a_unit(net) + other_draws(net);
}
Wei all_units(const Network& net) {
    return static_cast<Wei>(net.params.worker.open_units_max) * a_unit(net);
}

constexpr std::array<Arm, kWorkerArms> kWorkerNames = {{
    {"honest", Claim::kHonest},
    {"one wrong unit once it is trusted"},
    {"half of its open units wrong"},
    {"all of its open units wrong"},
    {"a wrong unit without a record", Claim::kLoses, nullptr, all_units},
    {"a record of tiny units of its own, then all wrong", Claim::kLoses, nullptr, all_units},
    {"wrong, and answers its game to the proof"},
    {"signs two commitments to a unit", Claim::kLoses, nullptr, other_draws},
    {"a wrong unit, and thaws its stake at once"},
    {"one wrong unit, and no accomplice that announces first"},
    {"a prefix that it did not compute", Claim::kAtMost, a_prefix, a_prefix},
}};

WorkPlan worker_plan(const Network& net, std::size_t arm) {
    const std::uint64_t open = net.params.worker.open_units_max;
    WorkPlan plan;
    if (arm == kWorkerHonest) return plan;
    const bool all = arm == kAllWrong || arm == kRecordOfTinyUnits;
    plan.wrong = all ? open : 1;
    if (arm == kHalfWrong) plan.wrong = (open + 1) / 2;
    if (arm == kSignsTwice || arm == kWrongPrefix) plan.wrong = 0;
    plan.record = arm != kWrongWithoutRecord;
    plan.record_of_tiny = arm == kRecordOfTinyUnits;
    plan.answers = arm == kAnswersToTheProof;
    plan.signs_twice = arm == kSignsTwice;
    plan.leaves = arm == kLeavesWithItsStake;
    plan.no_accomplice = arm == kWithoutAccomplice || arm == kLeavesWithItsStake;
    plan.prefix = arm == kWrongPrefix;
    return plan;
}

Book play_worker(const Network& net, std::size_t arm, std::uint64_t seed) {
    return WorkSeason(net, worker_plan(net, arm), seed).run();
}

enum CoordinatorArm : std::size_t {
    kCoordinatorHonest,
    kWrongAggregate,
    kGarbageBefore,
    kTwoRecords,
    kPaysVoid,
    kPassesOverDraws,
    kAsksNoStake,
    kCoordinatorArms
};

/// Verifiers that are not drawn, or find no round, do not earn what they would have.
Wei reports_not_made(const Network& net) {
    return static_cast<Wei>(net.params.worker.open_units_max + 2) *
           (net.report_reward + net.reward + net.bonus);
}

constexpr std::array<Arm, kCoordinatorArms> kCoordinatorNames = {{
    {"honest", Claim::kHonest},
    {"a wrong aggregate"},
    {"a next record behind garbage"},
    {"two records of a round", Claim::kLoses, nullptr, reports_not_made},
    {"credits for units that were found wrong"},
    {"passes over its accomplice's draws", Claim::kAtMost, all_units, reports_not_made},
    {"gives units to an accomplice without a stake", Claim::kAtMost, all_units},
}};

Book play_coordinator(const Network& net, std::size_t arm, std::uint64_t seed) {
    WorkPlan plan;
    plan.wrong_aggregate = arm == kWrongAggregate;
    plan.garbage_before = arm == kGarbageBefore;
    plan.two_records = arm == kTwoRecords;
    plan.pays_void = arm == kPaysVoid;
    plan.passes_over = arm == kPassesOverDraws;
    plan.asks_no_stake = arm == kAsksNoStake;
    if (plan.pays_void || plan.passes_over || plan.asks_no_stake)
        plan.wrong = net.params.worker.open_units_max;
    return WorkSeason(net, plan, seed).run();
}

constexpr std::array kWorkers = {Account::kWorker, Account::kAccomplice};
constexpr std::array kWorkersOthers = {Account::kOwner, Account::kPeerA, Account::kPeerB,
                                       Account::kVerifiers};
constexpr std::array kCoordinators = {Account::kCoordinator, Account::kWorker,
                                      Account::kAccomplice};

}  // namespace

const Arena& worker_arena() {
    static const Arena arena{"worker", kWorkerNames, kWorkers, kWorkersOthers, play_worker};
    return arena;
}

const Arena& coordinator_arena() {
    static const Arena arena{"coordinator", kCoordinatorNames, kCoordinators, kWorkersOthers,
                             play_coordinator};
    return arena;
}

}  // namespace gym::sim::economy
