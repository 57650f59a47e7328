// What a job file says of rounds that do not wait, and of deltas that are too large.
#include <gtest/gtest.h>

#include "gym/registry/evaluation_bound.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::registry {
namespace {

Result<JobSpec> spec_with(const std::string& more) {
    const std::string text =
        "name: a\nmodel: m.yaml\ndataset: text.txt\nrounds: 3\nslots: 4\n"
        "workers_min: 1\nsteps_per_round: 5\ncheckpoint_every: 5\n"
        "price_per_pflop: \"1\"\nbudget: \"1\"\n";
    return parse_job_spec(text + more, "job.yaml");
}

JobTerms terms_with(const std::string& more) {
    const auto spec = spec_with(more);
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    return spec.ok() ? spec->terms : JobTerms();
}

TEST(Elastic, AJobWaitsUnlessItSaysOtherwise) {
    EXPECT_EQ(terms_with("").elastic, Elasticity());
    EXPECT_FALSE(Elasticity().hold_drawn);
    const Elasticity elastic =
        terms_with("elastic:\n  hold_drawn: true\n  quorum_ppm: 900000\n").elastic;
    EXPECT_TRUE(elastic.hold_drawn);
    EXPECT_EQ(elastic.quorum_ppm, 900'000U);
    EXPECT_FALSE(elastic.adapt_steps);
    EXPECT_FALSE(elastic.accept_late);
}

TEST(Elastic, LateUnitsAreTakenWithoutHoldingDrawnOnes) {
    const Elasticity elastic = terms_with("elastic:\n  accept_late: true\n").elastic;
    EXPECT_TRUE(elastic.accept_late);
    EXPECT_FALSE(elastic.hold_drawn);
    const auto spec = spec_with("elastic:\n  accept_late: perhaps\n");
    ASSERT_FALSE(spec.ok());
    EXPECT_NE(spec.error().message.find("'accept_late'"), std::string::npos)
        << spec.error().message;
}

TEST(Elastic, FraudIsKeptInTheModelOrSubtracted) {
    EXPECT_FALSE(terms_with("").elastic.subtract);
    EXPECT_FALSE(terms_with("elastic:\n  on_fraud: keep\n").elastic.subtract);
    EXPECT_TRUE(terms_with("elastic:\n  on_fraud: subtract\n").elastic.subtract);
    const auto spec = spec_with("elastic:\n  on_fraud: true\n");
    ASSERT_FALSE(spec.ok());
    EXPECT_NE(spec.error().message.find("'on_fraud' must be keep or subtract, not 'true'"),
              std::string::npos)
        << spec.error().message;
}

TEST(Elastic, RoundsOverlapByOneAtMost) {
    EXPECT_EQ(terms_with("elastic:\n  overlap: 0\n").elastic, Elasticity());
    const Elasticity elastic =
        terms_with("elastic:\n  overlap: 1\n  hold_drawn: true\n  quorum_ppm: 900000\n").elastic;
    EXPECT_EQ(elastic.overlap, 1U);
    EXPECT_TRUE(elastic.hold_drawn);
    EXPECT_FALSE(elastic.holds_deltas()) << "beside those of its own round";
    for (const char* bad : {"2", "-1", "true", "0.5"}) {
        const auto spec = spec_with("elastic:\n  overlap: " + std::string(bad) + "\n");
        ASSERT_FALSE(spec.ok()) << bad;
        EXPECT_NE(spec.error().message.find("'overlap'"), std::string::npos)
            << spec.error().message;
    }
}

TEST(Elastic, AnOverlapIsRefusedWithWhatItDoesNotWorkWith) {
    const auto refusal = [](const std::string& text) {
        const auto spec = spec_with(text);
        return spec.ok() ? "accepted" : spec.error().message;
    };
    const std::string withdrawn = refusal("elastic:\n  on_fraud: subtract\n  overlap: 1\n");
    EXPECT_NE(withdrawn.find("'overlap' must be 0 with on_fraud: subtract"), std::string::npos)
        << withdrawn;
    const std::string late = refusal("elastic:\n  accept_late: true\n  overlap: 1\n");
    EXPECT_NE(late.find("'overlap' must be 0 with accept_late: the aggregate that could take a "
                        "late delta is made before the epoch that has its commitment"),
              std::string::npos)
        << late;
    EXPECT_EQ(refusal("elastic:\n  accept_late: false\n  overlap: 1\n"), "accepted");
    EXPECT_EQ(refusal("elastic:\n  accept_late: true\n  overlap: 0\n"), "accepted");
    const auto one = parse_job_spec(
        "name: a\nmodel: m.yaml\ndataset: text.txt\nrounds: 1\nslots: 4\nsteps_per_round: 5\n"
        "price_per_pflop: \"1\"\nbudget: \"1\"\nelastic: {overlap: 1}\n",
        "job.yaml");
    ASSERT_FALSE(one.ok());
    EXPECT_NE(one.error().message.find("'overlap' must be 0 in a job of one round"),
              std::string::npos)
        << one.error().message;
}

TEST(DeltaNorms, AFactorBelowOneIsRefused) {
    EXPECT_EQ(terms_with("").delta_norm_factor, std::nullopt);
    EXPECT_EQ(terms_with("delta_norm_factor: 10\n").delta_norm_factor, 10);
    EXPECT_EQ(terms_with("delta_norm_factor: 1\n").delta_norm_factor, 1);
    for (const char* bad : {"0.99", "-1", ".nan", ".inf", "1e7", "much"}) {
        const auto spec = spec_with("delta_norm_factor: " + std::string(bad) + "\n");
        ASSERT_FALSE(spec.ok()) << bad;
        EXPECT_NE(spec.error().message.find("'delta_norm_factor'"), std::string::npos)
            << spec.error().message;
    }
}

TEST(LargestAggregate, HasADeltaOfEverySlotAndWhereDrawnUnitsAreHeldThoseOfTheRoundBefore) {
    JobTerms terms;
    terms.slots_max = 8;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{8, 0}));
    terms.elastic.hold_drawn = true;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{15, 7}));
    terms.slots_max = 1;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{1, 0}));
    terms.slots_max = 8'000;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{8'192, 192}));
    terms.elastic.subtract = true;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{8'192, 192, 16}));
    terms.slots_max = 8;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{31, 7, 16}));
    terms.elastic.hold_drawn = false;
    EXPECT_EQ(largest_aggregate(terms), (AggregateSize{24, 0, 16}));
}

TEST(EvaluationBound, IsTheWorkOfAUnitWhateverTheSlots) {
    JobTerms terms;
    terms.steps = 10;
    terms.slots_max = 300;
    const EvaluationWork large{.step = 1e12, .window = 1e10};
    terms.evaluate_windows = 1'000;
    EXPECT_TRUE(check_evaluation(terms, large).ok());
    terms.evaluate_windows = 1'001;
    const Status refused = check_evaluation(terms, large);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("more work than a unit; at most 1000"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(evaluate_windows_bound(terms, {.step = 1, .window = 1e10}), 10U)
        << "seconds on any machine";
}

}  // namespace
}  // namespace gym::registry
