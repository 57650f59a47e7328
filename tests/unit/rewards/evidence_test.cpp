#include "gym/rewards/evidence.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "signed_round.hpp"

namespace gym::rewards {
namespace {

using namespace testing;

/// The complaint of rebuild_round() after a change; empty if there is none.
std::string problem_after(const std::function<void(SignedRoundFixture&)>& change) {
    SignedRoundFixture round;
    change(round);
    const auto rebuilt = round.rebuild();
    return rebuilt.ok() ? "" : rebuilt.error().message;
}

void expect_problem(const std::string& sentence,
                    const std::function<void(SignedRoundFixture&)>& change) {
    const std::string problem = problem_after(change);
    EXPECT_NE(problem.find(sentence), std::string::npos)
        << "expected: " << sentence << "\nfound:    " << problem;
}

TEST(CommittedRound, WhatWorkersSignedIsFoundUnderTheRootOnChain) {
    const SignedRoundFixture round;
    const auto rebuilt = round.rebuild();
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().message;
    ASSERT_EQ(rebuilt->units.size(), 4U);
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        const CommittedUnit& unit = rebuilt->units.at(round.unit(slot));
        EXPECT_EQ(unit.signer, round.workers[slot].address());
        EXPECT_EQ(unit.commitment, round.commitments[slot].commitment);
        EXPECT_TRUE(unit.is_drawn);
    }
    EXPECT_EQ(rebuilt->units.at(round.aggregate_unit()).signer, round.coordinator.address());
}

TEST(CommittedRound, ARoundWithoutCommitmentsHasTheRootOfNone) {
    SignedRoundFixture round;
    round.commitments.clear();
    round.post();
    round.published.aggregate.reset();
    const auto rebuilt = round.rebuild();
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().message;
    EXPECT_TRUE(rebuilt->units.empty());
}

TEST(CommittedRound, LateUnitsAreUnderTheNextRoot) {
    SignedRoundFixture round;
    const SignedRoundFixture after = round.next_with_late();
    auto own = round.rebuild();
    const auto next = after.rebuild();
    ASSERT_TRUE(own.ok()) << own.error().message;
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_EQ(own->units.size(), 3U) << "two and the aggregate";
    EXPECT_EQ(next->units.size(), 4U) << "its own";
    ASSERT_EQ(next->late.size(), 1U);
    ASSERT_TRUE(add_late_units(round.domain, *next, *own).ok());
    const CommittedUnit& late = own->units.at(round.unit(2));
    EXPECT_EQ(late.signer, round.workers[2].address());
    EXPECT_EQ(late.beacon, after.chain.beacon);
    EXPECT_EQ(own->units.at(round.unit(1)).beacon, round.chain.beacon);
    EXPECT_EQ(add_late_units(round.domain, *next, *own).error().message,
              "slot 2 has two commitments");
}

TEST(CommittedRound, LateUnitsThatCannotBeAreRefused) {
    const auto problem =
        [](const std::function<void(SignedRoundFixture&, SignedRoundFixture&)>& change) {
            SignedRoundFixture round;
            SignedRoundFixture after = round.next_with_late();
            change(round, after);
            after.post();
            auto own = round.rebuild();
            const auto next = after.rebuild();
            if (!own.ok() || !next.ok()) return std::string("a round is none");
            const Status added = add_late_units(round.domain, *next, *own);
            return added.ok() ? "" : added.error().message;
        };
    EXPECT_EQ(problem([](auto&, auto&) {}), "");
    EXPECT_NE(problem([](auto& round, auto& after) {
                  after.commitments.back() = round.commitments[0];
              }).find("slot 0 has two commitments"),
              std::string::npos)
        << "in time and late";
    EXPECT_NE(problem([](auto& round, auto& after) {
                  after.commitments.back() = protocol::sign(
                      round.domain, after.commitments.back().commitment, round.workers[0]);
              }).find("slot 2: the commitment"),
              std::string::npos);
    EXPECT_NE(problem([](auto& round, auto& after) {
                  auto commitment = after.commitments.back().commitment;
                  commitment.flops += 1;
                  after.commitments.back() =
                      protocol::sign(round.domain, commitment, round.workers[2]);
              }).find("slot 2: "),
              std::string::npos);
    EXPECT_NE(problem([](auto& round, auto& after) {
                  round.record.accept_late = false;
                  round.sign_all();
                  round.post();
                  after.record.previous_record = protocol::hash(round.record);
                  after.sign_all();
                  after.commitments.push_back(round.commitments.back());
              }).find("takes none late"),
              std::string::npos);
}

TEST(CommittedRound, TheBeaconDrawsByTheRateOfTheRecord) {
    SignedRoundFixture round;
    round.record.slots[0].sampling_rate_ppm = protocol::kSamplingFloorPpm;
    round.sign_all();
    round.post();
    int drawn = 0;
    for (std::uint8_t beacon = 0; beacon < 100; ++beacon) {
        round.chain.beacon = digest(beacon);
        const auto rebuilt = round.rebuild();
        ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().message;
        drawn += rebuilt->units.at(round.unit(0)).is_drawn ? 1 : 0;
        EXPECT_TRUE(rebuilt->units.at(round.unit(1)).is_drawn) << "its rate is 1";
    }
    EXPECT_GT(drawn, 0);
    EXPECT_LT(drawn, 30) << "5 % of 100";
}

TEST(CommittedRound, ARecordThatIsNotOnChainIsRefused) {
    expect_problem("the chain has the record 0x",
                   [](SignedRoundFixture& round) { round.published.record.at(100) ^= 1U; });
    expect_problem("the chain has the record 0x",
                   [](SignedRoundFixture& round) { round.chain.record_hash = Digest{}; });
    // The chain's own record, of another round.
    SignedRoundFixture round(2);
    EXPECT_EQ(
        rebuild_round(round.domain, round.job, 1, round.chain, round.published).error().message,
        "the record on chain is of round 2 of job " + round.job.hex());
    EXPECT_FALSE(rebuild_round(round.domain, digest(1), 2, round.chain, round.published).ok());
}

TEST(CommittedRound, BytesWhoseHashIsOnChainButThatAreNoRecordAreNamed) {
    expect_problem("round record", [](SignedRoundFixture& round) {
        round.published.record = {1, 2, 3};
        round.chain.record_hash = protocol::hash_round_head(round.published.record);
    });
    expect_problem("its lists are not those of its roots",
                   [](SignedRoundFixture& round) { round.published.record.back() ^= 1U; });
}

TEST(CommittedRound, LeavesThatDoNotGiveTheRootAreRefused) {
    expect_problem("the chain has a root over 3 commitments, 2 are published",
                   [](SignedRoundFixture& round) { round.published.commitments.pop_back(); });
    expect_problem("the published ones give 0x", [](SignedRoundFixture& round) {
        std::swap(round.published.commitments[0], round.published.commitments[1]);
    });
    expect_problem("the published ones give 0x", [](SignedRoundFixture& round) {
        round.published.commitments[2] = round.published.commitments[1];
    });
    expect_problem("commitment 1: ",
                   [](SignedRoundFixture& round) { round.published.commitments[1].pop_back(); });
}

TEST(CommittedRound, ACommitmentThatItsWorkerDidNotSignIsNamedByItsSlot) {
    // All of these are under the root on chain: who posts the root may put anything there.
    const auto resign = [](auto change) {
        return [change](SignedRoundFixture& round) {
            auto commitment = round.commitments[1].commitment;
            change(commitment);
            round.commitments[1] = protocol::sign(round.domain, commitment, round.workers[1]);
            round.post();
        };
    };
    expect_problem("slot 1: the commitment: ", [](SignedRoundFixture& round) {
        round.commitments[1] =
            protocol::sign(round.domain, round.commitments[1].commitment, round.coordinator);
        round.post();
    });
    expect_problem("slot 1: the commitment: ", [](SignedRoundFixture& round) {
        round.commitments[1].commitment.delta_root = digest(1);
        round.post();
    });
    expect_problem("slot 1: the commitment: ", [](SignedRoundFixture& round) {
        auto other = round.domain;
        other.chain_id = 1;
        round.commitments[1] =
            protocol::sign(other, round.commitments[1].commitment, round.workers[1]);
        round.post();
    });
    expect_problem("slot 1: commitment: flops", resign([](auto& c) { c.flops += 1; }));
    expect_problem("slot 1: commitment: tokens", resign([](auto& c) { c.tokens += 1; }));
    expect_problem("slot 1: commitment: attempt", resign([](auto& c) { c.attempt = 1; }));
    expect_problem("slot 1: commitment: it names round record",
                   resign([](auto& c) { c.round_record = digest(5); }));
    expect_problem("the record has no slot 7", resign([](auto& c) { c.slot = 7; }));
    expect_problem("slot 0: the commitment: ", resign([](auto& c) { c.slot = 0; }));
}

TEST(CommittedRound, OneUnitIsCommittedToOnce) {
    expect_problem("slot 0 has two commitments", [](SignedRoundFixture& round) {
        auto other = round.commitments[0].commitment;
        other.delta_root = digest(1);
        round.commitments.push_back(protocol::sign(round.domain, other, round.workers[0]));
        round.post();
    });
}

TEST(CommittedRound, TheAggregateNamesTheRecordAndIsSigned) {
    const auto resign = [](auto change) {
        return [change](SignedRoundFixture& round) {
            auto commitment = round.aggregate.commitment;
            change(commitment);
            round.aggregate = protocol::sign(round.domain, commitment, round.coordinator);
            round.post();
        };
    };
    expect_problem("aggregate: the commitment names the record",
                   resign([](auto& c) { c.round_record = digest(5); }));
    const char* const another = "aggregate: the commitment is to another unit";
    expect_problem(another, resign([](auto& c) { c.slot = 0; }));
    expect_problem(another, resign([](auto& c) { c.attempt = 1; }));
    expect_problem(another, resign([](auto& c) { c.kind = protocol::UnitKind::kTrain; }));
    expect_problem("aggregate: ", [](SignedRoundFixture& round) {
        round.aggregate.signature.data.fill(0);
        round.post();
    });
    expect_problem("aggregate: ",
                   [](SignedRoundFixture& round) { round.published.aggregate = Bytes{1}; });
}

TEST(CommittedRound, TheSampleIsDrawnAfterTheRoot) {
    expect_problem("the sample is drawn by block 10", [](SignedRoundFixture& round) {
        round.published.beacon_block = round.chain.posted_block;
    });
    EXPECT_EQ(problem_after([](SignedRoundFixture& round) {
                  round.published.beacon_block = round.chain.posted_block + 1;
              }),
              "");
}

TEST(CommittedRound, NobodyChoosesWhichRoundOfDrandDraws) {
    const auto by_drand = [](SignedRoundFixture& round) {
        round.published.beacon_block = 0;
        round.published.drand_round = round.chain.drand_round = 7;
    };
    EXPECT_EQ(problem_after(by_drand), "");
    expect_problem(
        "by the contracts drand's round 7 draws the sample, drand's round 8 is published",
        [&](SignedRoundFixture& round) {
            by_drand(round);
            round.published.drand_round = 8;
        });
    // A coordinator that would rather draw by a block of its choice.
    expect_problem(
        "by the contracts drand's round 7 draws the sample, no round of drand is "
        "published",
        [&](SignedRoundFixture& round) {
            by_drand(round);
            round.published.drand_round.reset();
            round.published.beacon_block = 12;
        });
    expect_problem("by the contracts no round of drand draws the sample",
                   [&](SignedRoundFixture& round) {
                       by_drand(round);
                       round.chain.drand_round.reset();
                   });
    expect_problem("drand's round 7 draws the sample, and nobody has proven it on chain",
                   [&](SignedRoundFixture& round) {
                       by_drand(round);
                       round.chain.beacon = Digest();
                   });
}

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
