#include "gym/node/device_errors.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/common/file.hpp"
#include "gym/engine/device.hpp"
#include "gym/node/machine.hpp"
#include "temporary_folder.hpp"

namespace gym::node {
namespace {

class DeviceErrorsTest : public ::testing::Test {
  protected:
    [[nodiscard]] DeviceErrors of(const std::string& device) const { return {dir_.path(), device}; }
    testing::TemporaryFolder dir_;
};

TEST_F(DeviceErrorsTest, TheThirdErrorEndsADevicesUse) {
    const DeviceErrors card = of("Card A (GPU-1)");
    EXPECT_EQ(card.count().value(), 0U);
    for (unsigned errors = 1; errors < DeviceErrors::kErrorsMax; ++errors) {
        ASSERT_TRUE(card.add("op 3 (matmul): a product is wrong", 1'000).ok());
        EXPECT_EQ(of("Card A (GPU-1)").count().value(), errors) << "on disk";
        EXPECT_TRUE(card.check().ok());
    }
    ASSERT_TRUE(card.add("op 4 (adamw):\nit gave two results", 2'000).ok());
    const Status refused = of("Card A (GPU-1)").check();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("Card A (GPU-1) gave wrong results 3 times"),
              std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find((dir_.path() / "device-errors").string()),
              std::string::npos);
}

TEST_F(DeviceErrorsTest, WhatRootWritesIsTheOwnersOfTheFolder) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can write for others";
    constexpr uid_t kService = 12'345;
    ASSERT_EQ(::chown(dir_.path().c_str(), kService, kService), 0);
    ASSERT_TRUE(of("Card A (GPU-1)").add("op 3", 1'000).ok());
    struct stat status {};
    ASSERT_EQ(::stat((dir_.path() / "device-errors").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, kService);
}

TEST_F(DeviceErrorsTest, AnotherCardHasNone) {
    for (unsigned errors = 0; errors < DeviceErrors::kErrorsMax; ++errors)
        ASSERT_TRUE(of("Card A (GPU-1)").add("op 3", 1'000).ok());
    EXPECT_EQ(of("Card A (GPU-2)").count().value(), 0U);
    EXPECT_EQ(of("Card B (GPU-3)").count().value(), 0U);
    EXPECT_TRUE(of("Card B (GPU-3)").check().ok());
    EXPECT_FALSE(of("Card A (GPU-1)").check().ok());
}

TEST_F(DeviceErrorsTest, WhatCannotBeReadIsNotTakenForNone) {
    std::filesystem::create_directory(dir_.path() / "device-errors");
    EXPECT_FALSE(of("cpu").count().ok());
    EXPECT_FALSE(of("cpu").check().ok());
}

TEST_F(DeviceErrorsTest, AFileInThePlaceOfTheFolderHasNoErrors) {
    ASSERT_TRUE(write_file_atomic(dir_.path() / "file", as_bytes("x")).ok());
    const DeviceErrors errors(dir_.path() / "file", "cpu");
    EXPECT_EQ(errors.count().value(), 0U);
    EXPECT_TRUE(errors.check().ok()) << "what needs the folder says what is wrong with it";
    EXPECT_FALSE(errors.add("op 3", 1).ok());
}

TEST_F(DeviceErrorsTest, ANodeCountsItsDevicesErrorsAndNoOthers) {
    NodeConfig config;
    config.data_dir = dir_.path();
    config.device = "cpu";
    const auto check = device_check(config);
    EXPECT_TRUE(check(fail(ErrorCode::kUnavailable, "the coordinator is away")).ok());
    EXPECT_TRUE(check(fail(ErrorCode::kInternal, "a library failed")).ok());
    EXPECT_EQ(of("cpu").count().value(), 0U);
    const Error of_a_peer = fail(ErrorCode::kInternal, "the device erred: op 3");
    EXPECT_TRUE(check(of_a_peer).ok());
    EXPECT_EQ(of("cpu").count().value(), 0U) << "a peer can say anything";
    const auto erred = [] { return engine::device_erred("cpu", "op 3").in("job 1, round 2"); };
    EXPECT_TRUE(check(erred()).ok());
    EXPECT_EQ(of("cpu").count().value(), 1U);
    EXPECT_TRUE(check(of_a_peer).ok());
    EXPECT_EQ(of("cpu").count().value(), 1U) << "once each";
    const auto restarted = device_check(config);
    EXPECT_TRUE(restarted(erred()).ok());
    EXPECT_TRUE(device_of(config).ok());
    EXPECT_EQ(restarted(erred()).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(device_of(config).error().code, ErrorCode::kInvalidArgument) << "at the next start";
}

}  // namespace
}  // namespace gym::node
