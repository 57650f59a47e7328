// Games about data that somebody stands for and does not give, on a real chain: every tick is a new
// process's first.

#include "gym/game/state.hpp"
#include "gym/game/withheld_answers.hpp"
#include "play_fixture.hpp"

namespace gym::testing {
namespace {

using game::Wanted;

/// The deployer is the coordinator: it posts epochs, and has stake.
class WithheldPlayTest : public PlayTest {
  protected:
    /// The last quarter, in which a worker asks, is a quarter of a minute.
    [[nodiscard]] game::DisputeParams dispute_terms() const override {
        game::DisputeParams terms = PlayTest::dispute_terms();
        terms.window_blocks = 600;
        return terms;
    }

    /// Shows commitments of one epoch.
    struct Epoch final : player::DataSource {
        explicit Epoch(const crypto::Eip712Domain& of) : domain(of) {}
        Result<game::move::ShowWithheld> show(const game::WithheldEvidence& /*asked*/,
                                              const game::DataRequest& request) override {
            return game::show_commitment(domain, request, {commitments, {}});
        }
        crypto::Eip712Domain domain;
        std::vector<protocol::SignedCommitment> commitments;
    };

    void SetUp() override {
        PlayTest::SetUp();
        epoch_ = std::make_unique<Epoch>(domain());
        const contracts::Stake stake(deployment_.stake);
        send(payer_, token().transfer(deployer_.address(), tokens("500")), "coordinator");
        send(admin_, token().approve(stake.address(), tokens("500")), "approve");
        send(admin_, stake.stake(deployer_.address(), tokens("500")), "stake");
    }

    /// The worker asks for its own commitment.
    void ask_for_commitment() {
        worker_.role = player::Role::kChallenge;
        player::Claim claim = claim_of(worker_, player::Role::kChallenge);
        claim.subject = player::Subject::kWithheld;
        claim.other = game::encode(game::WithheldData{Wanted::kCommitment});
        claim.epoch_block = claim.from_block = 0;
        ASSERT_TRUE(worker_.claims->save(claim).ok());
    }
    /// The verifier asks for a chunk of the delta.
    void ask_for_delta(std::uint64_t chunk) {
        player::Claim claim = claim_of(verifier_, player::Role::kChallenge);
        claim.subject = player::Subject::kWithheld;
        claim.other = game::encode(game::WithheldData{Wanted::kDelta, 0, chunk});
        ASSERT_TRUE(verifier_.claims->save(claim).ok());
    }

    bool is_published() {
        return commitments()
                   .published_at(anvil_.client(), protocol::commitment_leaf(commitment_))
                   .value() != 0;
    }
    void publish() {
        sign_unit();
        ask_for_commitment();
        for (int ticks = 0; ticks < 200 && !is_published(); ++ticks) {
            tick(worker_);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        ASSERT_TRUE(is_published());
        anvil_.mine(static_cast<std::uint32_t>(contract().notice_blocks(anvil_.client()).value()));
    }

    /// In portions, since the node answers a call in some seconds at most.
    void mine_many(std::uint64_t blocks) {
        constexpr std::uint64_t kPortion = 50;
        for (; blocks > 0; blocks -= std::min(blocks, kPortion))
            anvil_.mine(static_cast<std::uint32_t>(std::min(blocks, kPortion)));
    }
    /// From an epoch's block to the last quarter of its window.
    void near_the_end() { mine_many(window() - window() / 4); }
    void tick_often(Party& party) {
        for (int ticks = 0; ticks < 20; ++ticks) {
            tick(party);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
    /// Ticks the party until a game is open on chain.
    void until_open(Party& party) {
        const auto is_open = [this] {
            const auto logs =
                chain::find_all_logs(anvil_.client(), {contract().address(), {}, 0, head()})
                    .value();
            const auto events = player::parse_events(contract(), logs).value();
            return std::ranges::any_of(events, [](const player::LoggedEvent& logged) {
                return std::holds_alternative<contracts::Opened>(logged.event);
            });
        };
        for (int ticks = 0; ticks < 600 && !is_open(); ++ticks) {
            tick(party);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        ASSERT_TRUE(is_open());
    }
    /// The worker's commitment names the record as it is now.
    void sign_record() {
        protocol::UnitCommitment claim = commitment_.commitment;
        claim.round_record = protocol::hash(record_);
        commitment_ = protocol::sign(domain(), claim, worker_.key);
    }

    std::vector<std::string> coordinators_;  ///< its events
    void tick_coordinator() {
        if (coordinator_claims_ == nullptr)
            coordinator_claims_ = player::ClaimStore::open(folder_.path() / "coordinator").value();
        tick_defender(*admin_.manager, *coordinator_claims_, *epoch_, coordinators_);
    }
    void tick_worker_as_defender() {
        const auto data = player::make_claim_data(*worker_.claims, worker_);
        tick_defender(*worker_.sender->manager, *worker_.claims, *data, worker_.events);
    }
    /// One tick of a party that is asked for `data`; its events are added to `events`.
    void tick_defender(chain::TxManager& manager, player::ClaimStore& claims,
                       player::DataSource& data, std::vector<std::string>& events) {
        const player::PlayerSetup setup{
            anvil_.client(),
            manager,
            contract(),
            domain(),
            claims,
            worker_,
            [&](const player::PlayerEvent& e) { events.push_back(e.name + ": " + e.detail); }};
        const Status done = player::make_data_defender(setup, data)->tick();
        EXPECT_TRUE(done.ok()) << done.error().message;
    }

    /// Ticks the party, and `other` before it, until it has told something.
    void until_told(Party& party, const std::string& what, const std::function<void()>& other) {
        for (int ticks = 0; ticks < 600 && !party.told(what); ++ticks) {
            if (other) other();
            tick(party);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        std::string story;
        for (const std::string& event : party.events)
            story += event + "\n";
        ASSERT_TRUE(party.told(what)) << what << " was not told:\n" << story;
    }
    Amount stake_of_coordinator() {
        return contracts::Stake(deployment_.stake)
            .stake_of(anvil_.client(), deployer_.address())
            .value()
            .active;
    }

    std::unique_ptr<Epoch> epoch_;
    std::unique_ptr<player::ClaimStore> coordinator_claims_;
};

TEST_F(WithheldPlayTest, ACoordinatorThatLeavesOutACommitmentLosesStakeToItsWorker) {
    publish();
    post_epoch(1, record_.round, engine::testing::seed_of("others alone"));
    near_the_end();
    const Amount before = balance(worker_);
    until_told(worker_, "opened", {});
    anvil_.mine(2);  // its clock runs
    pass(terms().clock_s + 1);
    until_told(worker_, "timeout", {});
    until_told(worker_, "ended: won", {});
    pass(terms().settling_s + 1);
    until_told(worker_, "settled", {});
    EXPECT_EQ(stake_of_coordinator(), tokens("250")) << "the share of a missed clock";
    EXPECT_GT(balance(worker_), before) << "bond back, and the reward";
    EXPECT_TRUE(worker_.claims->list().empty());
}

TEST_F(WithheldPlayTest, OneThatTheEpochHasIsShownAndTheBondIsLost) {
    publish();
    epoch_->commitments = {commitment_};
    post_epoch(1, record_.round, protocol::commitment_leaf(commitment_));
    near_the_end();
    const Amount before = balance(worker_);
    until_told(worker_, "answered", [&] { tick_coordinator(); });
    pass(terms().clock_s + 1);
    until_told(worker_, "ended: lost", [&] { tick_coordinator(); });
    EXPECT_EQ(stake_of_coordinator(), tokens("500"));
    EXPECT_LT(balance(worker_), before);
}

/// Nothing is opened that the contract would not take.
TEST_F(WithheldPlayTest, OneThatWasPublishedTooLateIsGivenUp) {
    sign_unit();
    ask_for_commitment();
    for (int ticks = 0; ticks < 200 && !is_published(); ++ticks) {
        tick(worker_);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    post_epoch(1, record_.round, engine::testing::seed_of("others alone"));
    until_told(worker_, "ended: it was published too late", {});
    EXPECT_TRUE(worker_.claims->list().empty());
}

TEST_F(WithheldPlayTest, AWorkerShowsItsDelta) {
    commit();
    ASSERT_TRUE(verifier_.claims->remove(*verifier_.claims->list()[0]).ok());
    ask_for_delta(0);
    until_told(verifier_, "answered", [&] { tick_worker_as_defender(); });
    pass(terms().clock_s + 1);
    until_told(verifier_, "ended: lost", [&] { tick_worker_as_defender(); });
    EXPECT_EQ(stake_of_worker(), tokens("500"));
}

TEST_F(WithheldPlayTest, AWorkerThatWithholdsItsDeltaLosesStake) {
    commit();
    ASSERT_TRUE(verifier_.claims->remove(*verifier_.claims->list()[0]).ok());
    ask_for_delta(0);
    until_told(verifier_, "opened", {});
    anvil_.mine(2);  // its clock runs
    pass(terms().clock_s + 1);
    until_told(verifier_, "ended: won", {});
    pass(terms().settling_s + 1);
    until_told(verifier_, "settled", {});
    EXPECT_EQ(stake_of_worker(), tokens("250"));
}

/// A coordinator that is down hands out no receipts, and its epoch can have the commitment all the
/// same.
TEST_F(WithheldPlayTest, AWorkerAsksNearTheEndOfTheWindow) {
    publish();
    post_epoch(1, record_.round, engine::testing::seed_of("others alone"));
    mine_many(window() / 2);
    tick_often(worker_);
    EXPECT_FALSE(worker_.told("announced")) << "its receipt may come";
    mine_many(window() / 4);
    until_told(worker_, "opened", {});
}

TEST_F(WithheldPlayTest, AClaimThatIsWithdrawnCostsNoBond) {
    publish();
    post_epoch(1, record_.round, engine::testing::seed_of("others alone"));
    const Amount before = balance(worker_);
    ASSERT_TRUE(worker_.claims->withdraw(*worker_.claims->list()[0]).ok());
    near_the_end();
    tick_often(worker_);
    EXPECT_TRUE(worker_.told("ended: it is not asked for any more"));
    EXPECT_FALSE(worker_.told("announced"));
    EXPECT_TRUE(worker_.claims->list().empty());
    EXPECT_EQ(balance(worker_), before);
}

/// Where late commitments are taken the next epoch may have it, and is waited for.
TEST_F(WithheldPlayTest, ALateCommitmentIsAskedForBehindTheNextEpoch) {
    accept_late_ = true;
    publish();
    post_epoch(1, record_.round, engine::testing::seed_of("others alone"));
    near_the_end();
    tick_often(worker_);
    EXPECT_FALSE(worker_.told("announced"));
    post_next_round();
    post_epoch(2, record_.round + 1, engine::testing::seed_of("others of the next round"));
    near_the_end();
    until_open(worker_);
    // Of no effect any more: the game is played to its end.
    ASSERT_TRUE(worker_.claims->withdraw(*worker_.claims->list()[0]).ok());
    tick_often(worker_);
    pass(terms().clock_s + 1);
    until_told(worker_, "ended: won", {});
}

/// The block with the record was reorganised away: no commitment to it is taken.
TEST_F(WithheldPlayTest, ACommitmentToAnotherRecordIsGivenUp) {
    sign_unit();
    record_.previous_record = engine::testing::seed_of("another round before");
    sign_record();
    ask_for_commitment();
    until_told(worker_, "ended: the chain has another record", {});
    EXPECT_FALSE(worker_.told("published"));
    EXPECT_TRUE(worker_.claims->list().empty());
}

class ShortWindowsPlayTest : public WithheldPlayTest {
  protected:
    [[nodiscard]] game::DisputeParams dispute_terms() const override {
        game::DisputeParams terms = PlayTest::dispute_terms();
        terms.window_blocks = 100;
        return terms;
    }
};

TEST_F(ShortWindowsPlayTest, ACommitmentToARoundThatNeverComesIsGivenUp) {
    sign_unit();
    record_.round += 5;
    sign_record();
    ask_for_commitment();
    tick_often(worker_);
    EXPECT_FALSE(worker_.told("published")) << "it would be refused";
    ASSERT_EQ(worker_.claims->list().size(), 1U);
    mine_many(player::kWindowsWithoutEpoch * window());
    until_told(worker_, "ended: no epoch that could hold the commitment was posted", {});
    EXPECT_TRUE(worker_.claims->list().empty());
}

/// The clocks of a game are longer than the window is.
TEST_F(WithheldPlayTest, AWorkerThatWasAwayAtTheEndOfTheWindowShowsItsDelta) {
    commit();
    ASSERT_TRUE(verifier_.claims->remove(*verifier_.claims->list()[0]).ok());
    ask_for_delta(0);
    until_open(verifier_);
    mine_many(window() + chain::kReorgBlocks);
    tick_often(worker_);
    ASSERT_EQ(worker_.claims->list().size(), 1U) << "the claim is needed to show the delta";
    const auto both = [&] {
        tick(worker_);
        tick_worker_as_defender();
    };
    until_told(verifier_, "answered", both);
    pass(terms().clock_s + 1);
    until_told(verifier_, "ended: lost", both);
    EXPECT_EQ(stake_of_worker(), tokens("500"));
    tick_often(worker_);
    EXPECT_TRUE(worker_.claims->list().empty());
}

}  // namespace
}  // namespace gym::testing
