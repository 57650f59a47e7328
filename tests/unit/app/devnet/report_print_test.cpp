// The demo's report for people.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "gym/devnet/report.hpp"

namespace gym::devnet {
namespace {

Amount tokens(const char* text) {
    return Amount::parse_tokens(text).value();
}

/// Of a worker that cheated and a verifier that found it.
Report report() {
    Report out;
    out.workers = {{.name = "worker-1", .cheats = true, .excluded = "step 7 differs"}};
    out.verifier = {.name = "verifier", .reports = 6, .paid = tokens("0.5")};
    out.provider = {.licence = "CC0-1.0",
                    .tokens = 4'000'000,
                    .price_wei_per_mtoken = tokens("0.1"),
                    .novelty_ppm = 970'000,
                    .usefulness_ppm = 500'000,
                    .quality_ppm = 485'000,
                    .paid = tokens("0.04")};
    out.ledger.transfers = 90;
    out.ledger.credits = {
        {"compute", tokens("0.06")}, {"verification", tokens("0.07")}, {"data", tokens("0.04")}};
    out.ledger.epochs = {{.epoch = 1, .total_cumulative = tokens("0.17")}};
    out.ledger_paid = tokens("0.17");
    out.ledger_sum_wei = "0";
    out.losses_signed = out.losses_verified = 2;
    DisputeReport dispute;
    dispute.slashed = tokens("100");
    dispute.burned = tokens("62.5");
    dispute.reward = tokens("37.5");
    out.dispute = dispute;
    return out;
}

TEST(ReportText, HasARowForTheVerifierThatWasPaid) {
    const std::string text = to_text(report());
    const std::size_t row = text.find("\nverifier ");
    ASSERT_NE(row, std::string::npos) << text;
    const std::string line = text.substr(row + 1, text.find('\n', row + 1) - row - 1);
    EXPECT_TRUE(line.ends_with("-        -       -                     0.5")) << line;
    EXPECT_NE(text.find("ran 6 units again"), std::string::npos) << text;
    const auto json = boost::json::parse(to_json(report(), {}));
    EXPECT_EQ(json.at("verifier").at("paid_wei").as_string(), tokens("0.5").to_string());
}

TEST(ReportText, SaysWhichPartOfASlashIsBurnedAndWhy) {
    const std::string text = to_text(report());
    EXPECT_NE(text.find("stake taken 100 GYM: 62.5 burned (62.5 %, so that a cheat that reports "
                        "itself still loses it), 37.5 to the verifier"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("proved other faults"), std::string::npos) << "there were none";
    EXPECT_EQ(report().dispute->burned_ppm(), 625'000U);
    EXPECT_EQ(DisputeReport().burned_ppm(), 0U) << "nothing is taken yet";
}

TEST(ReportText, SaysWhichPartOfASlashOtherProversHave) {
    Report two_faults = report();
    two_faults.dispute->burned = tokens("50");
    two_faults.dispute->compensation = tokens("12.5");
    const std::string text = to_text(two_faults);
    EXPECT_NE(text.find("37.5 to the verifier that found it, 12.5 for games that proved other "
                        "faults of it\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(boost::json::parse(to_json(two_faults, {})).at("dispute").at("compensation_wei"),
              boost::json::value(tokens("12.5").to_string()));
}

TEST(ReportText, TellsWhatWasCreditedForWhat) {
    const std::string text = to_text(report());
    EXPECT_NE(text.find("credited: compute 0.06, verification 0.07, uptime 0, data 0.04 GYM, in "
                        "90 transfers\n  data: 4000000 tokens of text under CC0-1.0, 0.1 GYM a "
                        "million, quality 48.5 % (novelty 97 %, usefulness 50 %, the default)\n"
                        "payout epochs 1, rows in all audit views 0\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\ndata-provider "), std::string::npos) << text;
    Report measured = report();
    measured.provider.evaluation = Digest{};
    EXPECT_NE(to_text(measured).find("usefulness 50 %, measured)"), std::string::npos);
    EXPECT_EQ(boost::json::parse(to_json(measured, {})).at("provider").at("evaluation"),
              boost::json::value(Digest{}.hex()));
    const auto json = boost::json::parse(to_json(report(), {}));
    EXPECT_EQ(json.at("data_credit_wei").as_string(), tokens("0.04").to_string());
    EXPECT_EQ(json.at("uptime_credit_wei").as_string(), "0");
    EXPECT_EQ(json.at("compute_credit_wei").as_string(), tokens("0.06").to_string());
    EXPECT_EQ(json.at("verification_credit_wei").as_string(), tokens("0.07").to_string());
    EXPECT_EQ(json.at("ledger_transfers").to_number<int>(), 90);
    EXPECT_EQ(json.at("audit_violations").to_number<int>(), 0);
    EXPECT_EQ(json.at("epochs").as_array().size(), 1U);
    EXPECT_EQ(json.at("epochs").at(0).at("total_cumulative_wei").as_string(),
              tokens("0.17").to_string());
    EXPECT_EQ(json.at("provider").at("quality_ppm").to_number<int>(), 485'000);
}

bool says(const std::vector<std::string>& failed, const std::string& part) {
    return std::ranges::any_of(
        failed, [&](const auto& sentence) { return sentence.find(part) != std::string::npos; });
}

TEST(ReportChecks, RoundsAndLossAreThoseOfTheJob) {
    Report short_job = report();
    short_job.rounds = short_job.rounds_planned = 2;
    short_job.validation_losses = {5.9, 5.7};
    const auto of_default = failed_checks(short_job, {.final_loss_max = 2.55});
    EXPECT_TRUE(says(of_default, "the last validation loss is above 2.55"));
    const auto failed = failed_checks(short_job, {});
    EXPECT_FALSE(says(failed, "rounds were aggregated"));
    EXPECT_FALSE(says(failed, "validation loss"));

    short_job.losses_verified = 1;
    EXPECT_TRUE(says(failed_checks(short_job, {}), "not every validation loss"));
    short_job.rounds_planned = 3;
    EXPECT_TRUE(says(failed_checks(short_job, {}), "2 rounds were aggregated, not the job's 3"));
    short_job.validation_losses = {5.7, 5.7};
    EXPECT_TRUE(says(failed_checks(short_job, {}), "not below the first"));
    short_job.validation_losses = {5.7};
    EXPECT_FALSE(says(failed_checks(short_job, {}), "not below the first")) << "only one round";
    for (const std::vector<double>& losses : {std::vector<double>(), {std::nan("")}}) {
        short_job.validation_losses = losses;
        EXPECT_TRUE(says(failed_checks(short_job, {}), "not below the first"));
    }
    EXPECT_TRUE(says(failed_checks(Report(), {}), "0 rounds were aggregated"));
}

TEST(ReportChecks, AWorkerWithoutAUnitIsRightOnlyWhereSlotsAreFewer) {
    Report idle = report();
    idle.workers.push_back({.name = "worker-2"});
    idle.slots = 1;
    EXPECT_FALSE(says(failed_checks(idle, {}), "worker-2"));
    idle.slots = 2;
    EXPECT_TRUE(says(failed_checks(idle, {}), "worker-2 is honest and was not paid"));
    idle.slots = 1;
    idle.workers.back().units_unpaid = 1;
    EXPECT_TRUE(says(failed_checks(idle, {}), "worker-2 is honest and was not paid"));
    EXPECT_NE(to_text(idle).find("units that ended unpaid: 1\n"), std::string::npos);
}

TEST(ReportJson, HasTheVerdict) {
    const auto passed = boost::json::parse(to_json(report(), {}));
    EXPECT_TRUE(passed.at("passed").as_bool());
    EXPECT_TRUE(passed.at("failed_checks").as_array().empty());
    const auto failed = boost::json::parse(to_json(report(), {"nobody was paid"}));
    EXPECT_FALSE(failed.at("passed").as_bool());
    EXPECT_EQ(failed.at("failed_checks").at(0).as_string(), "nobody was paid");
}

TEST(ReportChecks, MoneyThatDoesNotAddUpFailsTheDemo) {
    const auto fails = [](const auto& change, const std::string& part) {
        Report changed = report();
        change(changed);
        return says(failed_checks(changed, {}), part);
    };
    const auto nothing = [](Report&) {};
    for (const char* part : {"nothing was credited", "the provider of the text", "audit views",
                             "the last payout epoch"})
        EXPECT_FALSE(fails(nothing, part)) << part;
    EXPECT_TRUE(
        fails([](Report& r) { r.ledger.credits.erase("data"); }, "nothing was credited for data"));
    EXPECT_TRUE(fails([](Report& r) { r.ledger.credits.erase("compute"); },
                      "nothing was credited for compute"));
    EXPECT_TRUE(fails([](Report& r) { r.ledger.credits.erase("verification"); },
                      "no verifier was credited"));
    EXPECT_TRUE(fails([](Report& r) { r.provider.paid = Amount(1); }, "the provider of the text"));
    EXPECT_TRUE(fails(
        [](Report& r) {
            r.ledger.audit_violations = 1;
            r.ledger.violated = {"rewards_paid_twice"};
        },
        "audit views have rows: rewards_paid_twice"));
    EXPECT_TRUE(fails([](Report& r) { r.ledger.epochs.clear(); }, "the last payout epoch"));
    EXPECT_TRUE(fails([](Report& r) { r.ledger.epochs[0].total_cumulative = Amount(1); },
                      "the last payout epoch"));
}

}  // namespace
}  // namespace gym::devnet
