// Deltas that workers name at mirrors: fetched, waited for, wanted back, given up.
#include <gtest/gtest.h>

#include "blob_site.hpp"
#include "fake_world.hpp"
#include "gym/coordinator/delta_collector.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// Two workers in a round of a public job: the delta of one is on mirrors, with servers over real
/// sockets.
class DeltaPlaces : public ::testing::Test {
  protected:
    void SetUp() override {
        registry::JobTerms terms = World::terms();
        terms.rounds = 2;
        terms.lifecycle.challenge_ms = 3'600'000;
        job_ = world_.submit_job(terms);
        set_visibility("public");
        world_.settle();
        work_ = world_.work(mirrored_);
        root_ = work_.commitment.commitment.delta_root;
        delta_ = world_.blobs.get(root_).value();
        forget();
        collector_.set_mirrors({first_.url(), second_.url()});
    }
    void set_visibility(const std::string& visibility) {
        change("UPDATE registry.job SET visibility = '" + visibility + "'");
    }
    void change(const std::string& sql) {
        const auto done = world_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec(sql));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    /// World uploads every delta: this one has not been.
    void forget() {
        ASSERT_TRUE(world_.blobs.remove(root_).ok());
        change("DELETE FROM registry.delta_upload");
    }
    void name_and_commit() {
        const Status named =
            world_.core().name_delta(mirrored_.address(), root_, {first_.url(), second_.url()});
        ASSERT_TRUE(named.ok()) << named.error().message;
        const auto taken = world_.commit(mirrored_, work_);
        ASSERT_TRUE(taken.ok()) << taken.error().message;
        ASSERT_TRUE(world_.commit(other_, world_.work(other_)).ok());
        world_.settle();
        while (world_.verify(verifier_)) {
        }
        world_.settle();
    }
    std::uint32_t collect() {
        const auto collected = collector_.collect({});
        EXPECT_TRUE(collected.ok()) << collected.error().message;
        return collected.ok() ? *collected : 0;
    }
    registry::RoundState round() { return world_.rounds(job_).front().state; }
    registry::Unit unit() { return world_.unit(work_.assignment.unit_id()); }
    std::vector<Digest> wanted() {
        return world_.core().wanted_deltas(mirrored_.address()).value();
    }
    void fail_three_times() {
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(collect(), 0U);
            EXPECT_EQ(collect(), 0U) << "not asked again at once";
            world_.clock.advance_ms(10'000);
        }
    }

    World world_;
    const FakeNode mirrored_ = world_.add_node(NodeRole::kWorker);
    const FakeNode other_ = world_.add_node(NodeRole::kWorker);
    const FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    Digest job_, root_;
    World::Work work_;
    Bytes delta_;
    blob::MemoryStore on_first_, on_second_;
    BlobSite first_{on_first_}, second_{on_second_};
    coordinator::DeltaCollector collector_{world_.database(), world_.blobs, world_.clock,
                                           std::uint64_t{1} << 30};
};

TEST_F(DeltaPlaces, TheAggregateWaitsForADeltaAndIncludesIt) {
    ASSERT_TRUE(on_second_.put(delta_).ok());
    ASSERT_NO_FATAL_FAILURE(name_and_commit());
    EXPECT_EQ(round(), registry::RoundState::kVerifying);
    EXPECT_EQ(collect(), 1U);
    EXPECT_EQ(collector_.bytes_received(), delta_.size());
    world_.settle();
    EXPECT_EQ(world_.rounds(job_).front().state, registry::RoundState::kAggregated);
    EXPECT_TRUE(unit().included);
    EXPECT_EQ(collect(), 0U);
    EXPECT_EQ(collector_.bytes_received(), delta_.size()) << "once";
}

TEST_F(DeltaPlaces, NothingIsFetchedBeforeItIsCommittedTo) {
    ASSERT_TRUE(on_first_.put(delta_).ok());
    ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, {first_.url()}).ok());
    EXPECT_EQ(collect(), 0U);
    EXPECT_EQ(first_.lists, 0U);
}

TEST_F(DeltaPlaces, OneThatLiesIsNoPlaceAndAnotherMirrorOfTheNetworkHasIt) {
    ASSERT_TRUE(on_first_.put(delta_).ok());
    ASSERT_TRUE(on_second_.put(delta_).ok());
    first_.fault = Fault::kLies;
    ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, {first_.url()}).ok());
    ASSERT_TRUE(world_.commit(mirrored_, work_).ok());
    EXPECT_EQ(collect(), 1U);
    EXPECT_EQ(world_.blobs.get(root_).value(), delta_);
}

TEST_F(DeltaPlaces, WhatMirrorsLostIsWantedFromItsWorkerAndIncluded) {
    ASSERT_NO_FATAL_FAILURE(name_and_commit());
    EXPECT_TRUE(wanted().empty());
    fail_three_times();
    EXPECT_EQ(wanted(), std::vector<Digest>{root_});
    world_.restart();
    EXPECT_EQ(round(), registry::RoundState::kVerifying);
    ASSERT_TRUE(world_.blobs.put(delta_).ok());
    ASSERT_TRUE(world_.core().note_upload(mirrored_.address(), root_).ok());
    EXPECT_TRUE(wanted().empty());
    world_.settle();
    EXPECT_EQ(round(), registry::RoundState::kAggregated);
    EXPECT_TRUE(unit().included);
}

TEST_F(DeltaPlaces, AMirrorThatComesBackGivesWhatIsWanted) {
    ASSERT_NO_FATAL_FAILURE(name_and_commit());
    fail_three_times();
    ASSERT_TRUE(on_first_.put(delta_).ok());
    world_.clock.advance_ms(60'000);
    EXPECT_EQ(collect(), 1U);
    EXPECT_TRUE(wanted().empty());
    world_.settle();
    EXPECT_TRUE(unit().included);
}

TEST_F(DeltaPlaces, WhatNobodyGivesEndsTheWaitAndTheUnit) {
    ASSERT_NO_FATAL_FAILURE(name_and_commit());
    fail_three_times();
    world_.clock.advance_ms(world_.options.delta_wait_ms - 40'000);
    world_.settle();
    EXPECT_EQ(round(), registry::RoundState::kVerifying)
        << "named again or not, it waits no longer";
    ASSERT_TRUE(world_.core().name_delta(other_.address(), root_, {first_.url()}).error().code ==
                ErrorCode::kPermissionDenied);
    world_.clock.advance_ms(10'001);
    world_.settle();
    EXPECT_EQ(round(), registry::RoundState::kAggregated);
    EXPECT_EQ(unit().status.state, UnitState::kVoid);
    EXPECT_NE(unit().reason.find("neither from a mirror nor from its worker"), std::string::npos)
        << unit().reason;
    EXPECT_FALSE(world_.node(mirrored_.address()).excluded);
    EXPECT_TRUE(wanted().empty()) << "the round is over";
    EXPECT_EQ(collect(), 0U);
}

TEST_F(DeltaPlaces, AUnitThatIsFinalBeforeItsDeltaCameIsPaidAndLeftOut) {
    ASSERT_NO_FATAL_FAILURE(name_and_commit());
    change("UPDATE registry.unit SET deadline_ms = 1 WHERE state = 'verified'");
    world_.settle();
    ASSERT_EQ(unit().status.state, UnitState::kFinal);
    fail_three_times();
    world_.clock.advance_ms(world_.options.delta_wait_ms);
    world_.settle();
    EXPECT_EQ(round(), registry::RoundState::kAggregated);
    EXPECT_EQ(unit().status.state, UnitState::kFinal);
    EXPECT_FALSE(unit().included);
}

TEST_F(DeltaPlaces, OneThatDoesNotDecodeEndsItsUnitAlone) {
    const Bytes garbage{1, 2, 3};
    root_ = on_first_.put(garbage).value();
    work_.commitment.commitment.delta_root = root_;
    work_.commitment =
        protocol::sign(world_.options.domain, work_.commitment.commitment, mirrored_.key);
    ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, {first_.url()}).ok());
    ASSERT_TRUE(world_.commit(mirrored_, work_).ok());
    ASSERT_TRUE(world_.commit(other_, world_.work(other_)).ok());
    EXPECT_EQ(collect(), 1U);
    world_.settle();
    while (world_.copy(verifier_)) {  // an accomplice that reports what was committed to
    }
    world_.settle();
    EXPECT_EQ(round(), registry::RoundState::kAggregated);
    EXPECT_EQ(unit().status.state, UnitState::kVoid);
    EXPECT_NE(unit().reason.find("none of this program"), std::string::npos) << unit().reason;
}

TEST_F(DeltaPlaces, APrivateJobNamesNoMirrors) {
    set_visibility("private");
    EXPECT_EQ(world_.core().name_delta(mirrored_.address(), root_, {first_.url()}).error().code,
              ErrorCode::kPermissionDenied);
    EXPECT_FALSE(world_.core().upload_limit(mirrored_.address()).value()->is_public);
    set_visibility("public");
    ASSERT_TRUE(world_.core().name_delta(mirrored_.address(), root_, {first_.url()}).ok());
    set_visibility("private");  // between naming and committing
    EXPECT_EQ(world_.commit(mirrored_, work_).error().code, ErrorCode::kNotFound);
    ASSERT_TRUE(world_.blobs.put(delta_).ok());
    ASSERT_TRUE(world_.core().note_upload(mirrored_.address(), root_).ok());
    EXPECT_TRUE(world_.commit(mirrored_, work_).ok());
}

}  // namespace
}  // namespace gym::testing
