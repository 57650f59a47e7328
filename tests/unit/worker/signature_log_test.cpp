#include "gym/worker/signature_log.hpp"

#include <gtest/gtest.h>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

Digest filled(std::uint8_t value) {
    Digest out;
    out.data.fill(value);
    return out;
}

class SignatureLogTest : public ::testing::Test {
  protected:
    static constexpr std::size_t kLineBytes = 88;
    testing::TemporaryFolder dir_;
    const protocol::UnitKey unit_{filled(1), 7, 3, 0};
    const Signed first_{filled(2), filled(3)};
    const Signed second_{filled(2), filled(4)};

    SignatureLog open() const { return SignatureLog::open(dir_.path()).value(); }
    std::filesystem::path file() const {
        return dir_.path() / (filled(1).hex().substr(2) + ".signed");
    }
    Status append(const Bytes& tail) const {
        Bytes content = read_file(file()).value();
        content.insert(content.end(), tail.begin(), tail.end());
        return write_file_atomic(file(), content);
    }
};

TEST_F(SignatureLogTest, ASlotIsSignedForOnce) {
    SignatureLog log = open();
    EXPECT_FALSE(log.find(unit_).value().has_value());
    ASSERT_TRUE(log.add(unit_, first_).ok());
    EXPECT_TRUE(log.add(unit_, first_).ok()) << "the same again gives the same signature";
    const Status refused = log.add(unit_, second_);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("unit 3 of round 7"), std::string::npos);
    EXPECT_EQ(log.find(unit_).value(), first_);
}

TEST_F(SignatureLogTest, EveryPartOfTheNameCounts) {
    SignatureLog log = open();
    ASSERT_TRUE(log.add(unit_, first_).ok());
    protocol::UnitKey other = unit_;
    ++other.round;
    EXPECT_TRUE(log.add(other, second_).ok());
    other = unit_;
    ++other.slot;
    EXPECT_TRUE(log.add(other, second_).ok());
    other = unit_;
    ++other.attempt;
    EXPECT_TRUE(log.add(other, second_).ok());
    other = unit_;
    other.job_id = filled(9);
    EXPECT_TRUE(log.add(other, second_).ok());
    EXPECT_EQ(log.add(unit_, second_).error().code, ErrorCode::kConflict)
        << "back at the first job";
}

TEST_F(SignatureLogTest, SurvivesEveryRestart) {
    for (std::uint64_t round = 1; round <= 20; ++round) {
        protocol::UnitKey unit = unit_;
        unit.round = round;
        ASSERT_TRUE(open().add(unit, first_).ok());
    }
    EXPECT_EQ(std::filesystem::file_size(file()), 20 * kLineBytes);
    for (std::uint64_t round = 1; round <= 20; ++round) {
        protocol::UnitKey unit = unit_;
        unit.round = round;
        EXPECT_EQ(open().add(unit, second_).error().code, ErrorCode::kConflict);
    }
}

TEST_F(SignatureLogTest, ALineCutOffByACrashWasNeverSignedFor) {
    ASSERT_TRUE(open().add(unit_, first_).ok());
    protocol::UnitKey next = unit_;
    ++next.round;
    ASSERT_TRUE(append(Bytes(40, 0xAB)).ok());
    SignatureLog log = open();
    EXPECT_EQ(log.find(unit_).value(), first_);
    ASSERT_TRUE(log.add(next, second_).ok());
    EXPECT_EQ(open().find(next).value(), second_);
    // As a file system may leave it after a power failure: the length without the content.
    ASSERT_TRUE(append(Bytes(kLineBytes, 0)).ok());
    SignatureLog after = open();
    ++next.round;
    ASSERT_TRUE(after.add(next, second_).ok());
    EXPECT_EQ(open().find(next).value(), second_);
    EXPECT_EQ(std::filesystem::file_size(file()), 3 * kLineBytes);
}

TEST_F(SignatureLogTest, ADamagedLineStopsTheNode) {
    ASSERT_TRUE(open().add(unit_, first_).ok());
    Bytes content = read_file(file()).value();
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{12}, std::size_t{50}, std::size_t{87}}) {
        Bytes altered = content;
        altered[at] ^= 1;
        ASSERT_TRUE(write_file_atomic(file(), altered).ok());
        SignatureLog log = open();
        EXPECT_EQ(log.find(unit_).error().code, ErrorCode::kMalformed) << at;
        EXPECT_EQ(log.add(unit_, second_).error().code, ErrorCode::kMalformed) << at;
    }
}

TEST_F(SignatureLogTest, WhatCannotBeNotedIsNotSigned) {
    SignatureLog log = open();
    std::filesystem::remove_all(dir_.path());
    EXPECT_EQ(log.add(unit_, first_).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace gym::worker
