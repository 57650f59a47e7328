#include "gym/codec/residual.hpp"

#include "codec_cases.hpp"

namespace gym::codec {
namespace {

using ::testing::HasSubstr;

constexpr TensorGrid kTensor{1100, -20};

TEST(Residual, ZeroIsInOrder) {
    EXPECT_TRUE(check(kTensor, Residual::zero(1100)).ok());
}

TEST(Residual, WhatNoEncoderWritesIsRefused) {
    const auto refused = [](const Residual& residual, const char* message) {
        const Status status = check(kTensor, residual);
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().code, ErrorCode::kMalformed);
        EXPECT_THAT(status.error().message, HasSubstr(message));
    };
    refused(Residual::zero(1099), "not 1099 and 2");
    Residual residual = Residual::zero(1100);
    residual.levels[1050] = 0x80;
    refused(residual, "block 1 of a residual: a level is -128");
    residual.levels[1050] = static_cast<std::uint8_t>(-63);
    residual.scales[1] = 1;
    refused(residual, "its scale is 1, but its largest level is 63");
    residual.levels[1050] = static_cast<std::uint8_t>(-64);
    EXPECT_TRUE(check(kTensor, residual).ok());
    residual.scales[1] = 20;
    refused(residual, "its scale is 20");
}

TEST(Residual, EncodersWriteWhatIsInOrder) {
    std::mt19937_64 random(7);
    for (const Case& c : cases(random)) {
        const TensorGrid tensor{c.x.size(), -20};
        Residual residual = random_residual(random, c.x.size());
        for (int round = 0; round < 3; ++round)
            residual = *encode(tensor, c.x, kNoBound, &residual).residual;
        const Status status = check(tensor, residual);
        EXPECT_TRUE(status.ok()) << c.name << ": " << status.error().message;
    }
}

TEST(Residual, SlotsTakeTurnsToReset) {
    for (std::uint32_t slot = 0; slot < 20; ++slot) {
        int resets_seen = 0;
        for (std::uint64_t round = 3; round < 3 + kResetRounds; ++round)
            resets_seen += resets(round, slot) ? 1 : 0;
        EXPECT_EQ(resets_seen, 1);
    }
    EXPECT_TRUE(resets(0, 0));
    EXPECT_FALSE(resets(0, 1));
    EXPECT_TRUE(resets(7, 1));
}

}  // namespace
}  // namespace gym::codec
