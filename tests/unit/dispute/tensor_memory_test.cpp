#include "gym/dispute/tensor_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "temporary_folder.hpp"

namespace gym::dispute {
namespace {

TEST(TensorMemory, LiesOnTheHeapUpToTheThresholdAndInAFileAbove) {
    const gym::testing::TemporaryFolder folder;
    const SpillOptions options{folder.path(), 4096};
    EXPECT_FALSE(TensorMemory::create(4096, options)->in_file());
    auto large = TensorMemory::create(4097, options);
    ASSERT_TRUE(large.ok());
    EXPECT_TRUE(large->in_file());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the file has no name";
}

TEST(TensorMemory, BeginsZeroAndKeepsWhatIsWritten) {
    for (const std::uint64_t limit : {0U, 1U << 20}) {
        auto memory = TensorMemory::create(10000, {"/tmp", limit}).value();
        for (const std::uint8_t byte : memory.bytes())
            ASSERT_EQ(byte, 0);
        memory.bytes().back() = 7;
        TensorMemory moved = std::move(memory);
        EXPECT_EQ(moved.bytes().size(), 10000U);
        EXPECT_EQ(moved.bytes().back(), 7);
        auto other = TensorMemory::copy(moved.bytes(), {"/tmp", limit}).value();
        moved = std::move(other);
        EXPECT_EQ(moved.bytes().back(), 7);
    }
}

TEST(TensorMemory, SaysWhichFolderItCannotWriteTo) {
    const auto memory = TensorMemory::create(2, {"/nowhere/at/all", 1});
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, ErrorCode::kIo);
    EXPECT_NE(memory.error().message.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace gym::dispute
