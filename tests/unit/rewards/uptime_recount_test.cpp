#include "gym/rewards/uptime_recount.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "signed_round.hpp"

namespace gym::rewards {
namespace {

using namespace testing;

class UptimeRecountTest : public ::testing::Test {
  protected:
    UptimeRecountTest() {
        for (std::uint8_t i = 0; i < 4; ++i)
            challenges_.push_back(answered(i, 1'000 + 100 * i));
    }
    protocol::PublishedChallenge answered(std::uint8_t nonce, UnixMs issued_ms) const {
        protocol::PublishedChallenge out;
        out.challenge = {digest(nonce), issued_ms, issued_ms + 50};
        out.answered_at_ms = issued_ms + 20;
        out.signature = protocol::answer_uptime(domain_, node_, out.challenge).signature;
        return out;
    }
    Result<UptimeCount> recount() const {
        return recount_uptime(domain_, node_.address(), span_, challenges_);
    }
    std::string problem_after(const std::function<void(protocol::PublishedChallenge&)>& change) {
        const auto before = challenges_[1];
        change(challenges_[1]);
        const auto count = recount();
        challenges_[1] = before;
        return count.ok() ? "" : count.error().message;
    }

    const crypto::Eip712Domain domain_ = protocol::signing_domain(1, address(0xc0));
    const crypto::PrivateKey node_ = key(1);
    UptimeSpan span_{1'000, 2'000};
    std::vector<protocol::PublishedChallenge> challenges_;
};

TEST_F(UptimeRecountTest, SignedAnswersCountAndTheOthersWereIssued) {
    challenges_[1].answered_at_ms.reset();
    challenges_[1].signature.reset();
    challenges_[2].answered_at_ms.reset();
    challenges_[2].signature.reset();
    challenges_[2].withdrawn = true;
    const auto count = recount();
    ASSERT_TRUE(count.ok()) << count.error().message;
    EXPECT_EQ(count->answered, 2U);
    EXPECT_EQ(count->issued, 3U);
    EXPECT_EQ(count->withdrawn, 1U);
}

TEST_F(UptimeRecountTest, AnAnswerThatTheNodeDidNotGiveIsNamed) {
    const std::string name = "challenge " + digest(1).hex() + " to node ";
    const auto expect_named = [&](const char* why, const auto& change) {
        const std::string problem = problem_after(change);
        EXPECT_TRUE(problem.starts_with(name)) << problem;
        EXPECT_NE(problem.find(why), std::string::npos) << problem;
    };
    expect_named("signed by 0x", [](auto& c) { c.signature->data[40] ^= 1U; });
    expect_named("signed by 0x", [](auto& c) { c.challenge.issued_ms += 1; });
    expect_named("signed by 0x", [this](auto& c) {
        c.signature = protocol::answer_uptime(domain_, key(2), c.challenge).signature;
    });
    expect_named("signed by 0x", [this](auto& c) {
        const auto elsewhere = protocol::signing_domain(2, address(0xc0));
        c.signature = protocol::answer_uptime(elsewhere, node_, c.challenge).signature;
    });
    expect_named("signed by 0x", [this](auto& c) { c.signature = challenges_[0].signature; });
    expect_named("has a moment and a signature", [](auto& c) { c.signature.reset(); });
    expect_named("has a moment and a signature", [](auto& c) { c.answered_at_ms.reset(); });
    expect_named("withdrawn", [](auto& c) { c.withdrawn = true; });
    expect_named("within its time", [](auto& c) { c.answered_at_ms = c.challenge.issued_ms - 1; });
    expect_named("within its time",
                 [](auto& c) { c.answered_at_ms = c.challenge.deadline_ms + 1; });
    EXPECT_EQ(problem_after([](auto& c) { c.answered_at_ms = c.challenge.deadline_ms; }), "");
    EXPECT_EQ(problem_after([](auto& c) { c.answered_at_ms = c.challenge.issued_ms; }), "");
    expect_named("listed twice", [this](auto& c) {
        challenges_[0] = c;  // the copy stands before it
    });
}

TEST_F(UptimeRecountTest, ChallengesOfAnotherSpanAreNotTaken) {
    EXPECT_TRUE(recount().ok()) << "issued at the span's first moment";
    span_.from_ms = 1'001;
    EXPECT_NE(recount().error().message.find("not of the span"), std::string::npos);
    span_ = {1'000, 1'351};
    EXPECT_TRUE(recount().ok());
    span_.to_ms = 1'350;
    EXPECT_FALSE(recount().ok()) << "a deadline is over before the end";
}

}  // namespace
}  // namespace gym::rewards
