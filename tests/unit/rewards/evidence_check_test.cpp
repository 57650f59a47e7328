#include "gym/rewards/evidence_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "gym/protocol/sampling.hpp"
#include "signed_round.hpp"

namespace gym::rewards {
namespace {

using protocol::UnitState;

using namespace testing;
constexpr UnixMs kNow = 1'700'000'000'000;

/// The answers and files of a gym-api, and a chain of its own.
class FakeWorld final : public FactSource, public EvidenceSource {
  public:
    Result<JobFacts> job(const Digest&) override { return JobFacts{}; }
    Result<std::vector<UnitFacts>> units(const Digest&, std::uint64_t round) override {
        return unit_list[round];
    }
    Result<std::vector<Address>> accepted_reports(const Digest&) override {
        return std::vector<Address>{};
    }
    Result<std::optional<CreditState>> waiting_credit(const Digest&) override {
        return std::optional<CreditState>();
    }
    Result<std::vector<registry::Prefix>> prefixes(const Digest&, std::uint64_t round) override {
        return prefix_list[round];
    }
    Result<PublishedRound> round(const Digest&, std::uint64_t round) override {
        if (down) return fail(ErrorCode::kUnavailable, "gym-api is away");
        if (!rounds.contains(round)) return fail(ErrorCode::kNotFound, "no such round");
        return rounds[round].published;
    }
    Result<RoundOnChain> on_chain(const FileRound& round, std::uint64_t) override {
        return rounds[round.round].chain;
    }
    Result<std::vector<PublishedReport>> reports(const Digest&, std::uint64_t round) override {
        return report_list[round];
    }
    Result<std::vector<protocol::PublishedChallenge>> challenges(const Address& node,
                                                                 const UptimeSpan& span) override {
        asked = span;
        return challenge_list[node];
    }

    std::map<std::uint64_t, SignedRoundFixture> rounds;
    std::map<std::uint64_t, std::vector<UnitFacts>> unit_list;
    std::map<std::uint64_t, std::vector<PublishedReport>> report_list;
    std::map<std::uint64_t, std::vector<registry::Prefix>> prefix_list;
    std::map<Address, std::vector<protocol::PublishedChallenge>> challenge_list;
    UptimeSpan asked;
    bool down = false;
};

/// One epoch over one round: three units, the last rejected, reports on all of them and on the
/// aggregate, a bonus for the first worker.
class EvidenceCheckTest : public ::testing::Test {
  protected:
    EvidenceCheckTest() {
        SignedRoundFixture& round = world_.rounds[1];
        file_.epoch = 1;
        file_.rounds = {{round.job, 1, 5, round.chain.commitments_root, span_}};
        for (std::uint32_t slot = 0; slot < 3; ++slot)
            add_unit(slot, round.workers[slot].address(),
                     slot == 2 ? UnitState::kRejected : UnitState::kFinal);
        add_unit(protocol::kAggregateSlot, round.coordinator.address(), UnitState::kFinal);
        world_.unit_list[1].back().is_train = false;
        for (const std::uint32_t slot : {0U, 1U})
            world_.report_list[1].push_back(
                round.report_on(round.commitments[slot].commitment, round.unit(slot)));
        auto other = round.commitments[2].commitment;
        other.records_root = digest(1);
        world_.report_list[1].push_back(round.report_on(other, round.unit(2)));
        world_.report_list[1].push_back(
            round.report_on(round.aggregate.commitment, round.aggregate_unit()));
        for (std::uint8_t i = 0; i < 3; ++i)
            world_.challenge_list[node()].push_back(answered(i));
        add_credits();
    }
    void add_unit(std::uint32_t slot, const Address& worker, UnitState state) {
        UnitFacts unit;
        unit.id = world_.rounds[1].unit(slot);
        unit.is_train = true;
        unit.state = state;
        unit.worker = worker;
        world_.unit_list[1].push_back(unit);
    }
    Address node() { return world_.rounds[1].workers[0].address(); }
    protocol::PublishedChallenge answered(std::uint8_t nonce) {
        const SignedRoundFixture& round = world_.rounds[1];
        protocol::PublishedChallenge out;
        out.challenge = {digest(nonce), span_.from_ms + nonce, span_.from_ms + nonce + 50};
        out.answered_at_ms = out.challenge.issued_ms + 20;
        out.signature =
            protocol::answer_uptime(round.domain, round.workers[0], out.challenge).signature;
        return out;
    }
    Credit credit(const std::string& id, const CreditInputs& inputs, const Digest& unit,
                  const Address& who) {
        Credit out;
        out.id = id;
        out.inputs = inputs;
        out.job_id = world_.rounds[1].job;
        out.round = 1;
        if (is_of_unit(out.kind())) out.unit = unit;
        out.node = who;
        return out;
    }
    void add_credits() {
        const SignedRoundFixture& round = world_.rounds[1];
        const Address verifier = round.verifier.address();
        const Address second = round.workers[1].address();
        const VerificationInputs checked{.flops = SignedRoundFixture::kFlops};
        const VerificationInputs outer{.flops = round.aggregate.commitment.flops};
        file_.credits = {
            credit("compute-0", ComputeInputs{.flops = SignedRoundFixture::kFlops}, round.unit(0),
                   node()),
            credit("data-1", DataInputs{.tokens = SignedRoundFixture::kTokens}, round.unit(1),
                   second),
            credit("checked-0", checked, round.unit(0), verifier),
            credit("fault-2", checked, round.unit(2), verifier),
            credit("outer", outer, round.aggregate_unit(), verifier),
            credit("uptime-0", UptimeInputs{.challenges = 3, .answered = 3}, {}, node()),
        };
    }
    EvidenceFindings check(const std::vector<EpochFile>& files, UnixMs now_ms = kNow) {
        const auto found = check_evidence(world_.rounds[1].domain, files, world_, world_, now_ms);
        EXPECT_TRUE(found.ok()) << found.error().message;
        return found.value_or({});
    }
    EvidenceFindings check() { return check({file_}); }
    /// The only deviation.
    void expect_named(const std::string& sentence) {
        const auto found = check().deviations;
        ASSERT_EQ(found.size(), 1U) << sentence << (found.empty() ? "" : "\n" + found[0]) << "\n"
                                    << (found.size() < 2 ? "" : found[1]);
        EXPECT_NE(found[0].find(sentence), std::string::npos)
            << "expected: " << sentence << "\nfound:    " << found[0];
    }
    Credit& named(const std::string& id) {
        return *std::ranges::find(file_.credits, id, &Credit::id);
    }

    const UptimeSpan span_{kNow - 100'000, kNow - 10'000};
    FakeWorld world_;
    EpochFile file_;
};

TEST_F(EvidenceCheckTest, WhatWasSignedIsAccepted) {
    const EvidenceFindings found = check();
    EXPECT_EQ(found.deviations, std::vector<std::string>{});
    EXPECT_EQ(found.unchecked, std::vector<std::string>{});
    EXPECT_EQ(found.commitments, 3U);
    EXPECT_EQ(found.reports, 3U);
    EXPECT_EQ(found.answers, 3U);
    EXPECT_EQ(world_.asked, span_);
}

TEST_F(EvidenceCheckTest, ALateUnitIsFoundUnderTheNextRoot) {
    SignedRoundFixture& round = world_.rounds[1];
    const auto late = round.commitments[2].commitment;
    world_.rounds[2] = round.next_with_late();
    file_.rounds[0].commitments_root = round.chain.commitments_root;
    auto other = late;
    other.records_root = digest(1);
    PublishedReport& report = world_.report_list[1][2];
    const PublishedReport by_own_beacon = report;
    report = world_.rounds[2].report_on(other, round.unit(2));
    const EvidenceFindings found = check();
    EXPECT_EQ(found.deviations, std::vector<std::string>{});
    EXPECT_EQ(found.commitments, 2U) << "under the root of the round that is paid";
    report = by_own_beacon;
    EXPECT_EQ(check().deviations.size(), 2U) << "the report, and what is paid for it";
    report = world_.rounds[2].report_on(other, round.unit(2));
    world_.rounds[2].published.beacon_block = 0;
    const auto undrawn = check().deviations;
    ASSERT_EQ(undrawn.size(), 2U) << "the report, and what is paid for it";
    EXPECT_NE(undrawn[1].find("credit fault-2: there is no commitment to unit "), std::string::npos)
        << undrawn[1];
    // A round whose drand round nobody has proven yet has no beacon either, and does not deviate.
    world_.rounds[2].published.drand_round = world_.rounds[2].chain.drand_round = 9;
    world_.rounds[2].chain.beacon = Digest();
    EXPECT_EQ(check().deviations, undrawn);
}

TEST_F(EvidenceCheckTest, ACreditForAUnitThatNobodyCommittedToIsNamed) {
    // gym-api plays along: it lists the unit as final, only there is no signature.
    world_.unit_list[1].push_back(world_.unit_list[1][0]);
    world_.unit_list[1].back().id = digest(0x99);
    named("compute-0").unit = digest(0x99);
    expect_named("credit compute-0: there is no commitment to unit " + digest(0x99).hex());
}

TEST_F(EvidenceCheckTest, ACreditThatIsNotWhatWasCommittedToIsNamed) {
    struct Lie {
        const char* credit;
        std::function<void(Credit&)> apply;
        const char* named;
    };
    const SignedRoundFixture& round = world_.rounds[1];
    const std::vector<Lie> lies = {
        {"compute-0", [](auto& c) { std::get<ComputeInputs>(c.inputs).flops += 1; },
         "was committed to with 2000000000"},
        {"compute-0", [](auto& c) { c.node = address(7); }, "was committed to by 0x"},
        {"compute-0", [&](auto& c) { c.unit = round.aggregate_unit(); }, "is not a train unit"},
        {"data-1", [](auto& c) { std::get<DataInputs>(c.inputs).tokens += 1; },
         "was committed to with 40 tokens"},
        {"data-1", [](auto& c) { c.node = address(7); }, "was committed to by 0x"},
        {"checked-0", [](auto& c) { std::get<VerificationInputs>(c.inputs).flops -= 1; },
         "was committed to with 2000000000"},
        {"outer", [](auto& c) { std::get<VerificationInputs>(c.inputs).flops += 1; },
         "was committed to with 77 FLOPs"},
        {"checked-0", [](auto& c) { c.node = address(7); }, "has 0 reports signed by 0x0707"},
    };
    const EpochFile before = file_;
    for (const Lie& lie : lies) {
        file_ = before;
        lie.apply(named(lie.credit));
        const auto found = check().deviations;
        ASSERT_FALSE(found.empty()) << lie.credit << ": " << lie.named;
        EXPECT_TRUE(found[0].starts_with(std::string("credit ") + lie.credit + ": ")) << found[0];
        EXPECT_NE(found[0].find(lie.named), std::string::npos) << found[0];
    }
}

TEST_F(EvidenceCheckTest, ARoundThatCannotBeRebuiltIsNamedOnceAndItsCreditsToo) {
    world_.rounds[1].published.commitments.pop_back();
    const auto found = check().deviations;
    ASSERT_EQ(found.size(), 6U);
    EXPECT_NE(found[0].find("2 are published"), std::string::npos) << found[0];
    EXPECT_EQ(found[1], "credit compute-0: the commitments of its round are not proven");
}

TEST_F(EvidenceCheckTest, ARoundThatNobodyPublishesIsADeviationAndASilentApiIsNone) {
    const SignedRoundFixture& round = world_.rounds[1];
    EpochFile file = file_;
    file.credits.clear();
    file.rounds.push_back({round.job, 7, 6, digest(1), {}});
    EXPECT_EQ(
        check({file}).deviations,
        std::vector<std::string>{"round 7 of job " + round.job.hex() + ": it is not published"});
    world_.down = true;
    const auto failed = check_evidence(round.domain, {file}, world_, world_, kNow);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
}

TEST_F(EvidenceCheckTest, ACreditOfARoundUnderNoRootIsNamed) {
    file_.rounds[0].commitments_root.reset();
    EXPECT_NE(check().deviations.at(0).find("no file says under which root"), std::string::npos);
    file_.rounds.clear();
    EXPECT_NE(check().deviations.at(0).find("no file says under which root"), std::string::npos);
}

TEST_F(EvidenceCheckTest, ARoundMayBeInAnEarlierFile) {
    EpochFile first = file_;
    first.credits.clear();
    file_.rounds.clear();
    file_.epoch = 2;
    EXPECT_EQ(check({first, file_}).deviations, std::vector<std::string>{});
}

TEST_F(EvidenceCheckTest, AnApiThatHidesOrTurnsOverACommittedUnitIsNamed) {
    auto& units = world_.unit_list[1];
    const UnitFacts second = units[1];
    units[1].worker = address(7);
    expect_named("committed to unit " + second.id.hex() + ", and gym-api has it as another's");
    units.erase(units.begin() + 1);
    expect_named("committed to unit " + second.id.hex() + ", and gym-api does not know it");
}

TEST_F(EvidenceCheckTest, ADrawnUnitNeedsAReport) {
    auto& reports = world_.report_list[1];
    reports.erase(reports.begin() + 1);
    expect_named("credit data-1: unit " + world_.rounds[1].unit(1).hex() +
                 " is drawn by the beacon, and there is no report on it");
}

TEST_F(EvidenceCheckTest, AUnitThatIsNotDrawnNeedsNoneAndPaysNoneUnlessItWasLeftOut) {
    SignedRoundFixture& round = world_.rounds[1];
    round.record.slots[0].sampling_rate_ppm = protocol::kSamplingFloorPpm;
    for (std::uint8_t beacon = 0;; ++beacon) {
        round.chain.beacon = digest(beacon);
        if (!protocol::is_sampled(round.chain.beacon, round.unit(0), protocol::kSamplingFloorPpm))
            break;
    }
    round.sign_all();
    round.post();
    file_.credits = {named("compute-0"), named("checked-0")};
    world_.report_list[1] = {round.report_on(round.commitments[0].commitment, round.unit(0))};
    EXPECT_EQ(check().deviations, std::vector<std::string>{}) << "a last round shows no aggregate";
    const auto show = [&](std::uint64_t number, std::uint32_t slot) {
        SignedRoundFixture& later = world_.rounds.try_emplace(number, number).first->second;
        const auto& commitment = round.commitments[slot].commitment;
        later.record.included = {{slot, round.unit(slot), commitment.delta_root, number == 3}};
        later.sign_all();
        later.post();
    };
    show(2, 1);
    EXPECT_EQ(check().deviations, std::vector<std::string>{}) << "left out for its norm";
    show(3, 0);
    EXPECT_EQ(check().deviations.size(), 1U) << "held, not left out";
    show(3, 2);
    show(2, 0);
    expect_named("credit checked-0: unit " + round.unit(0).hex() +
                 " is not drawn by the beacon at a rate of 50000 ppm");
    file_.credits.pop_back();
    world_.report_list[1].clear();
    EXPECT_EQ(check().deviations, std::vector<std::string>{});
}

TEST_F(EvidenceCheckTest, AReportThatItsVerifierDidNotSignIsNamedAndPaysNothing) {
    const auto before = world_.report_list[1];
    const auto expect_first = [&](const std::string& sentence, const auto& change) {
        world_.report_list[1] = before;
        change(world_.report_list[1]);
        const auto found = check().deviations;
        ASSERT_EQ(found.size(), 2U) << sentence;
        EXPECT_NE(found[0].find(sentence), std::string::npos) << found[0];
        EXPECT_NE(found[1].find("credit checked-0"), std::string::npos) << found[1];
    };
    // compute-0 rests on the same report.
    std::erase_if(file_.credits, [](const Credit& c) { return c.id == "compute-0"; });
    expect_first("it hashes to", [](auto& reports) { reports[0].report.trace = digest(1); });
    expect_first("trace positions", [this](auto& reports) {
        auto& report = reports[0].report;
        report.challenge_signature = world_.rounds[1].coordinator.sign_digest(digest(1));
        reports[0].committed = protocol::report_digest(world_.rounds[1].chain.beacon, report);
    });
    expect_first("trace positions", [this](auto& reports) {
        auto& report = reports[0].report;
        report.verifier = address(7);
        reports[0].committed = protocol::report_digest(world_.rounds[1].chain.beacon, report);
    });
}

TEST_F(EvidenceCheckTest, OneDrawIsOneReport) {
    world_.report_list[1].push_back(world_.report_list[1][0]);
    expect_named("there are two of one draw");
    world_.report_list[1].pop_back();
    file_.credits.push_back(named("checked-0"));
    file_.credits.back().id = "again";
    const auto found = check().deviations;
    ASSERT_EQ(found.size(), 2U) << "each of the two stands for the other";
    EXPECT_NE(found[0].find("has 1 reports signed by"), std::string::npos) << found[0];
}

TEST_F(EvidenceCheckTest, WhatAnEarlierEpochPaidForAReportCounts) {
    EpochFile first = file_;
    file_.epoch = 2;
    file_.rounds.clear();
    file_.credits = {named("checked-0")};
    EXPECT_EQ(check({first, file_}).deviations.size(), 1U);
    std::erase_if(first.credits, [](const Credit& c) { return c.id == "checked-0"; });
    EXPECT_EQ(check({first, file_}).deviations, std::vector<std::string>{});
}

TEST_F(EvidenceCheckTest, AReportSaysWhatBecameOfTheUnit) {
    struct End {
        UnitState state;
        const char* reason_code;
        bool agrees, pays;
    };
    const std::vector<End> ends = {
        {UnitState::kFinal, "", true, true},
        {UnitState::kFinal, "", false, false},
        {UnitState::kVoid, "", true, true},
        {UnitState::kVoid, "", false, false},
        {UnitState::kRejected, "", true, false},
        {UnitState::kRejected, "", false, true},
        {UnitState::kSlashed, "", true, false},
        {UnitState::kSlashed, "", false, true},
        {UnitState::kUnpaid, "", true, false},
        {UnitState::kExpired, "", false, false},
        {UnitState::kRejected, "equivocation", true, true},
    };
    SignedRoundFixture& round = world_.rounds[1];
    file_.credits = {named("checked-0")};
    for (const End& end : ends) {
        auto commitment = round.commitments[0].commitment;
        if (!end.agrees) commitment.delta_root = digest(1);
        world_.report_list[1] = {round.report_on(commitment, round.unit(0))};
        world_.unit_list[1][0].state = end.state;
        world_.unit_list[1][0].reason_code = end.reason_code;
        EXPECT_EQ(check().deviations.empty(), end.pays)
            << to_string(end.state) << " " << end.reason_code
            << (end.agrees ? " agrees" : " differs");
    }
}

TEST_F(EvidenceCheckTest, AnswersAreCountedAgain) {
    auto& bonus = std::get<UptimeInputs>(named("uptime-0").inputs);
    bonus.answered = 4;
    bonus.challenges = 4;
    EXPECT_EQ(check().deviations.size(), 2U);
    bonus.challenges = 3;
    expect_named("credit uptime-0: node " + node().hex() + " signed 3 answers, not 4");
    bonus.answered = 2;
    expect_named("signed 3 answers, not 2");
    bonus.answered = 3;
    bonus.challenges = 4;
    expect_named("credit uptime-0: node " + node().hex() + " was asked 3 times, not 4");
    bonus.challenges = 2;
    expect_named("was asked 3 times, not 2");
    bonus.challenges = 3;
    world_.challenge_list[node()][1].signature->data[3] ^= 1U;
    expect_named("credit uptime-0: challenge " + digest(1).hex());
}

TEST_F(EvidenceCheckTest, OneThatIsWithdrawnLaterMayHaveBeenCounted) {
    auto& challenges = world_.challenge_list[node()];
    challenges[2].answered_at_ms.reset();
    challenges[2].signature.reset();
    challenges[2].withdrawn = true;
    auto& bonus = std::get<UptimeInputs>(named("uptime-0").inputs);
    bonus.answered = 2;
    for (const std::uint64_t counted : {2U, 3U}) {
        bonus.challenges = counted;
        EXPECT_EQ(check().deviations, std::vector<std::string>{});
    }
    bonus.challenges = 4;
    EXPECT_EQ(check().deviations.size(), 1U);
}

TEST_F(EvidenceCheckTest, WhatIsNotKeptAnyMoreIsSaidToBeUnchecked) {
    world_.challenge_list.clear();
    EXPECT_EQ(check().deviations.size(), 2U) << "neither answers nor challenges";
    EXPECT_EQ(check({file_}, span_.from_ms + protocol::kChallengesKeptMs).deviations.size(), 2U);
    const auto late = check({file_}, span_.from_ms + protocol::kChallengesKeptMs + 1);
    EXPECT_EQ(late.deviations, std::vector<std::string>{});
    EXPECT_EQ(late.unchecked, std::vector<std::string>{
                                  "credit uptime-0: challenges of that time are no longer kept"});
    file_.rounds[0].uptime.reset();
    const auto old = check();
    EXPECT_EQ(old.deviations, std::vector<std::string>{});
    ASSERT_EQ(old.unchecked.size(), 1U);
    EXPECT_NE(old.unchecked[0].find("does not say over which span"), std::string::npos);
}

TEST_F(EvidenceCheckTest, WithoutAFileThereIsNothingToCheck) {
    EXPECT_FALSE(check_evidence(world_.rounds[1].domain, {}, world_, world_, kNow).ok());
}

/// Nobody committed to slot 2, whose worker signed for three of its four steps.
class PrefixEvidenceTest : public EvidenceCheckTest {
  protected:
    PrefixEvidenceTest() {
        SignedRoundFixture& round = world_.rounds[1];
        round.commitments.pop_back();
        round.post();
        file_.rounds[0].commitments_root = round.chain.commitments_root;
        world_.unit_list[1][2].state = UnitState::kExpired;
        world_.report_list[1].erase(world_.report_list[1].begin() + 2);
        prefix_.unit = round.unit(2);
        prefix_.state = protocol::PrefixState::kVerified;
        prefix_.steps = 3;
        prefix_.flops = SignedRoundFixture::kFlops / 4 * 3;
        prefix_.link = digest(0x44);
        prefix_.verifier = round.verifier.address();
        prefix_.verifier_paid = true;
        file_.credits = {
            credit("prefix-2", PrefixInputs{.flops = prefix_.flops}, round.unit(2),
                   round.workers[2].address()),
            credit("checked-2", VerificationInputs{.flops = prefix_.flops}, round.unit(2),
                   round.verifier.address()),
        };
        sign();
    }
    void sign() { sign(prefix_.link); }
    /// @param found what the verifier signs for.
    void sign(const Digest& found) {
        const SignedRoundFixture& round = world_.rounds[1];
        protocol::UnitPrefix statement{protocol::hash(round.record), 2, 0, prefix_.steps,
                                       prefix_.link};
        prefix_.signature = protocol::sign(round.domain, statement, round.workers[2]).signature;
        statement.link = found;
        prefix_.report = {found, protocol::sign(round.domain, statement, round.verifier).signature};
        world_.prefix_list[1] = {prefix_};
    }
    registry::Prefix prefix_;
};

TEST_F(PrefixEvidenceTest, TwoSignaturesUnderOneStatementProveAPrefix) {
    const EvidenceFindings found = check();
    EXPECT_EQ(found.deviations, std::vector<std::string>{});
    EXPECT_EQ(found.unchecked, std::vector<std::string>{});
    EXPECT_EQ(found.reports, 1U);
}

TEST_F(PrefixEvidenceTest, WhatIsNotSignedIsNamed) {
    const Credit paid = file_.credits[0], checked = file_.credits[1];
    file_.credits = {paid};
    world_.prefix_list[1][0].signature.data[3] ^= 1;
    expect_named("is not signed by");
    sign();
    world_.prefix_list[1][0].report->signature.data[3] ^= 1;
    expect_named("did not sign");
    world_.prefix_list[1][0].report.reset();
    expect_named("was reported on by nobody");
    world_.prefix_list[1].clear();
    expect_named("no prefix of unit");
    sign();
    std::get<PrefixInputs>(file_.credits[0].inputs).flops += 1;
    expect_named("has 1500000000000000 FLOPs");
    file_.credits = {paid};
    file_.credits[0].node = address(9);
    expect_named("was done by");
    file_.credits = {checked};
    file_.credits[0].node = address(9);
    expect_named("has no report of its node that says what became of it");
    file_.credits = {paid};
    prefix_.steps = 5;
    sign();
    expect_named("does not fit its round: prefix: 5 steps");
    prefix_.steps = 3;
    prefix_.unit = world_.rounds[1].unit(7);
    sign();
    file_.credits[0].unit = prefix_.unit;
    expect_named("is of no slot of its round");
}

TEST_F(PrefixEvidenceTest, AUnitThatWasCommittedToHasNone) {
    file_.credits.resize(1);
    file_.credits[0].unit = world_.rounds[1].unit(0);
    const auto found = check().deviations;
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].find("was committed to"), std::string::npos) << found[0];
}

TEST_F(PrefixEvidenceTest, AReportThatDiffersIsPaidForARefutedPrefixAlone) {
    const Credit paid = file_.credits[0], checked = file_.credits[1];
    file_.credits = {checked};
    sign(digest(0x45));
    expect_named("has no report of its node that says what became of it");
    prefix_.state = protocol::PrefixState::kRefuted;
    sign(digest(0x45));
    EXPECT_EQ(check().deviations, std::vector<std::string>{});
    prefix_.state = protocol::PrefixState::kVerified;
    sign(digest(0x45));
    file_.credits = {paid};
    const EvidenceFindings found = check();
    EXPECT_EQ(found.deviations, std::vector<std::string>{});
    ASSERT_EQ(found.unchecked.size(), 1U);
    EXPECT_NE(found.unchecked[0].find("by the coordinator alone"), std::string::npos);
}

}  // namespace
}  // namespace gym::rewards
