#include "gym/blob/dataset.hpp"

#include <gtest/gtest.h>

#include <set>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
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
    EXPECT_EQ(dataset.tokens()[2], 255U);
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
    EXPECT_EQ(dataset.tokens(Split::kValidation).front(), 95U);
}

TEST(Dataset, WindowsCoverTheSplitAndNothingElse) {
    const Dataset dataset = hundred_tokens();
    EXPECT_EQ(dataset.window_count(Split::kTrain, 33).value(), 63u);
    const auto last = dataset.window(Split::kTrain, 62, 33);
    ASSERT_TRUE(last.ok());
    EXPECT_EQ(last->front(), 62U);
    EXPECT_EQ(last->back(), 94U);
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

// Datasets that name a tokenizer, or have more tokens than 16 bits name.

constexpr std::uint32_t kLlama3 = 128256;
const Digest kTokenizer = commit::sha256(as_bytes("a tokenizer"));

Dataset described(const Tokenization& tokenization) {
    std::vector<std::uint32_t> tokens(600);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<std::uint32_t>(i * 7919 % tokenization.vocabulary);
    return Dataset::from_tokens(tokens, tokenization).value();
}

/// Every pair that has a file of its own.
std::vector<Dataset> described_datasets() {
    return {described({300, kTokenizer}), described({65536, kTokenizer}),
            described({65537, kTokenizer}), described({kLlama3, kTokenizer}),
            described({kLlama3, {}})};
}

TEST(Dataset, ItsRootIsTheTreeOfItsHeadAndItsTokens) {
    for (const Dataset& dataset : described_datasets()) {
        const bool wide = dataset.vocabulary() > 65536;
        commit::Encoder head;
        head.raw(as_bytes("GYMDATA2")).u32(wide ? 4 : 2).u32(dataset.vocabulary()).u32(1024);
        head.u32(0).u64(600).fixed(dataset.tokenizer());
        Bytes body;
        for (const std::uint32_t token : dataset.tokens())
            for (unsigned k = 0; k < (wide ? 4U : 2U); ++k)
                body.push_back(static_cast<std::uint8_t>(token >> (8 * k)));
        const std::uint64_t count = 600;
        const Digest leaves[] = {
            commit::chunk_leaf(head.view()),
            commit::tensor_root(wide ? commit::DType::kU32 : commit::DType::kU16, {&count, 1},
                                body)};
        EXPECT_EQ(dataset.root(), commit::merkle_root(leaves));
        Bytes file = head.take();
        file.insert(file.end(), body.begin(), body.end());
        EXPECT_EQ(dataset.encode(), file);
        const auto decoded = Dataset::decode(file, dataset.root());
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        EXPECT_EQ(decoded->header(), dataset.header());
        EXPECT_TRUE(std::ranges::equal(decoded->tokens(), dataset.tokens()));
    }
}

TEST(Dataset, WithoutATokenizerAndWithFewTokensItIsAPlainFile) {
    EXPECT_EQ(described({300, {}}).encode().at(7), '1');
    EXPECT_EQ(described({65536, {}}).encode().at(7), '1');
    EXPECT_EQ(described({65537, {}}).encode().at(7), '2');
    EXPECT_EQ(described({300, kTokenizer}).encode().at(7), '2');
}

TEST(Dataset, EveryFlippedBitOfADescribedFileIsAnErrorOrAnotherRoot) {
    for (const Dataset& dataset : described_datasets()) {
        const Bytes file = dataset.encode();
        for (std::size_t bit = 0; bit < 8 * std::min<std::size_t>(file.size(), 100); ++bit) {
            Bytes altered = file;
            altered[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
            EXPECT_FALSE(Dataset::decode(altered, dataset.root()).ok()) << bit;
        }
        for (std::size_t size = 0; size < file.size(); size += size < 70 ? 1 : 97)
            EXPECT_EQ(Dataset::decode(ByteView(file).first(size), {}).error().code,
                      ErrorCode::kMalformed)
                << size;
    }
}

TEST(Dataset, AFileWhoseHeadContradictsItselfIsMalformed) {
    const Bytes narrow = described({300, kTokenizer}).encode();
    const auto refused = [&](std::size_t at, std::uint8_t value, const std::string& why) {
        Bytes file = narrow;
        file[at] = value;
        const auto decoded = Dataset::decode(file, {});
        ASSERT_FALSE(decoded.ok()) << why;
        EXPECT_EQ(decoded.error().code, ErrorCode::kMalformed) << why;
        EXPECT_NE(decoded.error().message.find(why), std::string::npos) << decoded.error().message;
    };
    refused(11, 4, "4 bytes a token");
    refused(19, 1, "later version");
    refused(23, 1, "later version");
    Bytes nameless = narrow;
    std::fill_n(nameless.begin() + 32, Digest::kSize, std::uint8_t{0});
    EXPECT_NE(Dataset::decode(nameless, {}).error().message.find("GYMDATA1"), std::string::npos);
}

TEST(Dataset, SameTokensOfAnotherTokenizerOrVocabularyHaveAnotherRoot) {
    const auto root_of = [](const Tokenization& tokenization) {
        return Dataset::from_tokens(std::vector<std::uint32_t>{1, 2, 3}, tokenization)
            .value()
            .root();
    };
    const Digest other = commit::sha256(as_bytes("another tokenizer"));
    const std::set<Digest> roots{root_of({300, {}}),           root_of({300, kTokenizer}),
                                 root_of({301, kTokenizer}),   root_of({300, other}),
                                 root_of({65537, kTokenizer}), root_of({65537, {}}),
                                 root_of({65538, kTokenizer})};
    EXPECT_EQ(roots.size(), 7U);
    EXPECT_EQ(root_of({300, {}}), root_of({301, {}})) << "format 1 leaves the vocabulary out";
}

TEST(Dataset, TokensBeyondTheVocabularyAreNamedAtEveryWidth) {
    for (const std::uint32_t vocabulary : {300U, kLlama3}) {
        const std::vector<std::uint32_t> tokens{1, vocabulary - 1, vocabulary};
        const auto made = Dataset::from_tokens(tokens, Tokenization{vocabulary, kTokenizer});
        EXPECT_EQ(made.error().code, ErrorCode::kOutOfRange);
        EXPECT_NE(made.error().message.find("token 2 is " + std::to_string(vocabulary)),
                  std::string::npos);
    }
    // Not the remainder of 65,536 that 16 bits would keep.
    EXPECT_FALSE(Dataset::from_tokens(std::vector<std::uint32_t>{65536}, Tokenization{5, {}}).ok());
    EXPECT_FALSE(Dataset::from_tokens(std::vector<std::uint32_t>{1},
                                      Tokenization{kVocabularyMax + 1, kTokenizer})
                     .ok());
}

}  // namespace
}  // namespace gym::blob
