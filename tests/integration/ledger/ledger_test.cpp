#include <chrono>
#include <future>

#include "ledger_fixture.hpp"

namespace gym::ledger {
namespace {

TEST_F(LedgerTest, AnAccountIsOpenedOnceAndBelongsToItsKey) {
    const AccountId a = account("0xa");
    EXPECT_EQ(account("0xa"), a);
    EXPECT_NE(account("0xa", AccountKind::kEarned), a);
    EXPECT_NE(account("0xa", AccountKind::kAvailable, "erc20:2:other"), a);
    EXPECT_EQ(ledger_.open_account({"", "x", AccountKind::kDust}).error().code,
              ErrorCode::kInvalidArgument);
}

TEST_F(LedgerTest, ATransferMovesExactlyItsAmountAndHistoryExplainsTheBalance) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 100);
    EXPECT_EQ(book(move("t1", a, b, 30)), kCreated);
    EXPECT_EQ(spendable(a), Amount(70));
    EXPECT_EQ(spendable(b), Amount(30));
    const auto history = ledger_.history(a);
    ASSERT_TRUE(history.ok());
    ASSERT_EQ(history->size(), 2u);
    EXPECT_TRUE(history->at(0).is_credit);
    EXPECT_FALSE(history->at(1).is_credit);
    EXPECT_EQ(history->at(1).amount, Amount(30));
    EXPECT_EQ(history->at(1).balance_after, "70");
    EXPECT_EQ(history->at(1).transfer, transfer_id("t1"));
    EXPECT_EQ(history->at(1).reason, "t1");
    EXPECT_EQ(ledger_.history(a, 1)->size(), 1u);
}

TEST_F(LedgerTest, NoAccountGoesBelowZero) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    EXPECT_EQ(book({move("t1", a, b, 11), move("t2", a, b, 10), move("t3", a, b, 1)}),
              (Statuses{kInsufficient, kCreated, kInsufficient}));
    EXPECT_EQ(spendable(b), Amount(10));
}

TEST_F(LedgerTest, WithinABatchLaterItemsSeeEarlierOnes) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    const AccountId c = account("0xc");
    fund(a, 5);
    EXPECT_EQ(book({move("t1", b, c, 5), move("t2", a, b, 5), move("t3", b, c, 5)}),
              (Statuses{kInsufficient, kCreated, kCreated}));
    EXPECT_EQ(spendable(c), Amount(5));
}

TEST_F(LedgerTest, ARepeatChangesNothingAndAnotherContentUnderTheSameIdIsRefused) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 100);
    TransferRequest request = move("t1", a, b, 30);
    EXPECT_EQ(book({request, request}), (Statuses{kCreated, kExists}));
    EXPECT_EQ(book(request), kExists);
    for (const auto change : {0, 1, 2, 3, 4}) {
        TransferRequest other = request;
        if (change == 0) other.amount = Amount(31);
        if (change == 1) std::swap(other.debit, other.credit);
        if (change == 2) other.kind = TransferKind::kPending;
        if (change == 3) other.reason = "something else";
        if (change == 4) other.group = transfer_id("g");
        EXPECT_EQ(book(other), kExistsDifferent) << change;
    }
    EXPECT_EQ(spendable(a), Amount(70));
    EXPECT_EQ(book({move("t2", a, b, 1), move("t2", a, b, 2)}),
              (Statuses{kCreated, kExistsDifferent}));
}

TEST_F(LedgerTest, AnIdThatFailedIsFreeForARetry) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    EXPECT_EQ(book(move("t1", a, b, 5)), kInsufficient);
    fund(a, 5);
    EXPECT_EQ(book(move("t1", a, b, 5)), kCreated);
}

TEST_F(LedgerTest, PendingReservesUntilItIsPosted) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    EXPECT_EQ(book(move("p", a, b, 8, TransferKind::kPending)), kCreated);
    EXPECT_EQ(spendable(a), Amount(2));
    EXPECT_EQ(spendable(b), Amount(0)) << "a pending credit cannot be spent";
    EXPECT_EQ(ledger_.balance(b)->credits_pending, Amount(8));
    EXPECT_EQ(book(move("t", a, b, 3)), kInsufficient);
    EXPECT_EQ(book(resolve("post", "p", TransferKind::kPost)), kCreated);
    EXPECT_EQ(spendable(b), Amount(8));
    EXPECT_EQ(ledger_.balance(a)->debits_pending, Amount(0));
    EXPECT_EQ(book(resolve("post", "p", TransferKind::kPost)), kExists);
    EXPECT_EQ(book(resolve("post again", "p", TransferKind::kPost)), kClosed);
    EXPECT_EQ(book(resolve("void", "p", TransferKind::kVoid)), kClosed);
}

TEST_F(LedgerTest, AVoidedPendingGivesItsReservationBackOnce) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    EXPECT_EQ(book(move("p", a, b, 8, TransferKind::kPending)), kCreated);
    EXPECT_EQ(
        book({resolve("v1", "p", TransferKind::kVoid), resolve("v2", "p", TransferKind::kVoid),
              resolve("post", "p", TransferKind::kPost)}),
        (Statuses{kCreated, kClosed, kClosed}));
    EXPECT_EQ(spendable(a), Amount(10));
    EXPECT_EQ(ledger_.balance(b)->credits_pending, Amount(0));
    EXPECT_EQ(ledger_.history(b)->size(), 0u) << "nothing was ever booked on it";
}

TEST_F(LedgerTest, ResolutionsOfUnknownOrUnfitTransfersAreRefused) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    EXPECT_EQ(book(move("t", a, b, 1)), kCreated);
    EXPECT_EQ(book(resolve("x", "never", TransferKind::kPost)), kUnknown);
    EXPECT_EQ(book(resolve("y", "t", TransferKind::kPost)), kInvalid);
    TransferRequest with_amount = resolve("z", "t", TransferKind::kPost);
    with_amount.amount = Amount(1);
    EXPECT_EQ(book(with_amount), kInvalid);
    TransferRequest expire = resolve("e", "t", TransferKind::kExpire);
    EXPECT_EQ(book(expire), kInvalid) << "only expire() writes these";
}

TEST_F(LedgerTest, PendingTransfersExpireByTheClockOnly) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    TransferRequest soon = move("soon", a, b, 3, TransferKind::kPending);
    soon.expires_at = clock_.now_ms() + 1'000;
    TransferRequest never = move("never", a, b, 3, TransferKind::kPending);
    EXPECT_EQ(book({soon, never}), (Statuses{kCreated, kCreated}));
    EXPECT_EQ(*ledger_.expire(), 0u);
    clock_.advance_ms(1'000);
    EXPECT_EQ(book(resolve("late", "soon", TransferKind::kPost)), kClosed)
        << "expired, though not swept yet";
    EXPECT_EQ(*ledger_.expire(), 1u);
    EXPECT_EQ(*ledger_.expire(), 0u);
    EXPECT_EQ(spendable(a), Amount(7));
    EXPECT_EQ(book(resolve("post", "never", TransferKind::kPost)), kCreated);
    const auto transfer = database_->transact(
        [](db::Transaction& t) { return find_transfer(t, transfer_id("soon")); });
    ASSERT_TRUE(transfer.ok() && transfer->has_value());
    EXPECT_EQ((*transfer)->resolution, TransferKind::kExpire);
}

TEST_F(LedgerTest, AGroupIsBookedWholeOrNotAtAll) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    const AccountId c = account("0xc");
    fund(a, 10);
    const auto grouped = [](TransferRequest request, const std::string& name) {
        request.group = transfer_id(name);
        return request;
    };
    EXPECT_EQ(book({grouped(move("g1", a, b, 6), "bad"), grouped(move("g2", a, c, 6), "bad"),
                    grouped(move("g3", a, c, 1), "bad"), move("single", a, c, 10)}),
              (Statuses{kGroupFailed, kInsufficient, kGroupFailed, kCreated}));
    EXPECT_EQ(spendable(a), Amount(0));
    EXPECT_EQ(spendable(b), Amount(0));
    fund(a, 12);
    const std::vector<TransferRequest> good = {grouped(move("g1", a, b, 6), "good"),
                                               grouped(move("g2", a, c, 6), "good")};
    EXPECT_EQ(book(good), (Statuses{kCreated, kCreated})) << "ids of a failed group are free";
    EXPECT_EQ(book(good), (Statuses{kExists, kExists}));
}

TEST_F(LedgerTest, ARepeatWithinAGroupThatFailsIsNotThereEither) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    TransferRequest first = move("twice", a, b, 1);
    TransferRequest last = move("too much", a, b, 1'000);
    first.group = last.group = transfer_id("group");
    EXPECT_EQ(book({first, first, last}), (Statuses{kGroupFailed, kGroupFailed, kInsufficient}));
    EXPECT_EQ(spendable(b), Amount(0));
    EXPECT_EQ(book({first, first}), (Statuses{kCreated, kExists}));
    EXPECT_EQ(book({first, first, last}), (Statuses{kExists, kExists, kInsufficient}))
        << "what was there before stays";
}

TEST_F(LedgerTest, WithoutATimeNothingThatMayHaveExpiredIsPosted) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    TransferRequest expiring = move("p", a, b, 4, TransferKind::kPending);
    expiring.expires_at = clock_.now_ms() + 1;
    EXPECT_EQ(book({expiring, move("q", a, b, 4, TransferKind::kPending)}),
              (Statuses{kCreated, kCreated}));
    const auto post_without_time = [&](const std::string& pending) {
        return database_
            ->transact([&](db::Transaction& tx) -> Result<std::string> {
                GYM_TRY(const db::Row row,
                        tx.exec_one("SELECT (ledger.submit(ARRAY[gen_random_uuid()], '{post}', "
                                    "'{NULL}', '{NULL}', '{NULL}', ARRAY[$1::uuid], '{NULL}', "
                                    "'{NULL}', '{late}', NULL))[1]",
                                    {to_uuid(transfer_id(pending))}));
                return row.get<std::string>(0);
            })
            .value();
    };
    EXPECT_EQ(post_without_time("p"), "closed");
    EXPECT_EQ(post_without_time("q"), "created") << "this one never expires";
}

TEST_F(LedgerTest, AFailedGroupAlsoTakesResolutionsBack) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    EXPECT_EQ(book({move("p1", a, b, 4, TransferKind::kPending),
                    move("p2", a, b, 4, TransferKind::kPending)}),
              (Statuses{kCreated, kCreated}));
    auto post = resolve("post1", "p1", TransferKind::kPost);
    auto release = resolve("void2", "p2", TransferKind::kVoid);
    auto broken = move("broken", b, a, 1'000);
    for (auto* request : {&post, &release, &broken})
        request->group = transfer_id("group");
    EXPECT_EQ(
        book({post, release, broken, resolve("post1b", "p1", TransferKind::kPost),
              resolve("post2b", "p2", TransferKind::kPost), move("spend", b, a, 9)}),
        (Statuses{kGroupFailed, kGroupFailed, kInsufficient, kCreated, kCreated, kInsufficient}));
    EXPECT_EQ(spendable(b), Amount(8));
}

TEST_F(LedgerTest, ASplitGroupAndAnOverlongBatchAreRefusedAsAWhole) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    TransferRequest first = move("s1", a, b, 1);
    TransferRequest last = move("s2", a, b, 1);
    first.group = last.group = transfer_id("split");
    EXPECT_EQ(ledger_.submit(std::vector{first, move("s3", a, b, 1), last}).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(ledger_.submit(std::vector<TransferRequest>(kBatchMax + 1, first)).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(spendable(a), Amount(10));
    EXPECT_EQ(book(std::vector<TransferRequest>{}), Statuses{});
}

TEST_F(LedgerTest, WhatMakesNoSenseIsInvalidOrUnknown) {
    const AccountId a = account("0xa");
    const AccountId other_asset = account("0xb", AccountKind::kAvailable, "erc20:9:other");
    const AccountId b = account("0xb");
    fund(a, 10);
    TransferRequest expiring = move("x", a, b, 1);
    expiring.expires_at = 5;
    TransferRequest with_pending = move("y", a, b, 1);
    with_pending.pending = transfer_id("fund1");
    EXPECT_EQ(book({move("same", a, a, 1), move("assets", a, other_asset, 1), move("zero", a, b, 0),
                    move("nobody", a, AccountId{999'999}, 1), move("none", AccountId{0}, b, 1),
                    expiring, with_pending}),
              (Statuses{kInvalid, kInvalid, kInvalid, kUnknown, kUnknown, kInvalid, kInvalid}));
    TransferRequest huge = move("huge", a, b, 1);
    huge.amount = *Amount::parse(
        "115792089237316195423570985008687907853269984665640564039457584007913129639935");
    EXPECT_EQ(book(huge), kInsufficient);
    huge.reason = std::string(257, 'x');
    EXPECT_EQ(ledger_.submit(std::vector{huge}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(LedgerTest, AClosedAccountTakesNothingAndOnlyAnEmptyOneCloses) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    const auto close = [&](AccountId id) {
        return database_->transact([&](db::Transaction& t) { return close_account(t, id); });
    };
    EXPECT_EQ(close(a).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(close(b).ok());
    EXPECT_EQ(book(move("t", a, b, 1)), kClosed);
    EXPECT_TRUE(ledger_.balance(b)->closed);
}

TEST_F(LedgerTest, InsideACallersTransactionItCommitsOrVanishesWithTheRest) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    const std::vector<TransferRequest> requests = {move("t", a, b, 4)};
    const auto aborted = database_->transact([&](db::Transaction& t) -> Status {
        GYM_TRY(const auto statuses, submit(t, requests, clock_.now_ms()));
        EXPECT_EQ(statuses, Statuses{kCreated});
        return fail(ErrorCode::kCancelled, "the caller changed its mind");
    });
    EXPECT_EQ(aborted.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(spendable(a), Amount(10));
    EXPECT_EQ(book(requests), Statuses{kCreated});
}

TEST_F(LedgerTest, TheWebRoleBooksNothing) {
    const AccountId a = account("0xa");
    const AccountId job = account("job:1", AccountKind::kEscrow);
    fund(a, 10);
    const auto web = test_.as("gym_api");
    Ledger limited(*web, clock_);
    ASSERT_EQ(book(move("fund job", a, job, 4)), kCreated);
    for (const TransferRequest& request :
         {move("fund", a, job, 1), move("take back", job, a, 1), move("mint", outside(), a, 1)})
        EXPECT_EQ(limited.submit(std::vector{request}).error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(limited.open_account({"0xb", "x", AccountKind::kAvailable}).error().code,
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(spendable(a), Amount(6));
}

/// The pending transfer is committed while the batch that posts it waits for the lock of an
/// account.
TEST_F(LedgerTest, AnAmountIsTheSameHoweverItIsWritten) {
    const auto id = [](AccountId account) {
        return "ARRAY[" + std::to_string(static_cast<std::int64_t>(account)) + "]";
    };
    const auto submit_as = [&](const std::string& amount) {
        const auto row = database_->transact([&](db::Transaction& tx) {
            return tx.exec_one(
                "SELECT ledger.submit(ARRAY['00000000-0000-8000-8000-000000000001'::uuid], "
                "ARRAY['transfer'], " +
                id(outside()) + ", " + id(account("0xa")) + ", ARRAY[" + amount +
                "], ARRAY[NULL::uuid], ARRAY[NULL::bigint], ARRAY[NULL::uuid], ARRAY[''], 1)");
        });
        return row.ok() ? row->get<std::string>(0) : row.error().message;
    };
    EXPECT_EQ(submit_as("7.000"), "{created}");
    EXPECT_EQ(submit_as("7"), "{exists}");
    EXPECT_EQ(submit_as("7.1"), "{exists_different}");
}

TEST_F(LedgerTest, APendingThatAppearsWhileABatchWaitsIsPostedOnItsOwnAccounts) {
    const AccountId a = account("0xa"), b = account("0xb"), c = account("0xc");
    fund(a, 100);
    fund(c, 100);
    std::promise<void> reserved, go_on;
    auto other = std::async(std::launch::async, [&] {
        return database_->transact([&](db::Transaction& transaction) -> Status {
            GYM_CHECK(ledger::submit(transaction,
                                     std::vector{move("p", a, b, 30, TransferKind::kPending)},
                                     clock_.now_ms()));
            reserved.set_value();
            go_on.get_future().wait();
            return {};
        });
    });
    reserved.get_future().wait();
    auto waiting = std::async(std::launch::async, [&] {
        return book({move("t", a, c, 5), resolve("post p", "p", TransferKind::kPost)});
    });
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
    go_on.set_value();
    ASSERT_TRUE(other.get().ok());
    EXPECT_EQ(waiting.get(), (Statuses{kCreated, kCreated}));
    EXPECT_EQ(spendable(a), Amount(65));
    EXPECT_EQ(spendable(b), Amount(30));
    EXPECT_EQ(spendable(c), Amount(105));
}

}  // namespace
}  // namespace gym::ledger
