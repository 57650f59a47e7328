#include "gym/node/defence.hpp"

#include <gtest/gtest.h>

#include "manual_timer.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

using std::chrono::seconds;

class DefenceTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    blob::MemoryStore blobs_;
    const testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, blobs_);
    testing::TemporaryFolder dir_;
    testing::ManualTimer timer_;
    std::stop_source stop_;
    int followed_ = 0;
    bool playing_ = false;
    const Error banned_ = fail(ErrorCode::kInvalidArgument, "the card gave wrong results 3 times");
    const Error missing_ = fail(ErrorCode::kNotFound, "no CUDA device");

    [[nodiscard]] NodeConfig config() const {
        NodeConfig out;
        out.data_dir = dir_.path();
        out.dispute_game = "0x1";
        return out;
    }
    [[nodiscard]] std::unique_ptr<player::ClaimStore> claims() const {
        return player::ClaimStore::open(config().claims_folder()).value();
    }
    [[nodiscard]] player::Claim claim() const {
        player::Claim out;
        out.key = job_.unit(0);
        out.evidence.commitment = protocol::sign(testing::MemoryHandler::network_info().domain(),
                                                 job_.commitment(0, job_.run(0)), key_);
        out.evidence.record = protocol::unit_record(job_.record, 0);
        out.program_blob = job_.inputs.program_blob;
        out.dataset_blob = *job_.inputs.dataset_blob;
        out.base_state_blob = job_.inputs.base_state_blob;
        return out;
    }
    Status stay(const player::ClaimStore* claims, const Error& why, seconds at_least = {}) {
        const Defence defence{claims, [this] { return playing_; }, at_least};
        const auto follow = [this] {
            ++followed_;
            return Status();
        };
        return stay_for_games(defence, why, follow, timer_, stop_.get_token());
    }
    [[nodiscard]] seconds passed() const {
        return std::chrono::duration_cast<seconds>(timer_.now().time_since_epoch());
    }
};

TEST_F(DefenceTest, WithNothingToDefendANodeEnds) {
    EXPECT_EQ(stay(nullptr, banned_).error().message, banned_.message);
    const auto none = claims();
    EXPECT_EQ(stay(none.get(), missing_, kStayAtStart).error().message, missing_.message);
    EXPECT_EQ(followed_, 0);
    EXPECT_EQ(passed(), seconds(0));
}

TEST_F(DefenceTest, ANodeWithABannedCardStaysAsLongAsThereAreClaims) {
    const auto filed = claims();
    ASSERT_TRUE(filed->save(claim()).ok());
    constexpr seconds kDays = seconds(3 * 86'400);
    timer_.on_wait = [&] {
        if (passed() < kDays) return;
        EXPECT_TRUE(filed->remove(claim()).ok());
    };
    const Status ended = stay(filed.get(), banned_);
    EXPECT_EQ(ended.error().code, ErrorCode::kInvalidArgument) << "so that no restart follows";
    EXPECT_GE(passed(), kDays);
    EXPECT_GT(followed_, 1'000) << "what was signed is followed meanwhile";
}

TEST_F(DefenceTest, ANodeWithoutItsCardStaysWhileAGameIsUnderWay) {
    const auto filed = claims();
    ASSERT_TRUE(filed->save(claim()).ok());
    EXPECT_EQ(stay(filed.get(), missing_).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(passed(), seconds(0)) << "another process may find the card";
    EXPECT_EQ(stay(filed.get(), missing_, kStayAtStart).error().code, ErrorCode::kNotFound);
    EXPECT_GE(passed(), kStayAtStart) << "games may be there, and are not known yet";
    const seconds before = passed(), game(86'400);
    playing_ = true;
    timer_.on_wait = [&] { playing_ = passed() < before + game; };
    EXPECT_EQ(stay(filed.get(), missing_).error().code, ErrorCode::kNotFound);
    EXPECT_GE(passed(), before + game);
}

TEST_F(DefenceTest, AStopEndsIt) {
    const auto filed = claims();
    ASSERT_TRUE(filed->save(claim()).ok());
    timer_.on_wait = [&] { stop_.request_stop(); };
    EXPECT_TRUE(stay(filed.get(), banned_).ok());
}

TEST_F(DefenceTest, ClaimsOnDiskAreKnownBeforeTheSession) {
    EXPECT_FALSE(has_claims(config()));
    ASSERT_TRUE(claims()->save(claim()).ok());
    EXPECT_TRUE(has_claims(config()));
    NodeConfig plays_nothing = config();
    plays_nothing.dispute_game.clear();
    EXPECT_FALSE(has_claims(plays_nothing));
    ASSERT_TRUE(claims()->remove(claim()).ok());
    EXPECT_FALSE(has_claims(config()));
}

}  // namespace
}  // namespace gym::node
