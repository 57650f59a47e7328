#include "settlement_fixture.hpp"

#include "gym/common/file.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/ledger/verify.hpp"

namespace gym::rewards {
namespace {

/// Every tick runs in a daemon of its own, as if it were killed between any two steps.
class SettlementTest : public SettlementFixture {
  protected:
    using SettlementFixture::SettlementFixture;
    virtual void between_ticks() {}

    void tick_once() {
        between_ticks();
        const auto tick = db::with_retry([&] { return fresh_tick(); }, std::chrono::seconds(20));
        ASSERT_TRUE(tick.ok()) << tick.error().message;
        anvil_.mine(1);
    }
    template <class F>
    void tick_until(F&& done, const char* what) {
        for (int i = 0; i < 60; ++i) {
            tick_once();
            if (::testing::Test::HasFatalFailure() || done()) return;
        }
        FAIL() << what << " did not happen";
    }
    void settle_epoch(std::uint64_t epoch) {
        tick_until(
            [&] {
                const auto last = last_epoch();
                return last && last->epoch == epoch && last->state == EpochState::kSubmitted;
            },
            "settlement");
    }

    void whole_way();
};

void SettlementTest::whole_way() {
    const Amount budget = *Amount::parse_tokens("10");
    const Address owner = owner_key_.address();
    deposit(budget, "1");
    tick_until([&] { return balance(available_account(asset(), owner)).spendable() == budget; },
               "deposit");

    const Digest job =
        history_.submit_job(asset(), owner, budget, *Amount::parse_tokens("0.123456789123456789"));
    constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
    history_.commit_round(job, {{0, 3 * kPflop + 7, Fate::kVerified},
                                {1, 2 * kPflop, Fate::kRejected},
                                {2, 5 * kPflop + 1, Fate::kUnsampled}});
    tick_once();
    EXPECT_EQ(summary_of(history_.earner(0)).pending, *Amount::parse("370370367370371231"));
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(0));
    history_.finish_round();
    settle_epoch(1);
    tick_until([&] { return !balance(chain_distributor_account(asset())).debits.is_zero(); },
               "release");
    expect_reconciled();

    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(0))
        << "the rejected unit earns nothing";
    for (const Address& earner :
         {history_.earner(0), history_.earner(2), history_.verifier_earner()}) {
        claim(earner);
        EXPECT_EQ(token_balance(earner), summary_of(earner).payable);
        EXPECT_FALSE(token_balance(earner).is_zero());
    }
    tick_until(
        [&] {
            return summary_of(history_.verifier_earner()).claimed ==
                   summary_of(history_.verifier_earner()).payable;
        },
        "claims");
    expect_reconciled();
    expect_sound();

    // A second epoch pays the difference only.
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle_epoch(2);
    const Amount before = token_balance(history_.earner(0));
    claim(history_.earner(0));
    EXPECT_EQ(token_balance(history_.earner(0)), summary_of(history_.earner(0)).payable);
    EXPECT_LT(before, token_balance(history_.earner(0)));
    history_.end_job(job);
    tick_until([&] { return balance(escrow_account(asset(), job)).spendable().is_zero(); },
               "refund");
    tick_once();
    tick_once();

    // Nothing was lost: what was deposited is in the contracts or was paid out.
    Amount everywhere = token_balance(deployment_.escrow);
    everywhere = *everywhere.plus(token_balance(deployment_.distributor));
    for (const Address& earner :
         {history_.earner(0), history_.earner(1), history_.earner(2), history_.verifier_earner()})
        everywhere = *everywhere.plus(token_balance(earner));
    EXPECT_EQ(everywhere, budget);
    EXPECT_EQ(token_balance(deployment_.distributor), Amount(0))
        << "everything released was claimed";
    EXPECT_EQ(token_balance(deployment_.escrow),
              balance(available_account(asset(), owner)).spendable());
    expect_reconciled();
    expect_sound();
}

TEST_F(SettlementTest, FromDepositToClaimWithANewDaemonForEveryStep) {
    whole_way();
    std::optional<EpochFile> previous;
    for (int epoch = 1; epoch <= 2; ++epoch) {
        const auto bytes =
            read_file(folder_ / "epochs" / ("epoch-" + std::to_string(epoch) + ".json"));
        ASSERT_TRUE(bytes.ok()) << bytes.error().message;
        const auto file = parse_epoch_file(std::string(bytes->begin(), bytes->end()));
        ASSERT_TRUE(file.ok()) << file.error().message;
        EXPECT_EQ(check_epoch_file(*file, previous), std::vector<std::string>{});
        previous = *file;
    }
    const auto active =
        contracts::RewardsDistributor(deployment_.distributor).active_root(anvil_.client());
    ASSERT_TRUE(active.ok());
    EXPECT_EQ(active->root, previous->payout_root);
    EXPECT_EQ(active->total_cumulative, previous->total_cumulative);
    EXPECT_EQ(active->epoch_file_root, epoch_file_root(encode_epoch_file(*previous)));

    // So the chain fixes the ledger's seals: the file whose root it has names the head at its
    // close.
    ASSERT_TRUE(previous->ledger_seal);
    ledger::VerifyOptions known;
    known.signers = {settler_key_.address()};
    known.heads = {*previous->ledger_seal};
    const auto report = ledger::verify(*test_.as("gym_auditor"), known);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->problems, std::vector<ledger::Problem>{});
    EXPECT_GE(report->seals, previous->ledger_seal->number);
    known.heads.front().hash.data[0] ^= 1;
    const auto other = ledger::verify(*test_.as("gym_auditor"), known);
    ASSERT_TRUE(other.ok() && !other->problems.empty());
    EXPECT_EQ(other->problems.front().row, "seal " + std::to_string(previous->ledger_seal->number));
}

class CrashingDatabaseTest : public SettlementTest {
  protected:
    void between_ticks() override {
        if (++count_ % 4 != 0) return;
        ASSERT_TRUE(testing::postgres().restart(db::StopMode::kImmediate).ok());
    }
    int count_ = 0;
};

TEST_F(CrashingDatabaseTest, TheSameWayWhilePostgresCrashesAgainAndAgain) {
    whole_way();
}

constexpr std::uint64_t kDelayS = 3'600;

/// Roots wait for an hour before they pay, in the time of the chain and of the daemons.
class DemandedLeavesTest : public SettlementTest {
  protected:
    DemandedLeavesTest() : SettlementTest(chain::AnvilOptions{}, kDelayS) {}
    const Clock& clock() const override { return clock_; }

    void pass(std::uint64_t seconds) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(seconds) + "]");
        anvil_.mine(1);
        clock_.advance_ms(static_cast<UnixMs>(seconds) * 1'000);
    }
    std::uint64_t open_demands() {
        return distributor().open_demands(anvil_.client()).value().to_u64().value();
    }
    contracts::RewardsDistributor distributor() const {
        return contracts::RewardsDistributor(deployment_.distributor);
    }
    /// What the fixture's claim() would claim, as a stranger's demand that epoch `next` shows it.
    contracts::ContractCall demand(const Address& earner, std::uint64_t next) {
        const auto proof = database_
                               ->transact([&](db::Transaction& tx) {
                                   return claim_proof(tx, earner, clock_.now_ms());
                               })
                               .value();
        contracts::ContractCall call =
            distributor().demand_leaf(next, {earner, proof.cumulative, proof.path});
        call.value_wei = distributor().demand_bond(anvil_.client()).value();
        return call;
    }
};

TEST_F(DemandedLeavesTest, AnHonestDaemonShowsThemInTimeAndItsRootPays) {
    const Amount budget = *Amount::parse_tokens("10");
    deposit(budget, "1");
    tick_until(
        [&] {
            return balance(available_account(asset(), owner_key_.address())).spendable() == budget;
        },
        "deposit");
    const Digest job =
        history_.submit_job(asset(), owner_key_.address(), budget, *Amount::parse_tokens("0.1"));
    constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}, {1, kPflop, Fate::kUnsampled}});
    settle_epoch(1);
    pass(kDelayS);
    ASSERT_EQ(distributor().active_root(anvil_.client())->epoch, 1U);

    history_.run_round(job, {{2, kPflop, Fate::kUnsampled}});
    settle_epoch(2);
    execute(owner_key_, "demand:0", demand(history_.earner(0), 2));
    execute(owner_key_, "demand:1", demand(history_.earner(1), 2));
    ASSERT_EQ(open_demands(), 2U);
    tick_until([&] { return open_demands() == 0; }, "answers");
    pass(kDelayS);
    EXPECT_EQ(distributor().active_root(anvil_.client())->epoch, 2U);
    claim(history_.earner(2));
    EXPECT_GE(token_balance(history_.earner(2)), *Amount::parse_tokens("0.1"));
    EXPECT_EQ(token_balance(history_.earner(2)), summary_of(history_.earner(2)).payable);
    // What was answered is not sent again.
    tick_once();
    tick_once();
    expect_sound();
}

/// Nobody earns after it, so that no other credit brings its earners a root.
TEST_F(DemandedLeavesTest, ADisabledLastRootIsPostedAgainAndPays) {
    const Amount budget = *Amount::parse_tokens("10");
    deposit(budget, "1");
    tick_until(
        [&] {
            return balance(available_account(asset(), owner_key_.address())).spendable() == budget;
        },
        "deposit");
    const Digest job =
        history_.submit_job(asset(), owner_key_.address(), budget, *Amount::parse_tokens("0.1"));
    history_.run_round(job, {{0, 1'000'000'000'000'000, Fate::kUnsampled}});
    settle_epoch(1);
    execute(anvil_.funded_key(0), "disable:1", distributor().disable(1));
    settle_epoch(2);
    pass(kDelayS);
    ASSERT_EQ(distributor().active_root(anvil_.client())->epoch, 2U);
    claim(history_.earner(0));
    EXPECT_EQ(token_balance(history_.earner(0)), summary_of(history_.earner(0)).payable);
    EXPECT_GE(token_balance(history_.earner(0)), *Amount::parse_tokens("0.1"));
    expect_sound();
}

}  // namespace
}  // namespace gym::rewards
