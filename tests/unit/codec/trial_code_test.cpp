#include "../../bench/trial_code.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gym::bench {
namespace {

std::vector<float> normal(std::size_t count) {
    std::mt19937 random(7);
    std::normal_distribution<float> draw;
    std::vector<float> values(count);
    for (float& value : values)
        value = draw(random);
    return values;
}

TEST(TrialCode, TextsAreReadBackAndOthersRefused) {
    for (const char* text : {"top-16", "top-1024", "sign-1", "sign-5"}) {
        const auto code = parse_trial_code(text);
        ASSERT_TRUE(code) << text;
        EXPECT_EQ(code->text(), text);
    }
    for (const char* text :
         {"", "top", "top-", "top-0", "top-1025", "sign--1", "sign-5x", "dense-4"})
        EXPECT_FALSE(parse_trial_code(text)) << text;
}

TEST(TrialCode, TopSendsTheLargestOfEachBlockUnrounded) {
    const std::vector<float> y = normal(2048 + 10);
    std::vector<float> left = y;
    const std::vector<float> sent = send({TrialCode::Form::kTop, 16}, 3, left);
    for (std::size_t first = 0; first < y.size(); first += 1024) {
        const std::size_t end = std::min(first + 1024, y.size());
        std::size_t count = 0;
        float smallest_sent = INFINITY, largest_left = 0;
        for (std::size_t i = first; i < end; ++i) {
            EXPECT_EQ(sent[i] + left[i], y[i]);
            if (sent[i] != 0) {
                ++count;
                smallest_sent = std::min(smallest_sent, std::fabs(sent[i]));
            }
            largest_left = std::max(largest_left, std::fabs(left[i]));
        }
        EXPECT_EQ(count, std::min<std::size_t>(16, end - first));
        EXPECT_GE(smallest_sent, largest_left);
    }
}

TEST(TrialCode, SignsHaveTheMeanMagnitudeOfTheirSpanAndLeaveTheRest) {
    const std::vector<float> y = normal(64 + 3);
    std::vector<float> left = y;
    const std::vector<float> sent = send({TrialCode::Form::kSign, 1}, 0, left);
    double sum = 0;
    for (std::size_t i = 0; i < 64; ++i)
        sum += std::fabs(static_cast<double>(y[i]));
    for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(std::signbit(sent[i]), std::signbit(y[i]));
        EXPECT_EQ(left[i], y[i] - sent[i]);
    }
    EXPECT_FLOAT_EQ(std::fabs(sent[5]), static_cast<float>(sum / 64));
}

TEST(TrialCode, EverySpanHasOneTurnInNRounds) {
    const std::vector<float> y = normal(64 * 7);
    std::vector<int> turns(7);
    for (std::uint64_t round = 10; round < 15; ++round) {
        std::vector<float> left = y;
        const std::vector<float> sent = send({TrialCode::Form::kSign, 5}, round, left);
        for (std::size_t span = 0; span < 7; ++span)
            if (sent[span * 64] != 0) {
                ++turns[span];
            } else {
                EXPECT_EQ(left[span * 64 + 9], y[span * 64 + 9]);
            }
    }
    EXPECT_EQ(turns, std::vector<int>(7, 1));
}

TEST(TrialCode, BitsAreThoseOfAByteForm) {
    EXPECT_NEAR((TrialCode{TrialCode::Form::kTop, 16}.bits()), 0.1875, 1e-12);
    EXPECT_NEAR((TrialCode{TrialCode::Form::kSign, 5}.bits()), 0.225, 1e-12);
}

}  // namespace
}  // namespace gym::bench
