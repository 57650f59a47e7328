// What the demo tells people.
#include <gtest/gtest.h>

#include <boost/json.hpp>

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
    out.ledger_sum_wei = "0";
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
    const auto json = boost::json::parse(to_json(report()));
    EXPECT_EQ(json.at("verifier").at("paid_wei").as_string(), tokens("0.5").to_string());
}

TEST(ReportText, SaysWhichPartOfASlashIsBurnedAndWhy) {
    const std::string text = to_text(report());
    EXPECT_NE(text.find("stake taken 100 tokens: 62.5 burned (62.5 %, so that a cheat which finds "
                        "itself loses it), 37.5 to the verifier"),
              std::string::npos)
        << text;
    EXPECT_EQ(report().dispute->burned_ppm(), 625'000U);
    EXPECT_EQ(DisputeReport().burned_ppm(), 0U) << "nothing is taken yet";
}

}  // namespace
}  // namespace gym::devnet
