#include "gym/common/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace gym {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0) return fail(ErrorCode::kInvalidArgument, "odd");
    return value / 2;
}

Result<int> quarter(int value) {
    GYM_TRY(const int once, half(value));
    GYM_TRY(const int twice, half(once));
    return twice;
}

Status check_even(int value) {
    GYM_CHECK(half(value));
    return {};
}

TEST(Result, CarriesTheValue) {
    EXPECT_EQ(quarter(12).value(), 3);
}

TEST(Result, CarriesTheFirstError) {
    EXPECT_EQ(quarter(6).error(), fail(ErrorCode::kInvalidArgument, "odd"));
    EXPECT_EQ(check_even(3).error().message, "odd");
    EXPECT_TRUE(check_even(4).ok());
}

TEST(Result, MovesOutValuesThatCannotBeCopied) {
    Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
    const std::unique_ptr<int> taken = std::move(result).value();
    EXPECT_EQ(*taken, 7);
}

TEST(Result, AnErrorGainsContext) {
    EXPECT_EQ(half(1).error().in("loading p.gym").message, "loading p.gym: odd");
}

TEST(ResultDeathTest, ReadingTheWrongSideStopsTheProgram) {
    EXPECT_DEATH((void)half(1).value(), "odd");
    EXPECT_DEATH((void)half(2).error(), "error\\(\\) of a Result that holds a value");
}

}  // namespace
}  // namespace gym
