#include "gym/blob/dataset_writer.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::blob {
namespace {

using testing::must;

std::vector<std::uint16_t> some_tokens(std::size_t count) {
    std::vector<std::uint16_t> out(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = static_cast<std::uint16_t>(i * 2654435761U >> 7) % 50'000;
    return out;
}

class DatasetWriterTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder place_;
    const std::filesystem::path part_ = place_ / "part", final_ = place_ / "tokens";
};

TEST_F(DatasetWriterTest, AStreamedFileIsTheOneThatADatasetEncodes) {
    // Lengths around a chunk (512 tokens) and around the writer's own parts (65,536).
    for (const std::size_t count : {1U, 511U, 512U, 513U, 65'535U, 65'537U, 200'001U}) {
        const auto tokens = some_tokens(count);
        const auto dataset = must(Dataset::from_tokens(tokens, 50'000));
        auto writer = must(DatasetWriter::create(part_, 50'000));
        for (std::size_t at = 0; at < count; at += 777)
            must(writer.append(
                std::span(tokens).subspan(at, std::min<std::size_t>(777, count - at))));
        const auto summary = must(writer.finish(final_));
        EXPECT_EQ(summary.root, dataset.root()) << count;
        EXPECT_EQ(must(read_file(final_)), dataset.encode()) << count;
        EXPECT_EQ(summary.tokens, count);
        EXPECT_EQ(summary.train_tokens(), dataset.tokens(Split::kTrain).size());
        EXPECT_EQ(must(scan_dataset(final_)), summary);
        EXPECT_FALSE(std::filesystem::exists(part_));
    }
}

TEST_F(DatasetWriterTest, ADescribedFileIsTheOneThatADatasetEncodes) {
    const Digest tokenizer = commit::sha256(as_bytes("a tokenizer"));
    for (const Tokenization& as :
         {Tokenization{50'000, tokenizer}, Tokenization{128'256, tokenizer}}) {
        std::vector<std::uint32_t> tokens(70'001);
        for (std::size_t i = 0; i < tokens.size(); ++i)
            tokens[i] = static_cast<std::uint32_t>(i * 2654435761U >> 7) % as.vocabulary;
        const auto dataset = must(Dataset::from_tokens(tokens, as));
        {
            auto writer = must(DatasetWriter::create(part_, as));
            must(writer.append(std::span<const std::uint32_t>(tokens).first(66'000)));
        }
        EXPECT_EQ(DatasetWriter::resume(part_, {as.vocabulary, {}}, 9).error().code,
                  ErrorCode::kMalformed);
        auto writer = must(DatasetWriter::resume(part_, as, 65'000));
        must(writer.append(std::span<const std::uint32_t>(tokens).subspan(65'000)));
        const auto summary = must(writer.finish(final_));
        EXPECT_EQ(summary.root, dataset.root());
        EXPECT_EQ(summary.tokenization(), as);
        EXPECT_EQ(must(read_file(final_)), dataset.encode());
        EXPECT_EQ(summary.file_bytes, dataset.encode().size());
        EXPECT_EQ(must(scan_dataset(final_)), summary);
        EXPECT_EQ(must(peek_dataset(final_)), dataset.header());
    }
}

TEST_F(DatasetWriterTest, PartsThatAreTooShortForAWindowAreNamedAsADatasetNamesThem) {
    const auto dataset = must(Dataset::from_tokens(some_tokens(95), 50'000));
    const DatasetSummary summary{.tokens = 95};
    for (const std::uint64_t length : {9U, 10U, 87U}) {
        auto counted = dataset.window_count(Split::kTrain, length);
        if (counted.ok()) counted = dataset.window_count(Split::kValidation, length);
        const Status checked = summary.check_windows(length);
        ASSERT_EQ(checked.ok(), counted.ok()) << length;
        if (!checked.ok()) {
            EXPECT_EQ(checked.error(), counted.error());
        }
    }
}

TEST_F(DatasetWriterTest, AResumedFileDropsWhatIsBehindItsTokens) {
    const auto tokens = some_tokens(70'000);
    {
        auto writer = must(DatasetWriter::create(part_, 50'000));
        must(writer.append(tokens));  // of which only 60,001 count
    }
    auto writer = must(DatasetWriter::resume(part_, {50'000, {}}, 60'001));
    EXPECT_EQ(writer.tokens(), 60'001U);
    must(writer.append(std::span(tokens).subspan(60'001)));
    EXPECT_EQ(must(writer.finish(final_)).root, must(Dataset::from_tokens(tokens, 50'000)).root());
}

TEST_F(DatasetWriterTest, AFileThatCannotBeContinuedIsRefused) {
    {
        auto writer = must(DatasetWriter::create(part_, 300));
        must(writer.append(std::vector<std::uint16_t>{1, 2, 3}));
    }
    EXPECT_EQ(DatasetWriter::resume(part_, {300, {}}, 4).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(DatasetWriter::resume(part_, {301, {}}, 3).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(DatasetWriter::resume(final_, {300, {}}, 0).error().code, ErrorCode::kNotFound);
}

TEST_F(DatasetWriterTest, TokensOutsideTheVocabularyAreNamedAndNotWritten) {
    EXPECT_EQ(DatasetWriter::create(part_, 65'537).error().code, ErrorCode::kOutOfRange);
    auto writer = must(DatasetWriter::create(part_, 300));
    must(writer.append(std::vector<std::uint16_t>{7}));
    const Status refused = writer.append(std::vector<std::uint16_t>{1, 300});
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(refused.error().message.find("token 2 is 300"), std::string::npos);
    EXPECT_EQ(writer.tokens(), 1U);
}

TEST_F(DatasetWriterTest, AFullDiskIsSaidWithARemedy) {
    std::FILE* const full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr) << "Linux has it";
    std::fclose(full);
    const auto writer = DatasetWriter::create("/dev/full", 256);
    ASSERT_FALSE(writer.ok());
    EXPECT_EQ(writer.error().code, ErrorCode::kIo);
    EXPECT_NE(writer.error().message.find("No space left"), std::string::npos);
    EXPECT_NE(writer.error().message.find("make room"), std::string::npos);
}

TEST_F(DatasetWriterTest, ADamagedFileIsRefusedByTheScanAsByTheLoad) {
    const Bytes good = must(Dataset::from_tokens(some_tokens(1000), 50'000)).encode();
    const auto expect_alike = [&](const Bytes& file) {
        must(write_file_atomic(final_, file));
        const auto scanned = scan_dataset(final_);
        const auto loaded = Dataset::load(final_, std::nullopt);
        ASSERT_FALSE(scanned.ok());
        EXPECT_EQ(scanned.error(), loaded.error());
    };
    expect_alike({});
    expect_alike(Bytes(good.begin(), good.end() - 1));
    Bytes foreign = good;
    foreign[0] ^= 1;
    expect_alike(foreign);
    Bytes beyond = good;
    beyond[20 + 2 * 500 + 1] = 0xff;
    expect_alike(beyond);
}

}  // namespace
}  // namespace gym::blob
