// What verification costs a job of honest workers: drawn by the coordinator's rule with a job's
// default terms, credited by gym-rewards.
#include <cstdio>
#include <string>

#include "gym/protocol/sampling.hpp"
#include "gym/registry/nodes.hpp"
#include "rewards_fixture.hpp"

namespace gym::rewards {
namespace {

constexpr std::size_t kWorkers = 3;
constexpr std::uint64_t kYoungRounds = 40, kTrustedRounds = 80;

/// What a job's credits of two kinds add up to, in wei.
struct Totals {
    std::uint64_t compute = 0;
    std::uint64_t verification = 0;

    [[nodiscard]] Totals since(const Totals& before) const {
        return {compute - before.compute, verification - before.verification};
    }
    [[nodiscard]] double share() const {
        return static_cast<double>(verification) / static_cast<double>(compute);
    }
};

class VerificationShare : public RewardsTest {
  protected:
    static std::uint64_t units_of(const registry::Node& node) {
        const auto unit = protocol::work_value(kPflop, Amount(1'000));
        return protocol::units_worth(node.valid_value, unit.value());
    }
    /// A round in which every worker has a unit, drawn at the rate that its record has earned.
    void run_round(const Digest& job, std::uint64_t number) {
        history_.beacon = testing::test_digest("beacon " + std::to_string(number));
        const protocol::SamplingPolicy policy = registry::JobTerms().sampling;
        std::vector<testing::PlannedUnit> units;
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot) {
            const auto node = test_.owner().transact(
                [&](db::Transaction& tx) { return registry::get_node(tx, history_.worker(slot)); });
            ASSERT_TRUE(node.ok()) << node.error().message;
            const Digest unit = protocol::unit_id({job, number, slot, 0});
            const bool drawn = protocol::is_sampled(
                history_.beacon, unit, protocol::sampling_rate_ppm(units_of(*node), policy));
            units.push_back({slot, kPflop, drawn ? Fate::kVerified : Fate::kUnsampled});
        }
        history_.run_round(job, units);
    }
    Totals totals(const Digest& job) {
        const auto found =
            database_->transact([&](db::Transaction& tx) { return job_totals(tx, job); });
        EXPECT_TRUE(found.ok()) << found.error().message;
        Totals out;
        for (const KindTotal& total : found.value_or({})) {
            const std::uint64_t posted = std::stoull(total.posted.to_string());
            if (total.kind == CreditKind::kCompute) out.compute = posted;
            if (total.kind == CreditKind::kVerification) out.verification = posted;
        }
        return out;
    }
};

TEST_F(VerificationShare, TrustedWorkersCostLessThanATenthOfTheirCompute) {
    const Digest job = funded_job(100'000'000);
    for (std::uint64_t round = 1; round <= kYoungRounds; ++round)
        run_round(job, round);
    tick();
    const Totals young = totals(job);
    EXPECT_EQ(young.compute, kWorkers * kYoungRounds * 1'000);
    for (std::uint64_t round = kYoungRounds + 1; round <= kYoungRounds + kTrustedRounds; ++round)
        run_round(job, round);
    tick();
    const Totals trusted = totals(job).since(young);
    EXPECT_EQ(trusted.compute, kWorkers * kTrustedRounds * 1'000);
    std::printf(
        "verification: %.1f %% of compute in the first %llu rounds, %.1f %% in the next %llu\n",
        100 * young.share(), static_cast<unsigned long long>(kYoungRounds), 100 * trusted.share(),
        static_cast<unsigned long long>(kTrustedRounds));
    EXPECT_LT(trusted.share(), 0.10);
    EXPECT_GT(trusted.share(), 0.02) << "nobody is free of draws";
    EXPECT_GT(young.share(), trusted.share()) << "a record has to be earned";
}

}  // namespace
}  // namespace gym::rewards
