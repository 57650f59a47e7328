#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gym/common/clock.hpp"
#include "ledger_client.hpp"
#include "manual_clock.hpp"
#include "postgres.hpp"

namespace gym::ledger {

/// A ledger used through the role of the rewards daemon, with a few accounts.
class LedgerTest : public ::testing::Test {
  protected:
    LedgerTest() : database_(test_.as("gym_rewards")), ledger_(*database_, clock_) {}

    void TearDown() override {
        const auto problems = ledger_.audit();
        ASSERT_TRUE(problems.ok()) << problems.error().message;
        EXPECT_EQ(*problems, std::vector<std::string>{});
    }

    AccountId account(const std::string& owner, AccountKind kind = AccountKind::kAvailable,
                      const std::string& asset = "erc20:1:test") {
        const auto id = ledger_.open_account({owner, asset, kind});
        EXPECT_TRUE(id.ok()) << id.error().message;
        return *id;
    }
    /// Tokens from outside.
    void fund(AccountId to, std::uint64_t amount) {
        static int count = 0;
        ASSERT_EQ(book(move("fund" + std::to_string(++count), outside(), to, amount)),
                  TransferStatus::kCreated);
    }
    AccountId outside() { return account("system", AccountKind::kChainEscrow); }

    static TransferRequest move(const std::string& name, AccountId debit, AccountId credit,
                                std::uint64_t amount, TransferKind kind = TransferKind::kTransfer) {
        TransferRequest request;
        request.id = transfer_id(name);
        request.kind = kind;
        request.debit = debit;
        request.credit = credit;
        request.amount = Amount(amount);
        request.reason = name;
        return request;
    }
    static TransferRequest resolve(const std::string& name, const std::string& pending,
                                   TransferKind kind) {
        TransferRequest request;
        request.id = transfer_id(name);
        request.kind = kind;
        request.pending = transfer_id(pending);
        request.reason = name;
        return request;
    }
    std::vector<TransferStatus> book(const std::vector<TransferRequest>& requests) {
        const auto statuses = ledger_.submit(requests);
        EXPECT_TRUE(statuses.ok()) << statuses.error().message;
        return statuses.value_or({});
    }
    TransferStatus book(const TransferRequest& request) { return book(std::vector{request}).at(0); }
    Amount spendable(AccountId id) { return ledger_.balance(id)->spendable(); }

    testing::TestDatabase test_;
    testing::ManualClock clock_{1'000'000};
    std::unique_ptr<db::Database> database_;
    Ledger ledger_;
};

using Statuses = std::vector<TransferStatus>;
using enum TransferStatus;

}  // namespace gym::ledger
