// Units that end without a commitment, and the prefixes that their workers signed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fake_world.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/prefixes.hpp"

namespace gym::testing {
namespace {

using protocol::PrefixState;
using protocol::UnitState;
using records::NodeRole;

/// A worker that commits, one that is interrupted, and verifiers.
class PrefixesTest : public ::testing::Test {
  protected:
    World world_;
    FakeNode steady_ = world_.add_node(NodeRole::kWorker);
    FakeNode broken_ = world_.add_node(NodeRole::kWorker);
    FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    Digest job_;
    records::TrainTask task_;

    void submit(std::uint64_t rounds = 1, bool late = false) {
        registry::JobTerms terms = World::terms();
        terms.rounds = rounds;
        terms.elastic.accept_late = late;
        job_ = world_.submit_job(terms);
        world_.settle();
        task_ = *world_.core().next_unit(broken_.address()).value();
    }
    void beat() { world_.beat({&steady_, &broken_, &verifier_}); }
    protocol::SignedPrefix prefix(std::uint32_t steps) { return prefix_by(broken_, steps); }
    protocol::SignedPrefix prefix_by(const FakeNode& signer, std::uint32_t steps) {
        protocol::UnitPrefix out{protocol::hash(task_.record), task_.unit.slot, 0, steps, {}};
        out.link = FakeCompute::link(task_.record, steps);
        return sign(signer, out);
    }
    protocol::SignedPrefix sign(const FakeNode& signer, const protocol::UnitPrefix& prefix) {
        return protocol::sign(world_.options.domain, prefix, signer.key);
    }
    Status keep(std::uint32_t steps) {
        const Status kept = world_.core().keep_prefix(broken_.address(), prefix(steps));
        world_.clock.advance_ms(protocol::kPrefixEveryMsMin);
        return kept;
    }
    ErrorCode refused(const FakeNode& caller, const protocol::SignedPrefix& given) {
        const Status kept = world_.core().keep_prefix(caller.address(), given);
        return kept.ok() ? ErrorCode::kInternal : kept.error().code;
    }
    registry::Prefix stored() { return stored(task_.unit_id()); }
    registry::Prefix stored(const Digest& unit) {
        return world_.database()
            .transact([&](db::Transaction& tx) { return registry::get_prefix(tx, unit); })
            .value();
    }
    bool has_prefix() {
        return world_.database()
            .transact(
                [&](db::Transaction& tx) { return registry::find_prefix(tx, task_.unit_id()); })
            .value()
            .has_value();
    }
    std::vector<registry::DecidedPrefix> decided() {
        return world_.database()
            .transact(
                [&](db::Transaction& tx) { return registry::read_decided_prefixes(tx, 0, 100); })
            .value();
    }
    protocol::Work billable() {
        return world_.database()
            .transact([&](db::Transaction& tx) {
                return registry::billable_work(tx, job_, std::nullopt);
            })
            .value();
    }
    /// The steady worker commits, the other one's unit expires, and the beacon is there.
    void expire() {
        ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
        world_.clock.advance_ms(600'001);
        beat();
        world_.settle();
        ASSERT_EQ(unit().status.state, UnitState::kExpired);
    }
    registry::Unit unit() { return world_.unit(task_.unit_id()); }
    std::optional<records::PrefixTask> prefix_task() { return prefix_task(verifier_); }
    std::optional<records::PrefixTask> prefix_task(const FakeNode& verifier) {
        while (world_.verify(verifier)) {
        }
        const Address self = verifier.address();
        const auto tasks = world_.core().next_tasks({&self, 1});
        if (!tasks.front().value()) return std::nullopt;
        return std::get<records::PrefixTask>(**tasks.front());
    }
    Status report(const FakeNode& verifier, bool lie = false) {
        protocol::SignedPrefix found = prefix_by(verifier, stored().steps);
        if (lie) {
            found.prefix.link.data[5] ^= 1;
            found = sign(verifier, found.prefix);
        }
        return world_.core().report_prefix(verifier.address(), found);
    }
    void verify_all() {
        while (world_.verify(verifier_)) {
        }
        world_.settle();
    }
    /// A round whose deadline comes when the broken worker has done 13 steps.
    void cut_off() {
        ASSERT_TRUE(keep(13).ok());
        ASSERT_NO_FATAL_FAILURE(expire());
        if (prefix_task()) {
            ASSERT_TRUE(report(verifier_).ok());
        }
        world_.settle();
    }
    /// The steady worker works until the job has so many rounds.
    void reach(std::size_t rounds) {
        for (int i = 0; i < 5 && world_.rounds(job_).size() < rounds; ++i) {
            beat();
            if (world_.core().next_unit(steady_.address()).value()) {
                ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
            }
            world_.settle();
            verify_all();
        }
        ASSERT_GE(world_.rounds(job_).size(), rounds);
        beat();
    }
    std::size_t slots_of(std::size_t round) {
        return world_.rounds(job_).at(round - 1).record.slots.size();
    }
    registry::RoundState round_state() { return world_.rounds(job_).at(0).state; }
    void finish() {
        while (world_.verify(verifier_)) {
        }
        world_.clock.advance_ms(60'001);
        beat();
        world_.settle();
    }
};

TEST_F(PrefixesTest, OneThatAVerifierFindsAgainIsPaid) {
    submit();
    ASSERT_TRUE(keep(5).ok());
    ASSERT_TRUE(keep(13).ok());
    EXPECT_EQ(billable().training_flops, Amount(40'000'000)) << "both units may still be paid";
    expire();
    EXPECT_EQ(billable().training_flops, Amount(33'000'000)) << "of the other one its prefix";

    const auto task = prefix_task();
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(task->unit, task_.unit);
    EXPECT_EQ(task->steps, 13U);
    EXPECT_EQ(task->record, task_.record);
    EXPECT_EQ(task->inputs.dataset_blob, task_.inputs.dataset_blob);
    EXPECT_EQ(std::get<records::PrefixTask>(
                  **world_.core().next_tasks(std::vector{verifier_.address()}).front())
                  .draw,
              0U);
    const auto busy = world_.core().nodes_with_tasks().value();
    EXPECT_EQ(std::ranges::count(busy, verifier_.address()), 1);
    finish();
    EXPECT_EQ(round_state(), registry::RoundState::kAggregated) << "the round waits for it";

    beat();
    world_.settle();
    ASSERT_TRUE(prefix_task().has_value());
    ASSERT_TRUE(report(verifier_).ok());
    EXPECT_TRUE(report(verifier_).ok()) << "the same again";
    EXPECT_EQ(stored().state, PrefixState::kVerified);
    EXPECT_FALSE(prefix_task().has_value());
    const auto feed = decided();
    ASSERT_EQ(feed.size(), 1U);
    EXPECT_EQ(feed[0].seq, 1U);
    EXPECT_TRUE(feed[0].verified);
    EXPECT_EQ(feed[0].flops, 13'000'000U);
    EXPECT_EQ(feed[0].worker, broken_.address());
    EXPECT_EQ(feed[0].verifier, verifier_.address());
    EXPECT_EQ(billable().training_flops, Amount(33'000'000));
    for (int i = 0; i < 2; ++i)
        finish();
    EXPECT_EQ(round_state(), registry::RoundState::kClosed);
    EXPECT_EQ(world_.job(job_).status, registry::JobStatus::kCompleted);
    EXPECT_EQ(world_.compute.runs, 0U) << "the coordinator ran nothing itself";
    EXPECT_FALSE(world_.node(broken_.address()).excluded);
}

TEST_F(PrefixesTest, BadOnesAreRefused) {
    submit();
    const protocol::SignedPrefix right = prefix(5);
    EXPECT_EQ(refused(steady_, right), ErrorCode::kUnauthenticated) << "another's signature";
    EXPECT_EQ(refused(steady_, prefix_by(steady_, 5)), ErrorCode::kPermissionDenied)
        << "another's slot";
    protocol::SignedPrefix forged = right;
    forged.prefix.steps = 6;
    EXPECT_EQ(refused(broken_, forged), ErrorCode::kUnauthenticated) << "altered";
    const auto changed = [&](const auto& change) {
        protocol::UnitPrefix out = right.prefix;
        change(out);
        return refused(broken_, sign(broken_, out));
    };
    EXPECT_EQ(changed([](auto& p) { p.steps = 0; }), ErrorCode::kOutOfRange);
    EXPECT_EQ(changed([](auto& p) { p.steps = 21; }), ErrorCode::kOutOfRange);
    EXPECT_EQ(changed([](auto& p) { p.round_record.data[0] ^= 1; }), ErrorCode::kNotFound);
    EXPECT_EQ(changed([](auto& p) { p.slot = 9; }), ErrorCode::kNotFound);
    EXPECT_EQ(changed([](auto& p) { p.attempt = 1; }), ErrorCode::kMismatch);
    EXPECT_EQ(changed([](auto& p) { p.link = {}; }), ErrorCode::kMismatch);
    EXPECT_EQ(refused(verifier_, prefix_by(verifier_, 5)), ErrorCode::kPermissionDenied)
        << "not a worker";

    ASSERT_TRUE(world_.core().keep_prefix(broken_.address(), right).ok());
    EXPECT_TRUE(world_.core().keep_prefix(broken_.address(), right).ok()) << "the same again";
    EXPECT_EQ(refused(broken_, prefix(6)), ErrorCode::kOutOfRange) << "too soon";
    world_.clock.advance_ms(protocol::kPrefixEveryMsMin);
    ASSERT_TRUE(world_.core().keep_prefix(broken_.address(), prefix(6)).ok());
    EXPECT_EQ(refused(broken_, right), ErrorCode::kConflict) << "fewer steps: a replay";
    EXPECT_EQ(changed([](auto& p) { p.steps = 6; }), ErrorCode::kConflict) << "another link";
    EXPECT_EQ(stored().steps, 6U);
    EXPECT_EQ(stored().link, prefix(6).prefix.link);

    EXPECT_EQ(report(verifier_).error().code, ErrorCode::kPermissionDenied) << "not drawn";
    world_.clock.advance_ms(600'000);
    EXPECT_EQ(refused(broken_, prefix(7)), ErrorCode::kTimeout) << "after the deadline";
    beat();
    world_.settle();
    EXPECT_EQ(refused(broken_, prefix(7)), ErrorCode::kConflict) << "the unit has expired";
}

TEST_F(PrefixesTest, OneWhoseUnitIsCommittedPaysTheUnitAlone) {
    submit();
    ASSERT_TRUE(keep(13).ok());
    ASSERT_TRUE(world_.commit(broken_, world_.work(broken_)).ok());
    EXPECT_EQ(refused(broken_, prefix(14)), ErrorCode::kConflict);
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    world_.settle();
    for (int i = 0; i < 3; ++i)
        finish();
    EXPECT_EQ(unit().status.state, UnitState::kFinal);
    EXPECT_FALSE(has_prefix());
    EXPECT_TRUE(decided().empty());
    EXPECT_EQ(world_.job(job_).status, registry::JobStatus::kCompleted);
}

TEST_F(PrefixesTest, OneOfALateUnitWaitsForItsEnd) {
    submit(2, true);
    ASSERT_TRUE(keep(13).ok());
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    const auto late = world_.work(broken_);
    world_.clock.advance_ms(600'001);
    beat();
    world_.settle();
    ASSERT_TRUE(unit().status.late);
    EXPECT_TRUE(keep(14).ok()) << "a commitment is taken, so is a prefix";
    verify_all();
    EXPECT_FALSE(prefix_task().has_value());
    ASSERT_TRUE(world_.commit(broken_, late).ok());
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    world_.settle();
    for (int i = 0; i < 4; ++i)
        finish();
    EXPECT_EQ(unit().status.state, UnitState::kFinal);
    EXPECT_FALSE(has_prefix());
    EXPECT_TRUE(decided().empty());
}

TEST_F(PrefixesTest, OneOfALateUnitThatIsOvertakenIsDrawnByTheNextBeacon) {
    submit(2, true);
    ASSERT_TRUE(keep(13).ok());
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    world_.clock.advance_ms(600'001);
    beat();
    world_.settle();
    ASSERT_TRUE(unit().status.late);
    verify_all();
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    world_.settle();
    EXPECT_EQ(unit().status.state, UnitState::kExpired);
    ASSERT_TRUE(prefix_task().has_value());
    ASSERT_TRUE(report(verifier_).ok());
    EXPECT_EQ(stored().state, PrefixState::kVerified);
    for (int i = 0; i < 4; ++i)
        finish();
    EXPECT_EQ(world_.job(job_).status, registry::JobStatus::kCompleted);
}

TEST_F(PrefixesTest, AWrongOneIsRefutedByTheCoordinatorItself) {
    submit();
    protocol::UnitPrefix wrong = prefix(13).prefix;
    wrong.link.data[3] ^= 1;
    ASSERT_TRUE(world_.core().keep_prefix(broken_.address(), sign(broken_, wrong)).ok());
    expire();
    ASSERT_TRUE(prefix_task().has_value());
    ASSERT_TRUE(report(verifier_).ok());
    EXPECT_EQ(stored().state, PrefixState::kReported) << "the coordinator looks first";
    world_.settle();
    EXPECT_EQ(stored().state, PrefixState::kRefuted);
    EXPECT_NE(stored().reason.find("record chain after 13 steps"), std::string::npos)
        << stored().reason;
    EXPECT_TRUE(world_.node(broken_.address()).excluded);
    EXPECT_TRUE(world_.node(broken_.address()).valid_value.is_zero());
    EXPECT_FALSE(world_.node(verifier_.address()).excluded);
    const auto feed = decided();
    ASSERT_EQ(feed.size(), 1U);
    EXPECT_FALSE(feed[0].verified);
    EXPECT_EQ(feed[0].verifier, verifier_.address()) << "it found the fault";
    EXPECT_EQ(billable().training_flops, Amount(20'000'000));
    EXPECT_EQ(unit().status.state, UnitState::kExpired) << "nothing was committed to";
}

TEST_F(PrefixesTest, AVerifierThatLiesIsExcludedAndTheWorkerPaid) {
    submit();
    ASSERT_TRUE(keep(13).ok());
    expire();
    ASSERT_TRUE(prefix_task().has_value());
    ASSERT_TRUE(report(verifier_, true).ok());
    EXPECT_EQ(report(verifier_).error().code, ErrorCode::kConflict) << "it thought better of it";
    world_.compute.runs_fail = true;
    world_.settle();
    EXPECT_EQ(stored().state, PrefixState::kReported) << "begun anew until it works";
    world_.compute.runs_fail = false;
    world_.settle();
    EXPECT_EQ(stored().state, PrefixState::kVerified);
    EXPECT_TRUE(world_.node(verifier_.address()).excluded);
    EXPECT_FALSE(world_.node(broken_.address()).excluded);
    const auto feed = decided();
    ASSERT_EQ(feed.size(), 1U);
    EXPECT_TRUE(feed[0].verified);
    EXPECT_FALSE(feed[0].verifier.has_value());
}

TEST_F(PrefixesTest, AnAuditedReportWaitsForTheCoordinatorsRun) {
    world_.options.audit_ppm = 1'000'000;
    world_.restart();
    submit();
    protocol::UnitPrefix wrong = prefix(13).prefix;
    wrong.link.data[3] ^= 1;
    ASSERT_TRUE(world_.core().keep_prefix(broken_.address(), sign(broken_, wrong)).ok());
    expire();
    ASSERT_TRUE(prefix_task().has_value());
    // An accomplice that was told the worker's link.
    ASSERT_TRUE(world_.core().report_prefix(verifier_.address(), sign(verifier_, wrong)).ok());
    EXPECT_EQ(stored().state, PrefixState::kReported);
    world_.restart();  // the audit is due in the database, not in memory
    world_.settle();
    EXPECT_EQ(stored().state, PrefixState::kRefuted);
    EXPECT_TRUE(world_.node(broken_.address()).excluded);
    EXPECT_TRUE(world_.node(verifier_.address()).excluded);
    ASSERT_EQ(decided().size(), 1U);
    EXPECT_FALSE(decided()[0].verifier.has_value());
}

TEST_F(PrefixesTest, IsDrawnAgainAndEndsUnpaid) {
    submit();
    const FakeNode other = world_.add_node(NodeRole::kVerifier);
    ASSERT_TRUE(keep(13).ok());
    expire();
    const auto first = stored();
    ASSERT_EQ(first.state, PrefixState::kDrawn);
    const FakeNode& drawn = first.verifier == other.address() ? other : verifier_;
    const FakeNode& spare = first.verifier == other.address() ? verifier_ : other;
    EXPECT_EQ(report(spare).error().code, ErrorCode::kPermissionDenied);
    world_.clock.advance_ms(60'001);
    EXPECT_EQ(report(drawn).error().code, ErrorCode::kTimeout);
    world_.beat({&steady_, &broken_, &verifier_, &other});
    world_.settle();
    const auto second = stored();
    EXPECT_EQ(second.draws, 2U);
    EXPECT_EQ(second.verifier, spare.address()) << "not the one that let it pass";
    EXPECT_EQ(report(drawn).error().code, ErrorCode::kPermissionDenied);
    world_.clock.advance_ms(60'001);
    world_.beat({&steady_, &broken_, &verifier_, &other});
    world_.settle();
    EXPECT_EQ(stored().state, PrefixState::kUnpaid) << "after draws_max draws";
    EXPECT_NE(stored().reason.find("in 2 draws"), std::string::npos) << stored().reason;
    EXPECT_EQ(report(spare).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(decided().empty());
    EXPECT_EQ(billable().training_flops, Amount(0)) << "the other unit ended unpaid, too";
    EXPECT_FALSE(world_.node(broken_.address()).excluded);
}

TEST_F(PrefixesTest, IsDrawnAgainWhenItsVerifierSignsOff) {
    submit();
    const FakeNode other = world_.add_node(NodeRole::kVerifier);
    ASSERT_TRUE(keep(13).ok());
    expire();
    const Address first = *stored().verifier;
    const FakeNode& spare = first == other.address() ? verifier_ : other;
    world_.beat({&steady_, &broken_, &verifier_, &other});
    ASSERT_TRUE(world_.core().leave(first).ok());
    world_.settle();
    EXPECT_EQ(stored().verifier, spare.address());
    EXPECT_EQ(stored().draws, 2U);
    ASSERT_TRUE(report(spare).ok());
    EXPECT_EQ(stored().state, PrefixState::kVerified);
}

TEST_F(PrefixesTest, WaitsForAVerifierToCome) {
    submit();
    ASSERT_TRUE(keep(13).ok());
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    world_.clock.advance_ms(600'001);
    world_.beat({&steady_, &broken_});
    world_.settle();
    ASSERT_EQ(stored().state, PrefixState::kDrawn);
    EXPECT_FALSE(stored().verifier.has_value());
    beat();
    world_.settle();
    EXPECT_EQ(stored().verifier, verifier_.address());
    EXPECT_EQ(stored().draws, 1U);
}

/// An owner whose deadlines no worker meets, and a worker that never commits, end in the same way:
/// what was done is paid, and there are no more units to do.
TEST_F(PrefixesTest, WhoseWorkNoLongerCanBePaidForGetsNoMoreOfIt) {
    submit(6);
    for (std::uint32_t round = 1; round <= 3; ++round) {
        ASSERT_NO_FATAL_FAILURE(cut_off()) << round;
        EXPECT_EQ(stored().state, PrefixState::kVerified) << round;
        ASSERT_NO_FATAL_FAILURE(reach(round + 1));
        if (const auto next = world_.core().next_unit(broken_.address()).value()) task_ = *next;
    }
    EXPECT_EQ(decided().size(), 3U) << "every unit that it was given is paid for";
    EXPECT_EQ(task_.unit.round, 3U) << "it got no fourth one";
    EXPECT_EQ(slots_of(4), 1U);

    registry::JobTerms small = World::terms();
    small.slots_max = 1;
    const Digest other = world_.submit_job(small);
    world_.settle();
    const auto task = world_.core().next_unit(broken_.address()).value();
    ASSERT_TRUE(task.has_value()) << "what one job cut off counts in that job alone";
    EXPECT_EQ(task->unit.job_id, other);
    ASSERT_TRUE(world_.commit(broken_, world_.work(broken_)).ok());
    ASSERT_NO_FATAL_FAILURE(reach(5));
    EXPECT_EQ(slots_of(5), 1U) << "nor does a commitment to another job's unit";
    world_.clock.advance_ms(registry::kPrefixCountsMs);
    ASSERT_NO_FATAL_FAILURE(reach(6));
    EXPECT_EQ(slots_of(6), 2U) << "a day later it may try again";
}

TEST_F(PrefixesTest, ACommitmentBeginsTheCountAnew) {
    submit(6);
    for (std::uint32_t round = 1; round <= 5; ++round) {
        if (round == 3) {
            ASSERT_TRUE(world_.commit(broken_, world_.work(broken_)).ok());
        } else {
            ASSERT_NO_FATAL_FAILURE(cut_off()) << round;
        }
        ASSERT_NO_FATAL_FAILURE(reach(round + 1));
        const auto task = world_.core().next_unit(broken_.address()).value();
        ASSERT_TRUE(task.has_value()) << round;
        task_ = *task;
    }
    EXPECT_EQ(decided().size(), 4U);
}

TEST_F(PrefixesTest, NothingIsPaidToAnExcludedWorker) {
    submit();
    ASSERT_TRUE(keep(13).ok());
    expire();
    const auto excluded = world_.database().transact([&](db::Transaction& tx) {
        return registry::exclude_node(tx, broken_.address(), protocol::worker_excluded(task_.unit),
                                      {}, world_.clock.now_ms());
    });
    ASSERT_TRUE(excluded.ok()) << excluded.error().message;
    world_.settle();
    EXPECT_EQ(stored().state, PrefixState::kUnpaid);
    EXPECT_TRUE(decided().empty());
}

TEST_F(PrefixesTest, AFreshInstanceAfterEveryTickChangesNothing) {
    submit();
    ASSERT_TRUE(keep(13).ok());
    ASSERT_TRUE(world_.commit(steady_, world_.work(steady_)).ok());
    world_.clock.advance_ms(600'001);
    bool lied = false;
    for (int i = 0; i < 60 && world_.job(job_).status != registry::JobStatus::kCompleted; ++i) {
        world_.tick();
        world_.restart();
        if (!lied && prefix_task()) {
            ASSERT_TRUE(report(verifier_, true).ok()) << "so that it looks itself";
            lied = true;  // which excludes it
        }
        world_.chain.mine();
        world_.clock.advance_ms(10'000);
        beat();
    }
    EXPECT_EQ(stored().state, PrefixState::kVerified);
    EXPECT_EQ(decided().size(), 1U);
}

}  // namespace
}  // namespace gym::testing
