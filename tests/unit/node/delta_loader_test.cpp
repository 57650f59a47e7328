// Deltas of a round that are fetched, or made again.

#include "gym/node/delta_loader.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "gym/commit/sha256.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

class DeltaLoaderTest : public ::testing::Test {
  protected:
    testing::MemoryHandler handler_;
    testing::TinyJob job_ =
        testing::make_tiny_job({testing::test_key(1).address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, testing::test_key(1).address()};
    testing::TemporaryFolder dir_;
    rpc::BlobCache cache_ =
        rpc::BlobCache::open(dir_.path() / "blobs", coordinator_, vault::StoreKey::random())
            .value();
    InputLoader inputs_{cache_};
    DeltaLoader loader_{cache_, inputs_};
    const engine::UnitResult unit_ = job_.run(0);
    const game::OuterDelta delta_{0, unit_.delta.root()};
    /// No unit gives it.
    const game::OuterDelta wrong_{0, commit::sha256(as_bytes("of no unit"))};
    unsigned ran_ = 0;  ///< units

    Result<blob::VerifiedBlob> load(const game::OuterDelta& delta,
                                    const protocol::RoundRecord& record) {
        DeltaRunOptions options;
        options.progress = [&](const engine::UnitProgress& now) { ran_ += now.step == now.steps; };
        return loader_.load({record, job_.inputs}, delta, options);
    }
    Result<blob::VerifiedBlob> load(const game::OuterDelta& delta) {
        return load(delta, job_.record);
    }
    /// Another round's record, of the same state.
    protocol::RoundRecord other(std::uint64_t round) const {
        protocol::RoundRecord out = job_.record;
        out.round = round;
        return out;
    }
    /// Of the round that most tests ask about.
    std::vector<WrongDelta> take_wrong() {
        return loader_.take_wrong(std::vector{protocol::hash(job_.record)});
    }
    void expect_wrong(const Result<blob::VerifiedBlob>& loaded, unsigned ran) {
        ASSERT_FALSE(loaded.ok());
        EXPECT_EQ(loaded.error().code, ErrorCode::kMismatch) << loaded.error().message;
        EXPECT_EQ(ran_, ran);
    }
};

/// A coordinator that shows two rounds in turns gains nothing by it.
TEST_F(DeltaLoaderTest, ARoundBetweenMakesItForgetNothing) {
    handler_.silent.insert(delta_.root);
    for (unsigned i = 1; i < DeltaLoader::kTriesMax; ++i) {
        EXPECT_EQ(load(delta_).error().code, ErrorCode::kUnavailable);
        EXPECT_EQ(load(delta_, other(2)).error().code, ErrorCode::kUnavailable);
    }
    EXPECT_EQ(load(delta_).value(), unit_.delta);
    EXPECT_EQ(ran_, 1u);
    expect_wrong(load(wrong_), 2);
    expect_wrong(load(wrong_, other(2)), 3);
    expect_wrong(load(wrong_), 3);
    expect_wrong(load(wrong_, other(2)), 3);
}

TEST_F(DeltaLoaderTest, TheRoundsThatItKnowsAreBounded) {
    expect_wrong(load(wrong_), 1);
    const auto look_at = [&](std::uint64_t rounds) {
        for (std::uint64_t round = 2; round < 2 + rounds; ++round) {
            const protocol::RoundRecord record = other(round);
            EXPECT_FALSE(loader_.fetch({record, job_.inputs}, wrong_).ok());
        }
    };
    look_at(DeltaLoader::kRoundsMax - 1);
    expect_wrong(load(wrong_), 1);
    look_at(DeltaLoader::kRoundsMax);
    expect_wrong(load(wrong_), 2);
}

TEST_F(DeltaLoaderTest, FetchingRunsNothing) {
    const DeltaRound round{job_.record, job_.inputs};
    EXPECT_EQ(loader_.fetch(round, delta_).error().code, ErrorCode::kNotFound);
    handler_.silent.insert(delta_.root);
    for (unsigned i = 1; i < DeltaLoader::kTriesMax; ++i)
        EXPECT_EQ(loader_.fetch(round, delta_).error().code, ErrorCode::kUnavailable);
    const auto given_up = loader_.fetch(round, delta_);
    EXPECT_EQ(given_up.error().code, ErrorCode::kNotFound);
    EXPECT_NE(given_up.error().message.find("requested 5 times"), std::string::npos)
        << given_up.error().message;
    handler_.silent.clear();
    ASSERT_TRUE(handler_.blobs.put(unit_.delta).ok());
    EXPECT_EQ(loader_.fetch(round, delta_).value(), unit_.delta);
}

TEST_F(DeltaLoaderTest, AWrongOneIsNamedUntilItIsSettled) {
    EXPECT_TRUE(take_wrong().empty());
    for (const bool named : {false, true, true}) {
        expect_wrong(load(wrong_), 1);
        const auto found = take_wrong();
        ASSERT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].claimed, wrong_);
        EXPECT_EQ(found[0].computed, unit_.delta.root());
        EXPECT_EQ(found[0].named, named);
        EXPECT_TRUE(take_wrong().empty()) << "nobody asked for it";
    }
    loader_.settle({protocol::hash(job_.record), wrong_, {}});
    expect_wrong(load(wrong_), 1);
    EXPECT_TRUE(take_wrong().empty());
}

TEST_F(DeltaLoaderTest, WhatIsNamedIsOfTheRoundsThatAreAskedFor) {
    const game::OuterDelta another{0, commit::sha256(as_bytes("of no unit either"))};
    expect_wrong(load(wrong_), 1);
    expect_wrong(load(another, other(2)), 2);
    expect_wrong(load(wrong_), 2);
    const auto found = take_wrong();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].claimed, wrong_);
    const auto earlier = loader_.take_wrong(std::vector{protocol::hash(other(2))});
    ASSERT_EQ(earlier.size(), 1u);
    EXPECT_EQ(earlier[0].claimed, another);
}

TEST_F(DeltaLoaderTest, AWrongOneIsNotRightWhenItsBytesAreShownAfterAll) {
    const Bytes bytes(8, 1);
    const game::OuterDelta shown{0, blob::blob_root(bytes)};
    expect_wrong(load(shown), 1);
    ASSERT_TRUE(handler_.blobs.put(bytes).ok());
    expect_wrong(load(shown), 1);
}

TEST_F(DeltaLoaderTest, ADiskThatTakesNothingLosesNoRun) {
    const std::string hex = to_hex(delta_.root.view());
    const std::filesystem::path folder = dir_.path() / "blobs" / hex.substr(0, 2);
    std::ofstream(folder) << "a file where the blob's folder would be";
    ASSERT_FALSE(cache_.store().put(unit_.delta).ok());
    const auto made = loader_.run_again({job_.record, job_.inputs}, delta_, {});
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(*made, unit_.delta);
}

}  // namespace
}  // namespace gym::node
