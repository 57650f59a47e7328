#include "dispute_client.hpp"

#include <gtest/gtest.h>

namespace gym::player {
namespace {

constexpr std::uint64_t kGwei = 1'000'000'000;

TEST(EtherOfGames, IsTakenOutWhereItPaysForManyTransactions) {
    const Amount base_fee(9 * kGwei);
    // 50'000 gas at 10 gwei, with what a block's maker gets.
    const Amount transaction(500'000 * kGwei);
    const auto times = [&](std::uint64_t count) {
        return transaction.mul_div(Amount(count), Amount(1)).value();
    };
    EXPECT_FALSE(is_worth_withdrawing(Amount(0), Amount(0)));
    EXPECT_FALSE(is_worth_withdrawing(times(1), base_fee));
    EXPECT_FALSE(is_worth_withdrawing(times(49), base_fee));
    EXPECT_TRUE(is_worth_withdrawing(times(50), base_fee));
    EXPECT_TRUE(is_worth_withdrawing(times(49), Amount(8 * kGwei))) << "it became cheaper";
}

TEST(EndOfATick, IsTheChainsOrTheStopAndNothingOfOneClaim) {
    for (const ErrorCode code :
         {ErrorCode::kUnavailable, ErrorCode::kTimeout, ErrorCode::kCancelled})
        EXPECT_TRUE(ends_tick(fail(code, "")));
    for (const ErrorCode code : {ErrorCode::kInternal, ErrorCode::kMismatch, ErrorCode::kNotFound,
                                 ErrorCode::kInsufficientFunds, ErrorCode::kIo})
        EXPECT_FALSE(ends_tick(fail(code, "")));
}

}  // namespace
}  // namespace gym::player
