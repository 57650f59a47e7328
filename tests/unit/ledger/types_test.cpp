#include "gym/ledger/types.hpp"

#include <gtest/gtest.h>

namespace gym::ledger {
namespace {

TEST(TransferId, IsTheSameForThePurposeAndAVersion8Uuid) {
    const TransferId id = transfer_id("unit:1:final");
    EXPECT_EQ(id, transfer_id("unit:1:final"));
    EXPECT_NE(id, transfer_id("unit:1:void"));
    const std::string text = to_uuid(id);
    ASSERT_EQ(text.size(), 36u);
    EXPECT_EQ(text[14], '8');
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos);
    EXPECT_EQ(*parse_uuid(text), id);
}

TEST(TransferId, RefusesOtherText) {
    for (const char* text :
         {"", "00000000-0000-0000-0000-00000000000", "00000000x0000-0000-0000-000000000000",
          "g0000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-0000000000000"})
        EXPECT_FALSE(parse_uuid(text).ok()) << text;
}

TEST(Names, OfKindsAndStatusesReadBack) {
    for (int i = 0; i <= static_cast<int>(AccountKind::kDust); ++i)
        EXPECT_EQ(*parse_account_kind(to_string(static_cast<AccountKind>(i))),
                  static_cast<AccountKind>(i));
    for (int i = 0; i <= static_cast<int>(TransferKind::kExpire); ++i)
        EXPECT_EQ(*parse_transfer_kind(to_string(static_cast<TransferKind>(i))),
                  static_cast<TransferKind>(i));
    for (int i = 0; i <= static_cast<int>(TransferStatus::kGroupFailed); ++i)
        EXPECT_EQ(*parse_transfer_status(to_string(static_cast<TransferStatus>(i))),
                  static_cast<TransferStatus>(i));
    EXPECT_FALSE(parse_account_kind("payables").ok());
}

TEST(Balance, SpendableIsWhatIsLeftAfterReservations) {
    Balance balance;
    balance.credits = Amount(10);
    balance.debits = Amount(3);
    balance.debits_pending = Amount(5);
    EXPECT_EQ(balance.spendable(), Amount(2));
    EXPECT_EQ(*balance.net(), Amount(7));
    balance.debits_pending = Amount(8);
    EXPECT_EQ(balance.spendable(), Amount(0));
    EXPECT_FALSE(balance.held().ok());
}

}  // namespace
}  // namespace gym::ledger
