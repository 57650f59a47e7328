// Aggregates whose deltas are withheld, or are what no unit gives.

#include "aggregate_fixture.hpp"
#include "gym/verifier/reexecution.hpp"

namespace gym::verifier {
namespace {

class WithheldDeltaTest : public AggregateTest {
  protected:
    static constexpr std::uint32_t kSlot = 1;

    const Digest& delta() const { return units_[kSlot].delta.root(); }
    Bytes bytes_of(std::uint32_t slot) const {
        return blob::VerifiedBlob(units_[slot].delta).take();
    }
    void withhold() { ASSERT_TRUE(handler_.blobs.remove(delta()).ok()); }
    /// The worker of the slot commits to these bytes, and the aggregate includes them.
    void commit_to(const Bytes& bytes) {
        units_[kSlot].delta = blob::VerifiedBlob::hash(bytes);
        show_units();
        task_.deltas[kSlot].delta_root = delta();
    }
    Result<bool> run() {
        handler_.tasks[key_.address()] = task_;
        return verifier_->run_once({});
    }
    void expect_refused(ErrorCode code, const std::string& part) {
        const auto ran = run();
        ASSERT_FALSE(ran.ok());
        EXPECT_EQ(ran.error().code, code) << ran.error().message;
        EXPECT_NE(ran.error().message.find(part), std::string::npos) << ran.error().message;
    }
};

TEST_F(WithheldDeltaTest, IsMadeAgainByRunningItsUnit) {
    withhold();
    verify();
    expect_right();
}

TEST_F(WithheldDeltaTest, OfOtherBytesIsMadeAgain) {
    handler_.lies[delta()] = bytes_of(0);
    verify();
    expect_right();
}

TEST_F(WithheldDeltaTest, ThatIsNotAnsweredForIsAskedForAgainFirst) {
    handler_.silent.insert(delta());
    for (unsigned i = 1; i < node::DeltaLoader::kTriesMax; ++i)
        expect_refused(ErrorCode::kUnavailable, "no answer");
    verify();
    expect_right();
}

TEST_F(WithheldDeltaTest, WithoutTheDatasetItCannotBeMadeAgainWhichIsTold) {
    withhold();
    task_.inputs.dataset_blob.reset();
    for (int i = 0; i < 2; ++i)
        expect_refused(ErrorCode::kMismatch, "the task of an aggregate is without the dataset");
    EXPECT_EQ(told("contradiction").size(), 1u) << "once, however often the task comes";
    EXPECT_EQ(contradictions("is without the dataset"), 1);
}

/// Then the worker is at fault, and can be proven to be.
TEST_F(WithheldDeltaTest, ThatItsUnitDoesNotGiveIsTheWorkersFault) {
    const Digest right = delta();
    Bytes other = bytes_of(kSlot);
    other[20] ^= 1;
    commit_to(other);
    withhold();
    expect_refused(ErrorCode::kMismatch, "the delta of slot 1 in round 1 has root " +
                                             delta().hex() + ", its unit gives " + right.hex());
    ASSERT_EQ(told("contradiction").size(), 1u);
    EXPECT_NE(told("contradiction")[0].find("of unit 1 of round 1, which running the unit again"),
              std::string::npos)
        << told("contradiction")[0];
    ASSERT_EQ(claims_->list().size(), 1u);
    const player::Claim& claim = *claims_->list()[0];
    EXPECT_EQ(claim.subject, Subject::kTrainUnit);
    EXPECT_EQ(claim.role, player::Role::kChallenge);
    EXPECT_EQ(claim.key, job_.unit(kSlot));
    EXPECT_EQ(claim.evidence.commitment, *view(kSlot).commitment);
    EXPECT_EQ(claim.evidence.path, view(kSlot).inclusion->siblings);
    EXPECT_EQ(claim.dataset_blob, *job_.inputs.dataset_blob);
    // Once, however often the task comes.
    const std::size_t before = events_.size();
    expect_refused(ErrorCode::kMismatch, "its unit gives");
    EXPECT_EQ(told("contradiction").size(), 1u);
    EXPECT_EQ(events_.size(), before + 1) << "started again, and nothing was run";
    EXPECT_EQ(claims_->list().size(), 1u);
}

/// A worker that commits to such a delta escapes neither by an accomplice nor by an outage.
TEST_F(WithheldDeltaTest, ThatItsUnitDoesNotGiveIsChallengedWhenItCanBe) {
    Bytes other = bytes_of(kSlot);
    other[20] ^= 1;
    commit_to(other);
    withhold();
    while_running_ = [this] { handler_.failures["unit"] = fail(ErrorCode::kUnavailable, "busy"); };
    for (int i = 0; i < 2; ++i)
        expect_refused(ErrorCode::kMismatch, "its unit gives");
    EXPECT_TRUE(claims_->list().empty());
    handler_.failures.clear();
    while_running_ = [] { FAIL() << "it was run already"; };
    for (int i = 0; i < 2; ++i)
        expect_refused(ErrorCode::kMismatch, "its unit gives");
    ASSERT_EQ(claims_->list().size(), 1u);
    EXPECT_EQ(claims_->list()[0]->key, job_.unit(kSlot));
    EXPECT_EQ(told("challenged").size(), 1u);
    EXPECT_EQ(told("contradiction").size(), 1u);
    // The claim goes when its game is over: there is no second one.
    ASSERT_TRUE(claims_->remove(*claims_->list()[0]).ok());
    expect_refused(ErrorCode::kMismatch, "its unit gives");
    EXPECT_TRUE(claims_->list().empty());
}

/// The same root, but nothing that an outer step can be made with.
TEST_F(WithheldDeltaTest, ThatIsNoDeltaIsTheWorkersFault) {
    commit_to({1, 2, 3});
    expect_refused(ErrorCode::kMismatch, "its unit gives");
    EXPECT_EQ(contradictions("running the unit again does not give"), 1);
    ASSERT_EQ(claims_->list().size(), 1u);
    EXPECT_EQ(claims_->list()[0]->key, job_.unit(kSlot));
}

TEST_F(WithheldDeltaTest, ThatNobodyCommittedToIsNoWorkersFault) {
    task_.deltas[kSlot].delta_root = commit::sha256(as_bytes("of nobody"));
    expect_refused(ErrorCode::kMismatch, "its unit gives");
    EXPECT_EQ(contradictions("which no commitment under the epoch's root has"), 1);
    EXPECT_EQ(contradictions("running the unit again does not give"), 1);
    EXPECT_TRUE(claims_->list().empty());
}

TEST_F(WithheldDeltaTest, OfASlotThatTheRoundHasNotIsRefused) {
    task_.deltas[2] = {9, task_.deltas[2].unit, commit::sha256(as_bytes("of nobody"))};
    expect_refused(ErrorCode::kMismatch, "the round has no such slot");
}

/// A claim has all that a player needs to make it again.
TEST_F(WithheldDeltaTest, TheClaimOnAnAggregateNamesTheDataset) {
    sign(commit::sha256(as_bytes("another base")));
    verify();
    ASSERT_EQ(claims_->list().size(), 1u);
    EXPECT_EQ(claims_->list()[0]->dataset_blob, *job_.inputs.dataset_blob);
}

// --- tasks that are refused ---

TEST_F(WithheldDeltaTest, TheDeltasOfATaskAreOfWorkersAndAscend) {
    ASSERT_TRUE(check_task(domain_, task_).ok());
    const auto expect_mismatch = [&](const records::VerifyTask& task, const std::string& part) {
        const Status checked = check_task(domain_, task);
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, ErrorCode::kMismatch);
        EXPECT_NE(checked.error().message.find(part), std::string::npos) << checked.error().message;
    };
    records::VerifyTask task = task_;
    std::swap(task.deltas[0], task.deltas[1]);
    expect_mismatch(task, "do not ascend by slot: slot 0 is behind slot 1");
    task = task_;
    task.deltas[2] = task.deltas[1];
    expect_mismatch(task, "slot 1 is behind slot 1");
    task = task_;
    task.deltas[2].slot = protocol::kSlotsMax;
    expect_mismatch(task, "slot 65536, which no worker of the round has committed");
    task.deltas.clear();
    expect_mismatch(task, "an aggregate of 0 deltas");
    for (std::uint32_t i = 0; i <= program::kDeltasMax; ++i)
        task.deltas.push_back({i, {}, {}});
    expect_mismatch(task, "an aggregate of 8193 deltas");
}

TEST_F(WithheldDeltaTest, ATaskWithAnotherWholeRecordThanItsHeadsIsRefused) {
    const auto refusal = [this](const records::VerifyTask& task) {
        return check_task(domain_, task).error().message;
    };
    records::VerifyTask task = task_;
    task.round->slots[1].sampling_rate_ppm -= 1;
    EXPECT_NE(refusal(task).find("is not that of its head"), std::string::npos) << refusal(task);
    task.round.reset();
    EXPECT_NE(refusal(task).find("without its round's record"), std::string::npos);
}

/// A game about the aggregate goes by the trace root: with another one it would be lost.
TEST_F(WithheldDeltaTest, ARecordWithAnotherTraceRootIsRefused) {
    const protocol::RoundRecord right = *task_.round;
    for (const auto root :
         {&protocol::RoundRecord::trace_root, &protocol::RoundRecord::initial_state_root}) {
        protocol::RoundRecord wrong = right;
        (wrong.*root).data[0] ^= 1;
        post_task(wrong);
        expect_refused(ErrorCode::kMismatch, root == &protocol::RoundRecord::trace_root
                                                 ? "the trace program has root"
                                                 : "the training state before the first step");
    }
    EXPECT_TRUE(claims_->list().empty());
}

}  // namespace
}  // namespace gym::verifier
