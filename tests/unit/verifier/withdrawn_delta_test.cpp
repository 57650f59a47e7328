// Aggregates that subtract deltas which went in before and were proven wrong since then.

#include "aggregate_fixture.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/game/evidence.hpp"
#include "gym/verifier/withdrawn_deltas.hpp"

namespace gym::verifier {
namespace {

constexpr std::uint32_t kFaulty = 1;  ///< slot of round 1 whose delta is subtracted in round 2

class WithdrawnDeltaTest : public AggregateTest {
  protected:
    std::optional<testing::TinyJob> first_;
    std::vector<engine::UnitResult> first_units_;
    engine::State momentum_;

    void SetUp() override {
        AggregateTest::SetUp();
        include({0, kFaulty});
        first_ = job_;
        first_units_ = std::move(units_);
        momentum_ = right_->momentum;
        protocol::RoundRecord record = next_record();
        record.subtract = true;
        begin_second(record);
        chain_.faulty.insert(name_of(kFaulty));
        withdraw({delta_of(kFaulty)});
        open();
    }
    void begin_second(protocol::RoundRecord record) {
        job_.base = right_->base;
        record.initial_state_root =
            dispute::round_roots(job_.program, job_.base).value().initial_state_root;
        job_.record = record;
        job_.inputs.base_state_blob = handler_.blobs.put(engine::encode_state(job_.base)).value();
        units_.clear();
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot)
            units_.push_back(job_.run(slot));
        epoch_ = kEpoch + 1;
        show_units();
        chain_.post(job_.record, epoch_);
        task_.unit = job_.unit(protocol::kAggregateSlot);
        set_record(task_, job_.record);
        task_.inputs = job_.inputs;
        task_.inputs.momentum_blob = handler_.blobs.put(engine::encode_state(momentum_)).value();
    }
    /// Of the first round.
    [[nodiscard]] protocol::IncludedDelta delta_of(std::uint32_t slot) const {
        return {slot, protocol::unit_id(first_->unit(slot)), first_units_[slot].delta.root(), false,
                1};
    }
    Digest name_of(std::uint32_t slot) {
        const auto& view = handler_.units[protocol::unit_id(first_->unit(slot))];
        return game::unit_of(domain_, *view.commitment).value();
    }
    /// The aggregate of all deltas of the second round, less these.
    void withdraw(const std::vector<protocol::IncludedDelta>& withdrawn) {
        std::vector<engine::Delta> deltas;
        task_.deltas.clear();
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot) {
            task_.deltas.push_back(
                {slot, protocol::unit_id(job_.unit(slot)), units_[slot].delta.root()});
            deltas.push_back(engine::Delta::decode(job_.program, units_[slot].delta).value());
        }
        std::uint32_t held = 0;
        for (const protocol::IncludedDelta& delta : withdrawn) {
            task_.deltas.push_back(delta);
            held += delta.held ? 1 : 0;
            deltas.push_back(
                engine::Delta::decode(job_.program, first_units_[delta.slot].delta).value());
        }
        right_ = engine::run_aggregate(job_.program, job_.base, momentum_, deltas,
                                       {0, withdrawn.size(), held})
                     .value();
        sign(right_->base_root);
    }
    void expect_refused(const std::string& part) {
        handler_.tasks[key_.address()] = task_;
        const auto ran = verifier_->run_once({});
        ASSERT_FALSE(ran.ok());
        EXPECT_NE(ran.error().message.find(part), std::string::npos) << ran.error().message;
        EXPECT_TRUE(claims_->list().empty());
    }
    /// Told, and challenged with the knowledge that nothing shows why.
    void expect_challenged(const std::string& part) {
        verify();
        EXPECT_EQ(contradictions(part), 1)
            << (told("contradiction").empty() ? "none" : told("contradiction").front());
        ASSERT_EQ(claims_->list().size(), 1U);
        const player::Claim& claim = *claims_->list()[0];
        ASSERT_EQ(claim.withdrawn.size(), 1U);
        EXPECT_FALSE(claim.withdrawn[0].has_value());
        EXPECT_EQ(player::decode_claim(player::encode(claim)).value(), claim);
    }
};

TEST_F(WithdrawnDeltaTest, IsSubtracted) {
    verify();
    expect_right();
    EXPECT_TRUE(claims_->list().empty());
    const WithdrawnAudit audit = audit_withdrawn(chain_, coordinator_, task_, domain_).value();
    ASSERT_EQ(audit.sources.size(), 1U);
    ASSERT_TRUE(audit.sources[0].has_value());
    EXPECT_EQ(audit.sources[0]->listing, *task_.round);
    EXPECT_EQ(audit.sources[0]->unit, delta_of(kFaulty).unit);
}

TEST_F(WithdrawnDeltaTest, ThatIsAddedIsChallenged) {
    const Digest right = right_->base_root;
    std::vector<engine::Delta> deltas;
    for (const engine::UnitResult& unit : units_)
        deltas.push_back(engine::Delta::decode(job_.program, unit.delta).value());
    deltas.push_back(engine::Delta::decode(job_.program, first_units_[kFaulty].delta).value());
    const Digest added =
        engine::run_aggregate(job_.program, job_.base, momentum_, deltas).value().base_root;
    ASSERT_NE(added, right);
    sign(added);
    verify();
    EXPECT_EQ(told("differs").size(), 1U);
    ASSERT_EQ(claims_->list().size(), 1U);
    EXPECT_EQ(claims_->list()[0]->deltas, task_.deltas);
}

TEST_F(WithdrawnDeltaTest, ThatNoGameHasProvenIsChallenged) {
    chain_.faulty.clear();
    expect_challenged("no game on chain has proven its unit faulty");
}

TEST_F(WithdrawnDeltaTest, ThatNeverWentInIsChallenged) {
    chain_.faulty.insert(name_of(2));
    withdraw({delta_of(2)});
    expect_challenged("does not list delta");
}

TEST_F(WithdrawnDeltaTest, WithAnotherWeightIsChallenged) {
    protocol::IncludedDelta delta = delta_of(kFaulty);
    delta.held = true;
    withdraw({delta});
    expect_challenged("it went in before there were rounds");
}

TEST_F(WithdrawnDeltaTest, OfAnotherUnitIsChallenged) {
    // A unit of its own, whose worker lost a game, with the delta of another.
    handler_.units[delta_of(kFaulty).unit].commitment->commitment.delta_root =
        first_units_[0].delta.root();
    expect_challenged("the commitment to its unit is to another delta");
}

TEST_F(WithdrawnDeltaTest, ThatWasWithdrawnBeforeIsTold) {
    // Round 3, whose record says that round 2 has subtracted it.
    protocol::RoundRecord third = job_.record;
    third.round = 3;
    third.previous_record = protocol::hash(job_.record);
    third.included = task_.deltas;
    ASSERT_TRUE(protocol::validate(third).ok());
    post(third);
    handler_.records = {job_.record};
    records::VerifyTask task = task_;
    set_record(task, third);
    task.deltas.back().age = 2;
    auto audit = audit_withdrawn(chain_, coordinator_, task, domain_).value();
    ASSERT_EQ(audit.contradictions.size(), 1U);
    EXPECT_NE(audit.contradictions[0].find("round 3 has it as withdrawn already"),
              std::string::npos)
        << audit.contradictions[0];
    EXPECT_FALSE(audit.has_groundless()) << "a game would show all that it takes";
    third.included.pop_back();
    chain_.post(third, 0);
    set_record(task, third);
    audit = audit_withdrawn(chain_, coordinator_, task, domain_).value();
    EXPECT_TRUE(audit.contradictions.empty());
}

TEST_F(WithdrawnDeltaTest, AgainstTheRecordOrAloneIsRefused) {
    protocol::RoundRecord record = *task_.round;
    record.subtract = false;
    post_task(record);
    expect_refused("the round record says that none are");
    record.subtract = true;
    post_task(record);
    task_.deltas = {task_.deltas.back()};
    expect_refused("one at least goes in");
}

/// A chain that does not answer is asked again with the next task.
TEST_F(WithdrawnDeltaTest, WaitsForTheChain) {
    chain_.answers = false;
    const auto audit = audit_withdrawn(chain_, coordinator_, task_, domain_);
    ASSERT_FALSE(audit.ok());
    EXPECT_EQ(audit.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace gym::verifier
