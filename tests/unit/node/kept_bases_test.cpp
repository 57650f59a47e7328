#include "gym/node/kept_bases.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::node {
namespace {

namespace fs = std::filesystem;
using Released = std::vector<Digest>;

Digest digest(std::uint8_t fill) {
    Digest out;
    out.data.fill(fill);
    return out;
}

class KeptBasesTest : public ::testing::Test {
  protected:
    gym::testing::TemporaryFolder dir_;
    const fs::path folder_ = dir_.path() / "bases";
    KeptBases kept_{folder_};

    Released keep(std::uint8_t job, std::uint64_t round, std::uint8_t blob) {
        auto released = kept_.keep(digest(job), round, digest(blob));
        EXPECT_TRUE(released.ok()) << released.error().message;
        return *released;
    }
};

TEST_F(KeptBasesTest, KeepsTheTwoNewestRoundsOfAJob) {
    EXPECT_FALSE(kept_.holds(digest(1)));
    EXPECT_EQ(keep(9, 1, 1), Released{});
    EXPECT_EQ(keep(9, 1, 1), Released{}) << "again";
    EXPECT_EQ(keep(9, 2, 2), Released{});
    EXPECT_EQ(keep(9, 3, 3), Released{digest(1)});
    EXPECT_FALSE(kept_.holds(digest(1)));
    EXPECT_TRUE(kept_.holds(digest(2)));
    EXPECT_TRUE(KeptBases(folder_).holds(digest(3))) << "another object, after a restart";
    EXPECT_EQ(keep(9, 1, 1), Released{digest(1)}) << "a round that is older than those kept";
    EXPECT_TRUE(kept_.holds(digest(2)) && kept_.holds(digest(3)));
}

TEST_F(KeptBasesTest, RoundsWithTheSameBaseReleaseItWithTheLast) {
    keep(9, 1, 1);
    keep(9, 2, 2);
    EXPECT_EQ(keep(9, 3, 2), Released{digest(1)});
    EXPECT_EQ(keep(9, 4, 3), Released{}) << "round 3 has it still";
    EXPECT_EQ(keep(9, 5, 4), Released{digest(2)});
}

TEST_F(KeptBasesTest, ForgetsTheJobsThatItWorkedForLongestAgo) {
    for (std::uint8_t job = 0; job < KeptBases::kJobsMax; ++job) {
        EXPECT_EQ(keep(job, 1, static_cast<std::uint8_t>(100 + job)), Released{});
        // Within the clock of the file system two writes may be at one time.
        for (const auto& file : fs::directory_iterator(folder_))
            fs::last_write_time(file.path(),
                                fs::last_write_time(file.path()) - std::chrono::hours(1));
    }
    EXPECT_EQ(keep(0, 2, 50), Released{}) << "job 0 is new again";
    EXPECT_EQ(keep(200, 1, 51), Released{digest(101)});
    EXPECT_TRUE(kept_.holds(digest(50)) && kept_.holds(digest(100)));
}

TEST_F(KeptBasesTest, AFileThatDoesNotDecodeKeepsNothing) {
    keep(9, 1, 1);
    for (const auto& file : fs::directory_iterator(folder_)) {
        Bytes bytes = read_file(file.path()).value();
        bytes.resize(bytes.size() - 1);
        ASSERT_TRUE(write_file_atomic(file.path(), bytes).ok());
    }
    EXPECT_FALSE(kept_.holds(digest(1)));
    EXPECT_EQ(keep(9, 2, 2), Released{});
    EXPECT_TRUE(kept_.holds(digest(2)));
}

TEST_F(KeptBasesTest, SaysWhereItCannotWrite) {
    ASSERT_TRUE(write_file_atomic(folder_, as_bytes("in the way")).ok());
    const auto kept = kept_.keep(digest(9), 1, digest(1));
    ASSERT_FALSE(kept.ok());
    EXPECT_EQ(kept.error().code, ErrorCode::kIo);
    EXPECT_NE(kept.error().message.find(folder_.string()), std::string::npos);
}

}  // namespace
}  // namespace gym::node
