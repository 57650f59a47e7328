// Fees, what is burned of them, and emission: exact, never more than was burned, visible in
// receipts and files.
#include <map>
#include <set>

#include "rewards_fixture.hpp"

namespace gym::rewards {
namespace {

class FeesTest : public RewardsTest {
  protected:
    FeesTest() {
        config_.fees.fee_ppm = 20'000;
        config_.fees.burned_ppm = 500'000;
        config_.fees.account = testing::test_address(0x81, 1);
        restart();
    }
    void add_emission(std::uint64_t deposited) {
        config_.fees.emission_ppm = 1'000'000;
        config_.fees.emission_account = testing::test_address(0x82, 1);
        restart();
        chain_.deposit(config_.fees.emission_account, Amount(deposited));
        chain_.lock_own(config_.fees.emission_account, Amount(deposited));
        tick();
    }
    Amount payable(const Address& earner) { return summary_of(earner).payable; }
    std::vector<Receipt> receipts_of(const Address& earner) {
        return database_->transact([&](db::Transaction& tx) { return list_receipts(tx, earner); })
            .value_or({});
    }
};

TEST_F(FeesTest, AJobPaysItsRoundsFeeOnTopAndThePartsAddUp) {
    const Digest job = funded_job(1'000'000);
    history_.run_round(job, {{0, 100 * kPflop, Fate::kUnsampled}, {1, kPflop, Fate::kRejected}});
    settle();
    // Compute 100,000, uptime 5,000, verification of the rejected unit 1,100.
    constexpr std::uint64_t kCredits = 106'100;
    EXPECT_EQ(payable(config_.fees.account), Amount(1'061));
    EXPECT_EQ(payable(kBurnAddress), Amount(1'061));
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(),
              Amount(1'000'000 - kCredits - 2'122));
    EXPECT_EQ(chain_.distributor, Amount(kCredits + 2'122));
    const auto receipts = receipts_of(config_.fees.account);
    ASSERT_EQ(receipts.size(), 1U);
    const auto& fee = std::get<FeeInputs>(receipts[0].credit.inputs);
    EXPECT_EQ(fee.charged, Amount(kCredits));
    EXPECT_EQ(fee.fee_ppm, 20'000U);
    EXPECT_EQ(formula_text(receipts[0].credit.kind()),
              "charged * fee_ppm / 10^6, without the burned_ppm of it");
    EXPECT_FALSE(receipts[0].credit.node);
}

TEST_F(FeesTest, TheTotalsOfAJobAddUpToWhatItSpentAndAUnitHasAllItsCredits) {
    history_.set_data_price(Amount(1'000'000));
    const Digest job = funded_job(1'000'000);
    history_.run_round(job, {{0, 100 * kPflop, Fate::kUnsampled},
                             {1, kPflop, Fate::kRejected},
                             {2, 10 * kPflop, Fate::kVerified}});
    settle();
    const auto totals =
        database_->transact([&](db::Transaction& tx) { return job_totals(tx, job); });
    ASSERT_TRUE(totals.ok()) << totals.error().message;
    std::map<CreditKind, Amount> by_kind;
    Amount sum;
    for (const KindTotal& total : *totals) {
        by_kind[total.kind] = total.posted;
        sum = sum.plus(total.posted).value();
        EXPECT_TRUE(total.pending.is_zero() && total.unfunded.is_zero());
    }
    EXPECT_EQ(sum, balance(escrow_account(asset(), job)).debits);
    EXPECT_EQ(by_kind[CreditKind::kCompute], Amount(110'000));
    EXPECT_EQ(by_kind[CreditKind::kVerification], Amount(12'100));
    EXPECT_EQ(by_kind[CreditKind::kUptime], Amount(5'500));
    EXPECT_EQ(by_kind[CreditKind::kData], Amount(2 * testing::History::kTokens));
    EXPECT_FALSE(by_kind[CreditKind::kFee].is_zero());
    EXPECT_EQ(by_kind.size(), 6U);

    const auto unit_of = [&](CreditKind kind) {
        for (const Receipt& receipt : receipts_of(history_.data_provider()))
            if (receipt.credit.kind() == kind) return *receipt.credit.unit;
        return Digest{};
    };
    const auto credits = database_->transact(
        [&](db::Transaction& tx) { return unit_receipts(tx, unit_of(CreditKind::kData)); });
    ASSERT_TRUE(credits.ok()) << credits.error().message;
    std::set<CreditKind> kinds;
    for (const Receipt& receipt : *credits)
        kinds.insert(receipt.credit.kind());
    EXPECT_TRUE(kinds.contains(CreditKind::kCompute) && kinds.contains(CreditKind::kData));
}

TEST_F(FeesTest, ARoundWithoutFinalUnitsPaysNone) {
    const Digest job = funded_job(1'000'000);
    history_.run_round(job, {{0, 100 * kPflop, Fate::kExpired}});
    for (int i = 0; i < 3; ++i)
        tick();
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(1'000'000));
    EXPECT_EQ(payable(kBurnAddress), Amount());
}

TEST_F(FeesTest, EmissionIsPaidByItsAccountAndIsWhatWasBurnedAtMost) {
    const Digest job = funded_job(1'000'000);
    add_emission(10'000);
    history_.silent = {0, 1, 2};  // no bonuses, for round numbers
    history_.run_round(job,
                       {{0, 200 * kPflop, Fate::kUnsampled}, {1, 100 * kPflop, Fate::kUnsampled}});
    settle();
    // 300,000 charged, 6,000 fee, 3,000 burned, given back two to one.
    EXPECT_EQ(payable(kBurnAddress), Amount(3'000));
    EXPECT_EQ(payable(history_.earner(0)), Amount(202'000));
    EXPECT_EQ(payable(history_.earner(1)), Amount(101'000));
    EXPECT_EQ(balance(own_escrow_account(asset(), config_.fees.emission_account)).spendable(),
              Amount(7'000));
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(694'000));
    const auto file = parse_epoch_file(published_[1]);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->releases.size(), 2U) << "the job's owner, and the emission account";
    bool explained = false;
    for (const Receipt& receipt : receipts_of(history_.earner(1)))
        if (const auto* in = std::get_if<EmissionInputs>(&receipt.credit.inputs)) {
            explained = true;
            EXPECT_EQ(receipt.credit.payer, config_.fees.emission_account);
            EXPECT_EQ(in->burned, Amount(3'000));
            EXPECT_EQ(in->compute, Amount(100'000));
            EXPECT_EQ(in->compute_total, Amount(300'000));
        }
    EXPECT_TRUE(explained);
}

TEST_F(FeesTest, WhatRoundingLeavesOfEmissionStaysWithItsAccount) {
    const Digest job = funded_job(1'000'000);
    add_emission(10'000);
    history_.silent = {0, 1, 2};
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled},
                             {1, kPflop, Fate::kUnsampled},
                             {2, kPflop, Fate::kUnsampled}});
    settle();
    // 3,000 charged, 60 fee, 30 burned: 10 each. Then 3,001: 60 and 30, in shares of 1001 and 1000.
    EXPECT_EQ(payable(history_.earner(0)), Amount(1'010));
    history_.run_round(job, {{0, kPflop + kPflop / 1'000, Fate::kUnsampled},
                             {1, kPflop, Fate::kUnsampled},
                             {2, kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(payable(history_.earner(0)), Amount(1'010 + 1'001 + 10));
    EXPECT_EQ(payable(history_.earner(1)), Amount(1'010 + 1'000 + 9));
    EXPECT_EQ(balance(own_escrow_account(asset(), config_.fees.emission_account)).spendable(),
              Amount(10'000 - 30 - 28));
}

TEST_F(FeesTest, AnEmissionAccountPaysAllSharesOrNone) {
    const Digest job = funded_job(1'000'000);
    add_emission(2'999);
    history_.silent = {0, 1, 2};
    const auto left = [&] {
        return balance(own_escrow_account(asset(), config_.fees.emission_account)).spendable();
    };
    const auto run = [&] {
        history_.run_round(
            job, {{0, 200 * kPflop, Fate::kUnsampled}, {1, 100 * kPflop, Fate::kUnsampled}});
        settle();
        return left();
    };
    EXPECT_EQ(run(), Amount(2'999)) << "of 3,000; the first share alone would have fit";
    EXPECT_EQ(payable(history_.earner(0)), Amount(200'000));
    chain_.deposit(config_.fees.emission_account, Amount(1));
    tick();
    EXPECT_EQ(left(), Amount(2'999)) << "what is not locked pays nothing";
    chain_.lock_own(config_.fees.emission_account, Amount(1));
    tick();
    EXPECT_EQ(run(), Amount()) << "of as much as there is";
    EXPECT_EQ(payable(history_.earner(0)), Amount(402'000));
    EXPECT_EQ(payable(history_.earner(1)), Amount(201'000));
}

TEST_F(FeesTest, EmissionIsForComputeThatIsPaidAlone) {
    const Digest job = funded_job(1'000'000);
    add_emission(10'000);
    history_.silent = {0, 1, 2};
    history_.run_round(job,
                       {{0, 200 * kPflop, Fate::kVerified}, {1, 100 * kPflop, Fate::kRejected}});
    settle();
    // Compute 200,000, verification 220,000 and 110,000; 10,600 fee, 5,300 burned.
    EXPECT_EQ(payable(kBurnAddress), Amount(5'300));
    EXPECT_EQ(payable(history_.earner(0)), Amount(205'300)) << "all of it";
    EXPECT_EQ(payable(history_.earner(1)), Amount());
    EXPECT_EQ(payable(history_.verifier_earner()), Amount(330'000));
}

TEST_F(FeesTest, WhatAJobCannotPayForIsNotGivenBack) {
    const Digest job = funded_job(300'000);
    add_emission(10'000);
    history_.silent = {0, 1, 2};
    history_.run_round(job, {{0, 300 * kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(payable(kBurnAddress), Amount()) << "nothing is left of the budget";
    EXPECT_EQ(payable(history_.earner(0)), Amount(300'000));
    EXPECT_EQ(balance(own_escrow_account(asset(), config_.fees.emission_account)).spendable(),
              Amount(10'000));
}

TEST_F(FeesTest, OwningJobWorkerVerifierAndDataNeverPays) {
    add_emission(1'000'000);
    const Digest job = funded_job(1'000'000);
    history_.run_round(job, {{0, 300 * kPflop, Fate::kVerified}, {1, kPflop, Fate::kVerified}});
    history_.end_job(job);
    settle();
    Amount back = balance(available_account(asset(), owner_)).spendable();
    for (const Address& mine : {history_.earner(0), history_.earner(1), history_.verifier_earner()})
        back = *back.plus(payable(mine));
    EXPECT_LE(back, Amount(1'000'000)) << "though the emission account added to it";
    EXPECT_FALSE(payable(kBurnAddress).is_zero());
}

TEST_F(FeesTest, CreditsThatArePaidLateHaveTheirFeesThenAndAFeeHasNone) {
    const Digest job = funded_job(2'000'000);
    history_.silent = {0, 1, 2};
    const std::uint64_t flops = 2'000 * kPflop;
    history_.commit_round(
        job,
        {{0, flops, Fate::kUnsampled}, {1, flops, Fate::kUnsampled}, {2, flops, Fate::kUnsampled}});
    tick();
    history_.finish_round();
    tick();
    // The escrow is empty: two units and the round's fee of 40,000 wait.
    EXPECT_EQ(receipt_of(history_.unit_id(1)).state, CreditState::kUnfunded);
    EXPECT_EQ(receipt_of(history_.unit_id(2)).state, CreditState::kUnfunded);
    add_budget(job, 10'000'000);
    settle();
    for (int i = 0; i < 3; ++i)
        tick();
    if (published_.size() == 1) settle();
    EXPECT_EQ(receipt_of(history_.unit_id(1)).state, CreditState::kPosted);
    EXPECT_EQ(*payable(config_.fees.account).plus(payable(kBurnAddress)), Amount(120'000))
        << "a fee on the fee that was paid late would be 800 more";
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(12'000'000 - 6'120'000));
}

/// A unit is final before its round is: what is paid late meanwhile is in the round's fee.
TEST_F(FeesTest, WhatIsPaidBeforeTheRoundIsFinishedHasItsFeeWithTheRound) {
    const auto set_round = [&](const std::string& state, const std::string& closed_at) {
        const Status done = test_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec("SET LOCAL session_replication_role = replica"));
            GYM_CHECK(tx.exec("UPDATE registry.round SET state = '" + state +
                              "', closed_at_ms = " + closed_at));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    };
    const Digest job = funded_job(2'000'000);
    history_.silent = {0, 1, 2};
    const std::uint64_t flops = 2'000 * kPflop;
    history_.run_round(job, {{0, flops, Fate::kUnsampled}, {1, flops, Fate::kUnsampled}});
    set_round("aggregated", "NULL");
    tick();
    const Digest waits = receipt_of(history_.unit_id(0)).state == CreditState::kUnfunded
                             ? history_.unit_id(0)
                             : history_.unit_id(1);
    ASSERT_EQ(receipt_of(waits).state, CreditState::kUnfunded);
    add_budget(job, 10'000'000);
    tick();
    ASSERT_EQ(receipt_of(waits).state, CreditState::kPosted);
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(8'000'000)) << "no fee yet";
    set_round("closed", std::to_string(clock_.now_ms()));
    settle();
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(8'000'000 - 80'000));
    EXPECT_EQ(*payable(config_.fees.account).plus(payable(kBurnAddress)), Amount(80'000));
}

TEST(FeeTerms, ThatDoNotFitTogetherAreRefused) {
    FeeTerms good;
    EXPECT_TRUE(good.check().ok()) << "no fee is fine";
    good.fee_ppm = 20'000;
    good.burned_ppm = 500'000;
    good.account = testing::test_address(0x81, 1);
    good.emission_ppm = 1'000'000;
    good.emission_account = testing::test_address(0x82, 1);
    ASSERT_TRUE(good.check().ok());
    const auto refused = [&](auto change) {
        FeeTerms terms = good;
        change(terms);
        return terms.check().error().code == ErrorCode::kInvalidArgument;
    };
    EXPECT_TRUE(refused([](FeeTerms& t) { t.fee_ppm = 1'000'001; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.burned_ppm = 1'000'001; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.emission_ppm = 1'000'001; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.account = {}; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.account = kBurnAddress; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.emission_account = {}; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.emission_account = t.account; }));
    EXPECT_TRUE(refused([](FeeTerms& t) { t.burned_ppm = 0; })) << "emission without a burn";
    EXPECT_TRUE(refused([](FeeTerms& t) { t.fee_ppm = 0; }));
}

}  // namespace
}  // namespace gym::rewards
