#include "job/job_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/tokenizer/bundle_file.hpp"
#include "small_tokenizer.hpp"
#include "temporary_folder.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;
using gym::testing::small_merges;
using gym::testing::small_tokenizer_json;

class JobDataTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ::setenv("GYM_HOME", (place_ / "home").c_str(), 1);
        fs::create_directories(place_ / "corpus");
        fs::create_directories(place_ / "weights");
        write("corpus/a.txt", "hello world, hello");
        write("corpus/b.jsonl", "{\"text\":\"world\"}\n{\"text\":\"world\"}\n");
        write("text.txt", "hello world");
        write("weights/tokenizer.json",
              boost::json::serialize(small_tokenizer_json(small_merges())));
    }
    void TearDown() override { ::unsetenv("GYM_HOME"); }
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file_atomic(place_ / name, as_bytes(text)).ok());
    }
    static TextReading reading(std::uint32_t vocabulary, const std::string& tokenizer = "") {
        return {
            .tokenizer = {tokenizer, ""}, .beside = "", .vocabulary = vocabulary, .quiet = true};
    }
    std::string refusal(const std::string& name, const TextReading& with) {
        const auto loaded = load_job_data(place_ / name, with);
        return loaded.ok() ? "accepted" : loaded.error().message;
    }
    std::string tokenizer() const { return (place_ / "weights").string(); }
    std::ptrdiff_t kept() const {
        const fs::path folder = place_ / "home/datasets";
        if (!fs::exists(folder)) return 0;
        return std::count_if(fs::directory_iterator(folder), fs::directory_iterator(),
                             [](const auto& at) { return at.path().extension() == ".tokens"; });
    }

    gym::testing::TemporaryFolder place_;
};

TEST_F(JobDataTest, ATextIsItsBytesOrTheTokensOfANamedTokenizer) {
    const auto bytes = load_job_data(place_ / "text.txt", reading(256));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_EQ(bytes->tokens.dataset.tokens, 11U);
    EXPECT_EQ(bytes->tokens.dataset.vocabulary, 256U);
    const auto words = load_job_data(place_ / "text.txt", reading(266, tokenizer()));
    ASSERT_TRUE(words.ok()) << words.error().message;
    EXPECT_EQ(words->tokens.dataset.tokens, 2U);
    EXPECT_EQ(words->tokens.dataset.vocabulary, 266U);
    EXPECT_EQ(kept(), 0) << "nothing was built";
}

TEST_F(JobDataTest, AFolderIsBuiltOnceForAsLongAsItStaysAsItIs) {
    const auto built = load_job_data(place_ / "corpus", reading(256));
    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_FALSE(built->tokens.of_text) << "what was built stays on the disk";
    const auto of_file =
        blob::Dataset::load(built->token_file.string(), built->tokens.dataset.root).value();
    const std::string whole = "hello world, hello\n\nworld";  // one duplicate is dropped
    EXPECT_EQ(std::string(of_file.tokens().begin(), of_file.tokens().end()), whole);
    EXPECT_EQ(load_job_data(place_ / "corpus", reading(256))->tokens.dataset.root,
              built->tokens.dataset.root);
    EXPECT_EQ(kept(), 1);
    EXPECT_NE(load_job_data(place_ / "corpus", reading(266, tokenizer()))->tokens.dataset.root,
              built->tokens.dataset.root);
    EXPECT_EQ(kept(), 2) << "another tokenizer";
    write("corpus/c.md", "more");
    EXPECT_NE(load_job_data(place_ / "corpus", reading(256))->tokens.dataset.root,
              built->tokens.dataset.root);
    EXPECT_EQ(kept(), 3) << "another folder";
    const auto records = load_job_data(place_ / "corpus/b.jsonl", reading(256));
    ASSERT_TRUE(records.ok()) << records.error().message;
    EXPECT_EQ(records->tokens.dataset.tokens, 5U) << "no JSON is trained on";
}

TEST_F(JobDataTest, TheTokenizerBesideTheWeightsIsTheModels) {
    TextReading with = reading(300);
    with.beside = tokenizer();
    EXPECT_EQ(load_job_data(place_ / "text.txt", with)->tokens.dataset.vocabulary, 266U);
    with.vocabulary = 256;
    EXPECT_EQ(load_job_data(place_ / "text.txt", with)->tokens.dataset.vocabulary, 256U)
        << "a model of bytes has none";
    with.vocabulary = 300;
    write("weights/tokenizer.json", "{}");
    EXPECT_NE(refusal("text.txt", with).find("(--tokenizer names another)"), std::string::npos)
        << refusal("text.txt", with);
}

TEST_F(JobDataTest, OtherTokensThanTheModelsAreRefused) {
    EXPECT_NE(refusal("text.txt", reading(256, tokenizer()))
                  .find("has a vocabulary of 266 tokens, the model one of 256: use data of the"),
              std::string::npos)
        << refusal("text.txt", reading(256, tokenizer()));
    const auto words = load_job_data(place_ / "text.txt", reading(266, tokenizer())).value();
    ASSERT_TRUE(write_file_atomic(place_ / "words", words.tokens.of_text->encode()).ok());
    EXPECT_FALSE(load_job_data(place_ / "words", reading(300))->tokens.of_text);
    EXPECT_EQ(refusal("words", reading(300)), "accepted");
    EXPECT_EQ(refusal("words", reading(300, tokenizer())), "accepted");
    EXPECT_NE(refusal("words", reading(265)).find("/words has a vocabulary of 266"),
              std::string::npos);
    EXPECT_NE(
        refusal("words", reading(300, "bytes"))
            .find("was made by the tokenizer " + words.tokens.dataset.tokenizer.hex() + ", not by"),
        std::string::npos)
        << refusal("words", reading(300, "bytes"));
    // Even where the vocabularies are alike.
    const Digest other = commit::sha256(as_bytes(std::string("other")));
    const std::vector<std::uint32_t> tokens(words.tokens.of_text->tokens().begin(),
                                            words.tokens.of_text->tokens().end());
    const auto like = blob::Dataset::from_tokens(tokens, blob::Tokenization{266, other}).value();
    ASSERT_TRUE(write_file_atomic(place_ / "words", like.encode()).ok());
    EXPECT_NE(refusal("words", reading(300, tokenizer()))
                  .find("was made by the tokenizer " + other.hex() + ", not by"),
              std::string::npos)
        << refusal("words", reading(300, tokenizer()));
}

TEST_F(JobDataTest, TheTokenizerThatMadeTheTokensLiesBesideThem) {
    for (const char* name : {"text.txt", "corpus"}) {
        const auto data = load_job_data(place_ / name, reading(266, tokenizer()));
        ASSERT_TRUE(data.ok()) << data.error().message;
        const auto files = tokenizer::find_bundle(data->token_file, data->tokens.dataset.tokenizer);
        ASSERT_TRUE(files.ok()) << files.error().message;
        EXPECT_TRUE(files->has_value()) << name;
    }
}

TEST(VocabularyWarning, SpeaksOfBytesForALargeVocabularyAlone) {
    EXPECT_NE(vocabulary_warning(256, 50'257).find("the model has 50,257 tokens"),
              std::string::npos);
    EXPECT_EQ(vocabulary_warning(256, 256), "");
    EXPECT_EQ(vocabulary_warning(256, 260), "");
    EXPECT_EQ(vocabulary_warning(32'000, 50'257), "");
}

}  // namespace
}  // namespace gym::app
