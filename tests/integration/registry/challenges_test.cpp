// Uptime challenges in the database: when they are issued, which answers count, what a node's
// uptime is.
#include "gym/registry/challenges.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "random_seed.hpp"
#include "registry_fixture.hpp"

namespace gym::registry::testing {
namespace {

using protocol::UptimeAnswer;
using protocol::UptimeChallenge;

class ChallengeTest : public RegistryDatabase {
  protected:
    ChallengeTest() {
        dice.nonce = [this] {
            Digest out;
            for (std::uint8_t& byte : out.data)
                byte = static_cast<std::uint8_t>(random());
            return out;
        };
        dice.wait_ms = [this] { return wait_ms; };
    }
    template <class F>
    auto call(F&& body) {
        auto result = coordinator->transact(std::forward<F>(body));
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
        return result;
    }
    std::uint32_t pass(UnixMs at) {
        return *call([&](db::Transaction& tx) { return issue_challenges(tx, policy, dice, at); });
    }
    void see(const Address& node, UnixMs at) {
        run([&](db::Transaction& tx) { return heartbeat(tx, node, at); });
    }
    std::optional<UptimeChallenge> open(const Address& node, UnixMs at) {
        const Sighting seen{node, at};
        const auto found = *call([&](db::Transaction& tx) {
            return open_challenges(tx, {&seen, 1});
        });
        return found.empty() ? std::nullopt : std::optional(found.at(node));
    }
    AnswerOutcome answer(const Address& node, const Digest& nonce, UnixMs at) {
        crypto::Signature signature;
        signature.data.back() = 27;
        const ArrivedAnswer arrived{node, UptimeAnswer{nonce, signature}, at};
        return call([&](db::Transaction& tx) {
                   return answer_challenges(tx, {&arrived, 1});
               })
            ->front();
    }
    Uptime measure(const Address& node, UnixMs from, UnixMs to) {
        return *call([&](db::Transaction& tx) { return uptime(tx, node, from, to); });
    }
    /// Moments are drawn, then everybody's has come.
    UnixMs asked() {
        pass(kNow);
        EXPECT_EQ(pass(kNow + wait_ms), nodes_known());
        return kNow + wait_ms;
    }
    std::uint32_t nodes_known() {
        return static_cast<std::uint32_t>(
            call([](db::Transaction& tx) { return list_nodes(tx, {}); })->size());
    }

    const std::uint64_t seed = gym::testing::random_seed();
    std::mt19937_64 random{seed};
    std::int64_t wait_ms = 5'000;
    ChallengeDice dice;
    ChallengePolicy policy;
};

TEST_F(ChallengeTest, ANodeIsAskedWhenItsMomentComesAndNotBefore) {
    EXPECT_EQ(pass(kNow), 0U) << "the first pass only draws";
    EXPECT_EQ(pass(kNow + wait_ms - 1), 0U);
    EXPECT_EQ(pass(kNow + wait_ms), nodes_known());
    EXPECT_EQ(pass(kNow + wait_ms), 0U) << "once a moment";
    const auto challenge = open(address(1), kNow + wait_ms);
    ASSERT_TRUE(challenge);
    EXPECT_EQ(challenge->issued_ms, kNow + wait_ms);
    EXPECT_EQ(challenge->deadline_ms, kNow + wait_ms + policy.answer_ms);
    EXPECT_NE(challenge->nonce, open(address(2), kNow + wait_ms)->nonce);
}

TEST_F(ChallengeTest, TheNextMomentDoesNotWaitForAnAnswer) {
    const UnixMs first = asked();
    EXPECT_EQ(pass(first + wait_ms), nodes_known()) << "while the first one is open";
    EXPECT_EQ(open(address(1), first + wait_ms)->issued_ms, first) << "the oldest comes first";
}

TEST_F(ChallengeTest, AnAnswerCountsOnceAndForTheNodeThatWasAsked) {
    const UnixMs at = asked();
    const Digest nonce = open(address(1), at)->nonce;
    EXPECT_EQ(answer(address(2), nonce, at + 1), AnswerOutcome::kUnknown) << "a foreign nonce";
    EXPECT_EQ(answer(address(1), digest(99), at + 1), AnswerOutcome::kUnknown);
    EXPECT_EQ(answer(address(1), nonce, at + 1), AnswerOutcome::kCounted);
    EXPECT_EQ(answer(address(1), nonce, at + 2), AnswerOutcome::kRepeated);
    EXPECT_FALSE(open(address(1), at + 2));
    const Uptime of_one = measure(address(1), at, at + policy.answer_ms + 1);
    EXPECT_EQ(of_one.answered, 1U);
    EXPECT_EQ(of_one.issued, 1U);
    EXPECT_EQ(of_one.ppm(), 1'000'000U);
    EXPECT_EQ(measure(address(2), at, at + policy.answer_ms + 1).ppm(), 0U);
}

TEST_F(ChallengeTest, TheDeadlineCountsFromTheIssue) {
    const UnixMs at = asked();
    const Digest one = open(address(1), at)->nonce, two = open(address(2), at)->nonce;
    EXPECT_EQ(answer(address(1), one, at + policy.answer_ms), AnswerOutcome::kCounted);
    EXPECT_FALSE(open(address(2), at + policy.answer_ms + 1));
    EXPECT_EQ(answer(address(2), two, at + policy.answer_ms + 1), AnswerOutcome::kLate);
    EXPECT_EQ(answer(address(2), two, at + policy.answer_ms), AnswerOutcome::kLate)
        << "also where another instance's clock is behind";
    const Uptime late = measure(address(2), at, at + policy.answer_ms + 1);
    EXPECT_EQ(late.late, 1U);
    EXPECT_EQ(late.answered, 0U);
}

TEST_F(ChallengeTest, UptimeCountsWhatWasDecidedWithinTheSpan) {
    const UnixMs at = asked();
    const UnixMs end = at + policy.answer_ms;
    EXPECT_EQ(measure(address(1), at, end).issued, 0U) << "its deadline is not over";
    EXPECT_EQ(measure(address(1), at, end + 1).issued, 1U);
    EXPECT_EQ(measure(address(1), at + 1, end + 1).issued, 0U) << "issued before";
    EXPECT_EQ(measure(address(1), at + 1, end + 1).ppm(), 0U) << "who was not asked has no uptime";
    const auto stranger = coordinator->transact(
        [&](db::Transaction& tx) { return uptime(tx, address(77), at, end); });
    EXPECT_EQ(stranger.error().code, ErrorCode::kNotFound);
}

TEST_F(ChallengeTest, WhoLeftIsAskedOnAndWhoIsExcludedOrLongGoneIsNot) {
    pass(kNow);
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(leave(tx, address(1), kNow));
        return exclude_node(tx, address(2), {protocol::ReasonCode::kStepDiffers, "x"}, {}, kNow);
    });
    pass(kNow + wait_ms);
    EXPECT_TRUE(open(address(1), kNow + wait_ms)) << "signing off is no way out";
    EXPECT_FALSE(open(address(2), kNow + wait_ms));
    const UnixMs later = kNow + policy.unseen_ms + wait_ms;
    pass(later - wait_ms);  // no silence before the next pass, but the long one before
    see(address(3), later);
    EXPECT_EQ(pass(later), 1U) << "only who was seen";
}

TEST_F(ChallengeTest, TheCoordinatorsSilenceCountsAgainstNobody) {
    const UnixMs at = asked();
    ASSERT_EQ(answer(address(1), open(address(1), at)->nonce, at), AnswerOutcome::kCounted);
    const Digest unanswered = open(address(2), at)->nonce;
    const UnixMs back = at + policy.silence_ms + 1;
    EXPECT_EQ(pass(back), 0U) << "moments that went by are drawn anew, nobody can wait for them";
    EXPECT_FALSE(open(address(2), back));
    EXPECT_EQ(answer(address(2), unanswered, back), AnswerOutcome::kWithdrawn);
    EXPECT_EQ(measure(address(2), at, back + policy.answer_ms).issued, 0U);
    EXPECT_EQ(measure(address(1), at, back + policy.answer_ms).answered, 1U) << "it stays";
    EXPECT_EQ(pass(back + wait_ms), nodes_known()) << "and they are asked again";
}

TEST_F(ChallengeTest, AtItsDeadlineAChallengeIsStillOpen) {
    const UnixMs at = asked();
    EXPECT_TRUE(open(address(1), at + policy.answer_ms));
    EXPECT_FALSE(open(address(1), at + policy.answer_ms + 1));
}

TEST_F(ChallengeTest, AGapAsLongAsAllowedIsNoSilence) {
    const UnixMs at = asked();
    EXPECT_EQ(pass(at + policy.silence_ms), nodes_known()) << "whose next moments had come";
    EXPECT_TRUE(open(address(1), at + policy.silence_ms));
    EXPECT_EQ(measure(address(1), at, at + policy.answer_ms + 1).issued, 1U);
}

TEST_F(ChallengeTest, WhatCouldBeAnsweredToTheLastPassIsWithdrawnWithTheSilence) {
    policy.answer_ms = 4'000;
    wait_ms = 5'000;
    const UnixMs at = asked();
    wait_ms = 1'000'000;
    const UnixMs deadline = at + policy.answer_ms;
    pass(deadline);
    pass(deadline + policy.silence_ms + 1);
    EXPECT_EQ(measure(address(1), at, deadline + 1).issued, 0U) << "its last moment was not served";
}

TEST_F(ChallengeTest, AnAnswerByAClockThatIsBehindTheAskersCounts) {
    const UnixMs at = asked();
    EXPECT_EQ(answer(address(1), open(address(1), at)->nonce, at - 3), AnswerOutcome::kCounted);
    EXPECT_EQ(measure(address(1), at, at + policy.answer_ms + 1).answered, 1U);
}

TEST_F(ChallengeTest, WhatIsAsOldAsWhatIsKeptStays) {
    const UnixMs at = asked();
    const auto issued_after_pruning = [&](UnixMs before) {
        run([&](db::Transaction& tx) { return prune_challenges(tx, before); });
        return measure(address(1), at, at + policy.answer_ms + 1).issued;
    };
    EXPECT_EQ(issued_after_pruning(at), 1U);
    EXPECT_EQ(issued_after_pruning(at + 1), 0U);
}

TEST_F(ChallengeTest, WhatWasAnsweredCannotBeRewritten) {
    const UnixMs at = asked();
    const Digest nonce = open(address(1), at)->nonce;
    ASSERT_EQ(answer(address(1), nonce, at + 5), AnswerOutcome::kCounted);
    auto& owner = database.owner();
    const std::string of_it = " WHERE nonce = '\\x" + nonce.hex().substr(2) + "'";
    for (const char* change :
         {"answered_at_ms = answered_at_ms + 1", "answered_at_ms = NULL, signature = NULL",
          "issued_at_ms = issued_at_ms - 1", "deadline_ms = deadline_ms + 1", "withdrawn = true"})
        EXPECT_NE(sql(owner, "UPDATE registry.challenge SET " + std::string(change) + of_it),
                  ErrorCode::kCancelled)
            << change;
    EXPECT_EQ(sql(*api, "UPDATE registry.challenge SET late_at_ms = 1"),
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(sql(*api, "SELECT * FROM registry.challenge_schedule"), ErrorCode::kPermissionDenied)
        << "nobody else may know the next moment";
}

/// Whatever nodes send whenever: never more answers than challenges, none twice, none late.
TEST_F(ChallengeTest, AnswersNeverExceedChallenges) {
    SCOPED_TRACE("GYM_TEST_SEED=" + std::to_string(seed));
    std::vector<std::pair<Digest, UnixMs>> known;
    std::map<Digest, Address> asked_of;
    std::map<Address, std::uint64_t> counted;
    UnixMs now = kNow;
    pass(now);
    for (int i = 0; i < 300; ++i) {
        now += static_cast<std::int64_t>(random() % 4'000);
        wait_ms = 1 + static_cast<std::int64_t>(random() % 8'000);
        pass(now);
        const Address node = address(1 + static_cast<std::uint8_t>(random() % 3));
        see(node, now);
        if (const auto challenge = open(node, now)) {
            known.emplace_back(challenge->nonce, challenge->deadline_ms);
            asked_of[challenge->nonce] = node;
        }
        if (known.empty() || random() % 3 == 0) continue;
        const std::size_t back = random() % std::min<std::size_t>(known.size(), 5);
        const auto& [nonce, deadline] = known[known.size() - 1 - back];
        const Address sender = random() % 4 == 0 ? address(1) : asked_of[nonce];
        const UnixMs at = std::max(now, deadline - 100 + static_cast<UnixMs>(random() % 200));
        if (answer(sender, nonce, at) == AnswerOutcome::kCounted) {
            EXPECT_EQ(sender, asked_of[nonce]);
            EXPECT_LE(at, deadline);
            ++counted[sender];
        }
    }
    for (std::uint8_t n = 1; n <= 3; ++n) {
        const Uptime all = measure(address(n), 0, now + 10 * policy.answer_ms);
        EXPECT_LE(all.answered, all.issued);
        EXPECT_EQ(all.answered, counted[address(n)]);
        EXPECT_LE(all.ppm(), 1'000'000U);
    }
    EXPECT_GT(counted[address(1)] + counted[address(2)] + counted[address(3)], 10U);
}

}  // namespace
}  // namespace gym::registry::testing
