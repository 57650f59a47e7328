#include "gym/blob/dataset.hpp"

#include <gtest/gtest.h>

#include "gym/commit/tensor_root.hpp"
#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::blob {
namespace {

Dataset hundred_tokens() {
    std::vector<std::uint16_t> tokens(105);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<std::uint16_t>(i);
    return Dataset::from_tokens(std::move(tokens), 300).value();
}

TEST(Dataset, OneTokenPerByteOfText) {
    const auto dataset = Dataset::build_from_text(Bytes{'h', 'i', 0xff}).value();
    EXPECT_EQ(dataset.vocabulary(), 256u);
    ASSERT_EQ(dataset.tokens().size(), 3u);
    EXPECT_EQ(dataset.tokens()[2], 255);
    const Bytes little_endian{'h', 0, 'i', 0, 0xff, 0};
    const std::uint64_t count = 3;
    EXPECT_EQ(dataset.root(), commit::tensor_root(commit::DType::kU16, {&count, 1}, little_endian));
}

TEST(Dataset, FileRoundTripsAndIsCheckedAgainstItsRoot) {
    const testing::TemporaryFolder dir;
    const Dataset dataset = hundred_tokens();
    const auto path = dir.path() / "tokens.gymdata";
    ASSERT_TRUE(write_file_atomic(path, dataset.encode()).ok());
    const auto loaded = Dataset::load(path, dataset.root());
    ASSERT_TRUE(loaded.ok());
    EXPECT_TRUE(std::ranges::equal(loaded->tokens(), dataset.tokens()));
    EXPECT_EQ(loaded->vocabulary(), 300u);
    const auto other = Dataset::load(path, Digest{});
    EXPECT_EQ(other.error().code, ErrorCode::kMismatch);
    EXPECT_NE(other.error().message.find(path.string()), std::string::npos);
    EXPECT_EQ(Dataset::load(dir.path() / "absent", {}).error().code, ErrorCode::kNotFound);
}

TEST(Dataset, EveryTruncationAndExtensionIsMalformed) {
    Bytes file = hundred_tokens().encode();
    for (std::size_t size = 0; size < file.size(); ++size)
        EXPECT_EQ(Dataset::decode(ByteView(file).first(size), {}).error().code,
                  ErrorCode::kMalformed)
            << size;
    file.push_back(0);
    EXPECT_EQ(Dataset::decode(file, {}).error().code, ErrorCode::kMalformed);
}

TEST(Dataset, EveryAlteredByteIsAnErrorOrAnotherRoot) {
    const Dataset dataset = hundred_tokens();
    const Bytes file = dataset.encode();
    for (std::size_t i = 0; i < file.size(); ++i) {
        Bytes altered = file;
        altered[i] ^= 0x40;
        const auto decoded = Dataset::decode(altered, dataset.root());
        // The vocabulary bounds the tokens but is not part of them.
        const bool vocabulary_grew = i >= 8 && i < 12 && decoded.ok();
        EXPECT_TRUE(!decoded.ok() || vocabulary_grew) << i;
    }
}

TEST(Dataset, AHugeDeclaredCountIsMalformedNotAnAllocation) {
    Bytes file = hundred_tokens().encode();
    for (std::size_t i = 12; i < 20; ++i)
        file[i] = 0xff;
    EXPECT_EQ(Dataset::decode(file, {}).error().code, ErrorCode::kMalformed);
    file[12] = 0x80;  // 2 * count wraps around to the true size
    for (std::size_t i = 13; i < 19; ++i)
        file[i] = 0;
    file[19] = 105;
    EXPECT_EQ(Dataset::decode(file, {}).error().code, ErrorCode::kMalformed);
}

TEST(Dataset, RefusesNoTokensAndTokensOutsideTheVocabulary) {
    EXPECT_EQ(Dataset::build_from_text({}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(Dataset::from_tokens({1, 5}, 5).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(Dataset::from_tokens({1}, 0).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(Dataset::from_tokens({1}, 65537).error().code, ErrorCode::kOutOfRange);
}

TEST(Dataset, TheLastTenthValidates) {
    const Dataset dataset = hundred_tokens();
    EXPECT_EQ(dataset.tokens(Split::kTrain).size(), 95u);
    ASSERT_EQ(dataset.tokens(Split::kValidation).size(), 10u);
    EXPECT_EQ(dataset.tokens(Split::kValidation).front(), 95);
}

TEST(Dataset, WindowsCoverTheSplitAndNothingElse) {
    const Dataset dataset = hundred_tokens();
    EXPECT_EQ(dataset.window_count(Split::kTrain, 33).value(), 63u);
    const auto last = dataset.window(Split::kTrain, 62, 33);
    ASSERT_TRUE(last.ok());
    EXPECT_EQ(last->front(), 62);
    EXPECT_EQ(last->back(), 94);
    EXPECT_EQ(dataset.window(Split::kTrain, 63, 33).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(dataset.window(Split::kValidation, 0, 10)->front(), 95);
}

TEST(Dataset, ATextShorterThanOneWindowSaysSo) {
    const auto dataset = Dataset::build_from_text(as_bytes("short text")).value();
    const Error error = dataset.window_count(Split::kTrain, 65).error();
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message,
              "the text is too short: its training part has 9 tokens, one window needs 65");
    EXPECT_EQ(dataset.window_count(Split::kTrain, 0).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(dataset.window(Split::kValidation, 0, 2).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::blob
