#include <thread>

#include "concurrent_write.hpp"
#include "rewards_fixture.hpp"
#include "sample_evaluation.hpp"

namespace gym::rewards {
namespace {

TEST_F(RewardsTest, ACommittedUnitShowsAsPendingAtOnceAndIsEarnedWhenItIsFinal) {
    const Digest job = funded_job(100'000);
    history_.commit_round(job, {{0, 3 * kPflop, Fate::kUnsampled}});
    tick();
    EXPECT_EQ(summary_of(history_.earner(0)).pending, Amount(3'000));
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(97'000));
    Receipt receipt = receipt_of(history_.unit_id(0));
    EXPECT_EQ(receipt.state, CreditState::kPending);
    EXPECT_EQ(formula_text(receipt.credit.kind()), "flops * price / 10^15");
    EXPECT_EQ(std::get<ComputeInputs>(receipt.credit.inputs).flops, 3 * kPflop);
    EXPECT_EQ(receipt.credit.amount, Amount(3'000));

    history_.finish_round();
    chain_.holds_back = true;
    tick();
    receipt = receipt_of(history_.unit_id(0));
    EXPECT_EQ(receipt.state, CreditState::kPosted);
    ASSERT_TRUE(receipt.posting.has_value());
    const auto posting = database_->transact([&](db::Transaction& tx) {
        return ledger::find_transfer(tx, *ledger::parse_uuid(*receipt.posting));
    });
    ASSERT_TRUE(posting.ok() && posting->has_value());
    EXPECT_EQ((*posting)->amount, Amount(3'000));
    EXPECT_EQ(summary_of(history_.earner(0)).pending, Amount(0));
}

TEST_F(RewardsTest, OnlyFinalUnitsArePaidAndTheVerifierIsPaidForTheFaultToo) {
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, 2 * kPflop, Fate::kVerified},
                             {1, 2 * kPflop, Fate::kRejected},
                             {2, 2 * kPflop, Fate::kExpired}});
    settle();
    // Compute 2000, and 5 % for answering every challenge.
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(2'100));
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(0));
    EXPECT_EQ(summary_of(history_.earner(1)).pending, Amount(0));
    EXPECT_EQ(summary_of(history_.earner(2)).payable, Amount(0));
    // Two re-executions at 1.1 times the work.
    EXPECT_EQ(summary_of(history_.verifier_earner()).payable, Amount(4'400));
    const Receipt rejected = receipt_of(history_.unit_id(1));
    EXPECT_EQ(rejected.state, CreditState::kVoid);
    EXPECT_NE(rejected.reason.find("differs"), std::string::npos) << rejected.reason;
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(100'000 - 2'100 - 4'400));
    EXPECT_EQ(chain_.distributor, Amount(6'500));
}

TEST_F(RewardsTest, AVerifiedPrefixIsPaidOnceAndARefutedOneNotAtAll) {
    history_.set_data_price(Amount(1'000'000));
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, 2 * kPflop, Fate::kPrefix}, {1, 2 * kPflop, Fate::kWrongPrefix}});
    settle();
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(2'000)) << "and no uptime bonus";
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(0));
    EXPECT_EQ(summary_of(history_.verifier_earner()).payable, Amount(4'400))
        << "for the fault, too";
    EXPECT_EQ(summary_of(history_.data_provider()).payable, Amount(0))
        << "nothing of it is in the model";
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(100'000 - 6'400));

    const Receipt paid = receipt_of(history_.unit_id(0));
    EXPECT_EQ(paid.state, CreditState::kPosted);
    EXPECT_EQ(paid.credit.kind(), CreditKind::kPrefix);
    EXPECT_EQ(std::get<PrefixInputs>(paid.credit.inputs).flops, 2 * kPflop);
    EXPECT_EQ(paid.credit.node, history_.worker(0));
    EXPECT_NE(formula_text(paid.credit.kind()).find("interrupted"), std::string::npos);
    const auto bill =
        database_->transact([&](db::Transaction& tx) { return job_totals(tx, job); }).value();
    ASSERT_EQ(bill.size(), 2U);
    EXPECT_EQ(bill[0].kind, CreditKind::kVerification);
    EXPECT_EQ(bill[1].kind, CreditKind::kPrefix);
    EXPECT_EQ(bill[1].posted, Amount(2'000));

    const auto again = database_->transact([](db::Transaction& tx) {
        return tx.exec("UPDATE rewards.cursor SET position = 0 WHERE name = 'decided_prefix'");
    });
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(accounting_->consume_prefixes().ok()) << "a feed that is read again books nothing";
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(100'000 - 6'400));
}

TEST_F(RewardsTest, APrefixThatTheBudgetDoesNotCoverWaitsForIt) {
    const Digest job = funded_job(1'000);
    history_.run_round(job, {{0, 2 * kPflop, Fate::kPrefix}});
    tick();
    EXPECT_EQ(receipt_of(history_.unit_id(0)).state, CreditState::kUnfunded);
    add_budget(job, 10'000);
    settle();
    EXPECT_EQ(receipt_of(history_.unit_id(0)).state, CreditState::kPosted);
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(2'000));
}

TEST_F(RewardsTest, TheFeeIsOnPrefixesToo) {
    config_.fees = {.fee_ppm = 100'000, .account = testing::test_address(0x7f, 1)};
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, 2 * kPflop, Fate::kPrefix}});
    settle();
    EXPECT_EQ(summary_of(testing::test_address(0x7f, 1)).payable, Amount(420))
        << "a tenth of 2000 and 2200";
}

TEST_F(RewardsTest, WhoAnswersNoChallengeEarnsNoBonusAndWhoDoesNotWorkNeither) {
    const Digest job = funded_job(100'000);
    history_.silent = {1};
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}, {1, kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(1'050));
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(1'000)) << "work, no answers";
    EXPECT_EQ(summary_of(history_.earner(2)).payable, Amount(0)) << "answers, no work";
}

TEST_F(RewardsTest, WhoWasNotAskedEarnsNoBonus) {
    const Digest job = funded_job(100'000);
    const auto forgotten = test_.owner().transact([](db::Transaction& tx) {
        return tx.exec("CREATE RULE nobody AS ON INSERT TO registry.challenge DO INSTEAD NOTHING");
    });
    ASSERT_TRUE(forgotten.ok()) << forgotten.error().message;
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(1'000));
}

TEST_F(RewardsTest, TheDataProviderEarnsWithFinalUnits) {
    history_.set_data_price(Amount(1'000'000));
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}, {1, kPflop, Fate::kRejected}});
    settle();
    EXPECT_EQ(summary_of(history_.data_provider()).payable, Amount(testing::History::kTokens));
}

/// An evaluation over a reference that it registers. @return its id.
Digest publish_evaluation(db::Database& registry) {
    registry::Dataset reference;
    reference.root = testing::test_digest("reference");
    reference.owner = testing::test_address(0x77, 1);
    reference.name = "reference";
    reference.tokens = 1'000;
    reference.vocabulary = 256;
    reference.licence = "CC0-1.0";
    reference.sample.emplace();
    const registry::Evaluation evaluation = gym::testing::sample_evaluation(reference.root);
    const Status published = registry.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::register_dataset(tx, reference));
        GYM_CHECK(registry::publish_evaluation(tx, evaluation));
        return {};
    });
    EXPECT_TRUE(published.ok()) << published.error().message;
    return evaluation.id;
}

TEST_F(RewardsTest, AMeasurementDoesNotChangeWhatTheDataOfARunningJobEarns) {
    history_.set_data_price(Amount(1'000'000));
    const Digest evaluation = publish_evaluation(test_.owner());
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    const auto measured = test_.owner().transact([&](db::Transaction& tx) {
        return registry::record_measurement(
            tx, gym::testing::sample_measurement(testing::test_digest("dataset job"), evaluation,
                                                 4.5F));
    });
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_EQ(measured->usefulness_ppm, 250'000U);
    history_.run_round(job, {{1, kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(summary_of(history_.data_provider()).payable, Amount(2 * testing::History::kTokens));
}

TEST_F(RewardsTest, CumulativeTotalsGrowOverEpochsAndProofsLeadToTheRoot) {
    const Digest job = funded_job(100'000);
    for (int round = 0; round < 3; ++round) {
        history_.run_round(job, {{0, kPflop, Fate::kUnsampled}, {1, 2 * kPflop, Fate::kUnsampled}});
        settle();
    }
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(3 * 1'050));
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(3 * 2'100));
    const auto proof = database_->transact(
        [&](db::Transaction& tx) { return claim_proof(tx, history_.earner(1), clock_.now_ms()); });
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    EXPECT_EQ(proof->epoch, 3u);
    EXPECT_EQ(proof->cumulative, Amount(6'300));
    const Address earner = history_.earner(1);
    EXPECT_EQ(
        payouts::fold_path(config_.domain, {earner, proof->cumulative}, earner, proof->path)->hash,
        proof->root);
    const auto stranger = database_->transact(
        [&](db::Transaction& tx) { return claim_proof(tx, owner_, clock_.now_ms()); });
    EXPECT_EQ(stranger.error().code, ErrorCode::kNotFound);

    chain_.claim(history_.earner(1), Amount(6'300));
    tick();
    EXPECT_EQ(summary_of(history_.earner(1)).claimed, Amount(6'300));
}

TEST_F(RewardsTest, AClaimBeyondWhatIsPayableStopsTheDaemon) {
    const Digest job = funded_job(10'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    chain_.emit(Claimed{history_.earner(0), Amount(5'000)});
    const auto report = daemon_->tick();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kConflict);
    EXPECT_EQ(daemon_->tick().error().code, ErrorCode::kConflict) << "it does not skip the event";
}

TEST_F(RewardsTest, ARootThatThisLedgerDidNotMakeStopsTheDaemon) {
    chain_.emit(RootSubmitted{1, testing::test_digest("forged"), 0});
    EXPECT_EQ(daemon_->tick().error().code, ErrorCode::kMismatch);
}

TEST_F(RewardsTest, EventsThatComeAgainChangeNothing) {
    const Digest job = funded_job(10'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    chain_.claim(history_.earner(0), Amount(1'050));
    tick();
    const Amount before = balance(available_account(asset(), owner_)).credits;
    chain_.delivered = 0;
    tick();
    tick();
    EXPECT_EQ(balance(available_account(asset(), owner_)).credits, before);
    EXPECT_EQ(summary_of(history_.earner(0)).claimed, Amount(1'050));
}

TEST_F(RewardsTest, CreditsOfAJobThatStaysEmptyKeepNoOtherCreditUnpaid) {
    const Address pauper = testing::test_address(0x71, 1);
    const Digest empty = funded_job_of(pauper, 1, "empty");
    const Digest job = funded_job(2'000);
    config_.batch_max = 2;
    restart();
    history_.run_round(empty, {{0, kPflop, Fate::kUnsampled},
                               {1, kPflop, Fate::kUnsampled},
                               {2, kPflop, Fate::kUnsampled}});
    for (int i = 0; i < 10; ++i)
        tick();
    ASSERT_EQ(receipt_of(history_.unit_id(2)).state, CreditState::kUnfunded);
    history_.run_round(job, {{0, 3 * kPflop, Fate::kUnsampled}});
    for (int i = 0; i < 10; ++i)
        tick();
    ASSERT_EQ(receipt_of(history_.unit_id(0)).state, CreditState::kUnfunded);
    add_budget(job, 10'000);
    tick();
    EXPECT_EQ(receipt_of(history_.unit_id(0)).state, CreditState::kPosted);
}

TEST_F(RewardsTest, AJobOutOfBudgetIsPausedAndItsUnitsArePaidOnceItIsFundedAgain) {
    const Digest job = funded_job(2'500);
    history_.commit_round(job,
                          {{0, 2 * kPflop, Fate::kUnsampled}, {1, 2 * kPflop, Fate::kUnsampled}});
    tick();
    EXPECT_EQ(summary_of(history_.earner(0)).pending, Amount(2'000));
    EXPECT_EQ(receipt_of(history_.unit_id(1)).state, CreditState::kUnfunded);
    const auto job_now = [&] {
        return test_.owner()
            .transact([&](db::Transaction& tx) { return registry::get_job(tx, job); })
            .value();
    };
    EXPECT_EQ(job_now().request, registry::JobRequest::kPause);
    EXPECT_TRUE(job_now().request_reason.starts_with("budget: ")) << job_now().request_reason;

    history_.finish_round();
    tick();
    EXPECT_EQ(receipt_of(history_.unit_id(1)).state, CreditState::kUnfunded);
    add_budget(job, 10'000);
    EXPECT_EQ(job_now().request, std::nullopt) << "there is no reason to pause any more";
    settle();
    EXPECT_EQ(receipt_of(history_.unit_id(1)).state, CreditState::kPosted);
    EXPECT_EQ(summary_of(history_.earner(1)).payable, Amount(2'000));
}

TEST_F(RewardsTest, AnEmptyBudgetDoesNotTakeBackItsOwnersCancellation) {
    const Digest job = funded_job(100);
    const Status cancelled = test_.owner().transact([&](db::Transaction& tx) {
        return registry::request_job(tx, job, registry::JobRequest::kCancel);
    });
    ASSERT_TRUE(cancelled.ok()) << cancelled.error().message;
    history_.commit_round(job, {{0, 2 * kPflop, Fate::kUnsampled}});
    tick();
    ASSERT_EQ(receipt_of(history_.unit_id(0)).state, CreditState::kUnfunded);
    const auto after =
        test_.owner().transact([&](db::Transaction& tx) { return registry::get_job(tx, job); });
    EXPECT_EQ(after.value().request, registry::JobRequest::kCancel);
}

TEST_F(RewardsTest, ACancellationThatComesWhileAPauseIsAskedForStays) {
    const Digest job = funded_job(100);
    history_.commit_round(job, {{0, 2 * kPflop, Fate::kUnsampled}});
    const auto cancel = [&](db::Transaction& tx) {
        return registry::request_job(tx, job, registry::JobRequest::kCancel);
    };
    testing::write_while_waited_for(test_.owner(), cancel, [&] { tick(); });
    ASSERT_EQ(receipt_of(history_.unit_id(0)).state, CreditState::kUnfunded);
    const auto after =
        test_.owner().transact([&](db::Transaction& tx) { return registry::get_job(tx, job); });
    EXPECT_EQ(after.value().request, registry::JobRequest::kCancel);
    EXPECT_EQ(after.value().request_reason, "");
}

TEST_F(RewardsTest, WhatIsLeftOfAnEndedJobGoesBackToItsOwner) {
    const Digest job = funded_job(10'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    history_.end_job(job);
    settle();
    EXPECT_EQ(balance(escrow_account(asset(), job)).spendable(), Amount(0));
    EXPECT_EQ(balance(available_account(asset(), owner_)).spendable(), Amount(10'000 - 1'050));
}

TEST_F(RewardsTest, AnEpochCoversAllRoundsThatFinishedWhileTheOneBeforeWasUnderWay) {
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    chain_.holds_back = true;
    EXPECT_EQ(tick().epoch_closed, 1u);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    history_.run_round(job, {{1, kPflop, Fate::kUnsampled}});
    EXPECT_FALSE(tick().epoch_closed.has_value());
    chain_.holds_back = false;
    settle();
    EXPECT_EQ(published_.size(), 2u);
    EXPECT_EQ(parse_epoch_file(published_[2])->rounds.size(), 2u);
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(2'100));
}

TEST_F(RewardsTest, ANewRootWaitsUntilTheOneBeforeIsActive) {
    const Digest job = funded_job(100'000);
    chain_.active_at_s = static_cast<std::uint64_t>(clock_.now_ms()) / 1000 + 3'600;
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    EXPECT_EQ(database_
                  ->transact([&](db::Transaction& tx) {
                      return claim_proof(tx, history_.earner(0), clock_.now_ms());
                  })
                  .error()
                  .code,
              ErrorCode::kNotFound);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    EXPECT_FALSE(tick().epoch_closed.has_value());
    clock_.advance_ms(3'600'000);
    EXPECT_EQ(tick().epoch_closed, 2u);
    for (int i = 0; i < 3; ++i)
        tick();
}

TEST_F(RewardsTest, AnOrderThatFailsInABlockIsTriedUnderANewId) {
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    chain_.failures = 2;
    settle();
    EXPECT_EQ(chain_.orders["release:1:0:0"].state, OrderState::kFailed);
    EXPECT_EQ(chain_.orders["release:1:0:2"].state, OrderState::kDone);
    EXPECT_EQ(chain_.orders["root:1:0"].state, OrderState::kDone);
    EXPECT_EQ(chain_.distributor, Amount(1'050)) << "released once";
}

TEST_F(RewardsTest, ADisabledRootIsFollowedByOneThatIncludesIt) {
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    chain_.emit(RootDisabled{1});
    tick();
    history_.run_round(job, {{1, kPflop, Fate::kUnsampled}});
    settle();
    const auto proof = database_->transact(
        [&](db::Transaction& tx) { return claim_proof(tx, history_.earner(0), clock_.now_ms()); });
    ASSERT_TRUE(proof.ok());
    EXPECT_EQ(proof->epoch, 3u) << "the second posted it again";
    EXPECT_EQ(proof->cumulative, Amount(1'050));
}

TEST_F(RewardsTest, ADisabledRootIsPostedAgainWithoutAnyNewCredit) {
    const Digest job = funded_job(100'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    chain_.emit(RootDisabled{1});
    settle();
    const auto proof = database_->transact(
        [&](db::Transaction& tx) { return claim_proof(tx, history_.earner(0), clock_.now_ms()); });
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    EXPECT_EQ(proof->epoch, 2u);
    EXPECT_EQ(proof->cumulative, Amount(1'050));
    EXPECT_EQ(chain_.distributor, Amount(1'050)) << "nothing is released twice";
    EXPECT_FALSE(tick().epoch_closed.has_value()) << "once";
    const auto file = parse_epoch_file(
        *database_->transact([](db::Transaction& tx) { return rewards::epoch_file(tx, 2); }));
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_TRUE(file->credits.empty());
    EXPECT_TRUE(file->releases.empty());
}

TEST_F(RewardsTest, ReconciliationSeesASingleWei) {
    const Digest job = funded_job(10'000);
    history_.run_round(job, {{0, kPflop, Fate::kUnsampled}});
    settle();
    auto same = settlement_->reconcile(chain_.block);
    ASSERT_TRUE(same.ok());
    EXPECT_TRUE(same->agrees());
    chain_.distributor = *chain_.distributor.minus(Amount(1));
    auto off = settlement_->reconcile(chain_.block + 1);
    EXPECT_FALSE(off->agrees());
    const auto problems = ledger::Ledger(*database_, clock_).audit();
    EXPECT_EQ(problems->size(), 1u);
    chain_.distributor = *chain_.distributor.plus(Amount(1));
    EXPECT_TRUE(settlement_->reconcile(chain_.block + 2)->agrees());
    chain_.claimed = Amount(1);
    EXPECT_FALSE(settlement_->reconcile(chain_.block + 3)->agrees())
        << "a claim that nobody booked";
    EXPECT_EQ(ledger::Ledger(*database_, clock_).audit()->size(), 1u);
    chain_.claimed = Amount(0);
    EXPECT_TRUE(settlement_->reconcile(chain_.block + 4)->agrees());
}

TEST_F(RewardsTest, TwoDaemonsOverOneDatabaseBookEverythingOnce) {
    const Digest job = funded_job(100'000);
    for (int round = 0; round < 3; ++round)
        history_.run_round(job, {{0, kPflop, Fate::kVerified}, {1, kPflop, Fate::kUnsampled}});
    Accounting other(*database_, clock_, config_);
    const auto drain = [](Accounting& accounting) {
        for (int i = 0; i < 30; ++i) {
            ASSERT_TRUE(accounting.consume_unit_events().ok());
            ASSERT_TRUE(accounting.consume_reports().ok());
            ASSERT_TRUE(accounting.finish_rounds().ok());
        }
    };
    std::thread thread([&] { drain(other); });
    drain(*accounting_);
    thread.join();
    settle();
    EXPECT_EQ(summary_of(history_.earner(0)).payable, Amount(3'150));
    EXPECT_EQ(summary_of(history_.verifier_earner()).payable, Amount(3'300));
}

}  // namespace
}  // namespace gym::rewards
