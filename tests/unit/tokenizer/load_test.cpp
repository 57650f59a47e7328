// What a path may name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/common/file.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "must.hpp"
#include "small_tokenizer.hpp"
#include "temporary_folder.hpp"

namespace gym::tokenizer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::must;

class Load : public ::testing::Test {
  protected:
    void SetUp() override { fs::create_directory(place_ / "tiny"); }
    fs::path write(const std::string& name, const std::string& text) const {
        must(write_file_atomic(place_ / name, as_bytes(text)));
        return place_ / name;
    }
    static std::string small() {
        return boost::json::serialize(testing::small_tokenizer_json(testing::small_merges()));
    }
    static void expect_refusal(const fs::path& path, ErrorCode code, const std::string& cause) {
        const auto tokenizer = Tokenizer::load(path);
        ASSERT_FALSE(tokenizer.ok()) << path;
        EXPECT_EQ(tokenizer.error().code, code) << tokenizer.error().message;
        EXPECT_THAT(tokenizer.error().message, HasSubstr(cause));
        EXPECT_THAT(tokenizer.error().message, HasSubstr(path.string()));
    }
    testing::TemporaryFolder place_;
};

TEST_F(Load, AFileAndItsFolderAreTheSameTokenizer) {
    const auto file = write("tiny/tokenizer.json", small());
    const auto by_file = must(Tokenizer::load(file)),
               by_folder = must(Tokenizer::load(place_ / "tiny"));
    EXPECT_EQ(by_file.root(), by_folder.root());
    EXPECT_EQ(by_file.name(), "tiny");
    EXPECT_EQ(by_folder.name(), "tiny");
    EXPECT_EQ(must(Tokenizer::load(write("mine.json", small()))).name(), "mine");
}

TEST_F(Load, TheConfigurationBesideItNamesTheEndOfText) {
    auto json = testing::small_tokenizer_json(testing::small_merges());
    json["added_tokens"].as_array().push_back(
        boost::json::object{{"id", 266}, {"content", "<stop>"}, {"special", true}});
    write("tiny/tokenizer.json", boost::json::serialize(json));
    EXPECT_EQ(must(Tokenizer::load(place_ / "tiny")).end_of_text(), 265U);
    const auto before = must(Tokenizer::load(place_ / "tiny")).root();
    write("tiny/tokenizer_config.json", R"({"eos_token": "<stop>"})");
    const auto tokenizer = must(Tokenizer::load(place_ / "tiny"));
    EXPECT_EQ(tokenizer.end_of_text(), 266U);
    EXPECT_EQ(tokenizer.root(), before);
    write("tiny/tokenizer_config.json", "{");
    expect_refusal(place_ / "tiny", ErrorCode::kMalformed, "tokenizer_config.json");
}

TEST_F(Load, TheFilesOfAnExportAreThoseThatWereRead) {
    write("tiny/tokenizer.json", small());
    write("tiny/special_tokens_map.json", "{}");
    write("tiny/model.safetensors", "not a file of the tokenizer");
    const auto tokenizer = must(Tokenizer::load(place_ / "tiny"));
    std::vector<std::string> names;
    for (const TokenizerFile& file : tokenizer.files())
        names.push_back(file.name);
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("tokenizer.json", "special_tokens_map.json",
                                                       "tokenizer_config.json"));
    const auto text = small();
    EXPECT_EQ(tokenizer.files().front().bytes, Bytes(text.begin(), text.end()));
}

TEST_F(Load, WhatIsNotATokenizerIsRefusedWithWhatToDo) {
    expect_refusal(place_ / "nothing", ErrorCode::kNotFound, "nothing");
    expect_refusal(place_ / "tiny", ErrorCode::kNotFound, "no tokenizer.json");
    expect_refusal(write("a.model", "\x0a\x0e\x0a\x05<unk>"), ErrorCode::kInvalidArgument,
                   "--sentencepiece");
    expect_refusal(write("empty.json", ""), ErrorCode::kMalformed, "cut off");
    expect_refusal(write("mine.tiktoken", "IQ== 0\n"), ErrorCode::kInvalidArgument, "--encoding");
    expect_refusal(write("gpt2.tiktoken", "IQ== 0\n"), ErrorCode::kInvalidArgument, "1 ranks");
    write("tiny/a.tiktoken", "");
    write("tiny/b.tiktoken", "");
    expect_refusal(place_ / "tiny", ErrorCode::kInvalidArgument, "several");
}

TEST_F(Load, AFileAboveTheLimitIsRefusedBeforeItIsRead) {
    const auto file = write("large.json", "{");
    fs::resize_file(file, kTokenizerFileBytesMax + 1);
    expect_refusal(file, ErrorCode::kOutOfRange, "large.json");
}

}  // namespace
}  // namespace gym::tokenizer
