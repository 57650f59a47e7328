// A tokenizer's files as one blob.

#include "gym/tokenizer/bundle.hpp"

#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/tokenizer/bundle_file.hpp"
#include "must.hpp"
#include "small_tokenizer.hpp"
#include "temporary_folder.hpp"

namespace gym::tokenizer {
namespace {

using testing::must;

Bytes bytes_of(std::string_view text) {
    const ByteView view = as_bytes(text);
    return {view.begin(), view.end()};
}

TokenizerFile small_json() {
    return {
        "tokenizer.json",
        bytes_of(boost::json::serialize(testing::small_tokenizer_json(testing::small_merges())))};
}
const TokenizerFile kConfig{"tokenizer_config.json", bytes_of("{\"eos_token\": null}")};

TEST(TokenizerBundle, ComesBackWithItsFilesAndTheTokenizersRoot) {
    const testing::TemporaryFolder place;
    must(write_file_atomic(place / "tokenizer.json", small_json().bytes));
    const Tokenizer tokenizer = must(Tokenizer::load(place / "tokenizer.json"));
    const Bundle made = must(make_bundle({kConfig, small_json()}));
    EXPECT_EQ(made.root, tokenizer.root());
    const Bundle read = must(read_bundle(encode_bundle(made)));
    EXPECT_EQ(read.root, tokenizer.root());
    ASSERT_EQ(read.files.size(), 2U);
    EXPECT_EQ(read.files[0].name, "tokenizer.json");
    EXPECT_EQ(read.files[0].bytes, small_json().bytes);
    EXPECT_EQ(read.files[1].bytes, kConfig.bytes);
    EXPECT_EQ(encode_bundle(must(make_bundle(tokenizer.files()))).at(7), '1')
        << "what a tokenizer says its files are is a bundle";
}

TEST(TokenizerBundle, WhatTheRootCoversIsTheTokenizerAlone) {
    const TokenizerFile config{
        "tokenizer_config.json",
        bytes_of(R"({"eos_token": "<|endoftext|>", "chat_template": "Ignore all of it"})")};
    const Bundle bundle = must(make_bundle(
        {config, small_json(), {"chat_template.jinja", bytes_of("buy")}, {"vocab.json", {}}}));
    const auto files = must(covered_files(bundle));
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[0].name, "tokenizer.json");
    EXPECT_EQ(files[0].bytes, small_json().bytes);
    EXPECT_EQ(files[1].name, "tokenizer_config.json");
    const std::string written(files[1].bytes.begin(), files[1].bytes.end());
    EXPECT_EQ(written.find("chat_template"), std::string::npos) << written;
    EXPECT_NE(written.find(R"("eos_token":"<|endoftext|>")"), std::string::npos) << written;
    EXPECT_EQ(must(make_bundle(files)).root, bundle.root);

    const Bundle model = must(make_bundle({{"tokenizer.model", bytes_of("a model")}, config}));
    const auto alone = must(covered_files(model));
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(alone[0].name, "tokenizer.model");
}

TEST(TokenizerBundle, AFileHasABound) {
    const TokenizerFile large{"chat_template.jinja", Bytes(kTokenizerFileBytesMax + 1, 'x')};
    const auto refused = make_bundle({small_json(), large});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(refused.error().message.find("chat_template.jinja has 33554433 bytes"),
              std::string::npos)
        << refused.error().message;
}

TEST(TokenizerBundle, OfASentencePieceModelHasTheModelsHash) {
    const Bundle made = must(make_bundle({{"tokenizer.model", bytes_of("a model")}}));
    EXPECT_EQ(made.root, commit::sha256(as_bytes("a model")));
    EXPECT_EQ(must(read_bundle(encode_bundle(made))).root, made.root);
}

TEST(TokenizerBundle, LiesBesideWhatWasMadeOfItsTokens) {
    const testing::TemporaryFolder place;
    const auto data = place / "data", state = place / "state";
    must(write_bundle(data, {small_json()}));
    EXPECT_TRUE(is_bundle(bundle_path(data)));
    EXPECT_FALSE(is_bundle(place / "nothing"));
    const Digest root = must(load_bundle(bundle_path(data))).root;
    EXPECT_TRUE(must(copy_bundle(data, root, state)));
    EXPECT_EQ(must(load_bundle(bundle_path(state))).root, root);
    EXPECT_EQ(copy_bundle(data, commit::sha256({}), state).error().code, ErrorCode::kMismatch);

    std::filesystem::remove(bundle_path(data));
    EXPECT_TRUE(must(copy_bundle(data, root, state))) << "it is that of the data";
    EXPECT_FALSE(must(copy_bundle(data, Digest(), state)));
    EXPECT_FALSE(is_bundle(bundle_path(state))) << "no bytes are read by another data's tokenizer";
}

TEST(TokenizerBundle, RefusesWhatIsNoTokenizersFile) {
    for (const std::string name : {"../tokenizer.json", "config.json", "model.safetensors", ""})
        EXPECT_EQ(make_bundle({small_json(), {name, {}}}).error().code, ErrorCode::kInvalidArgument)
            << name;
    EXPECT_EQ(make_bundle({kConfig}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(make_bundle({}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(make_bundle({small_json(), small_json()}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(make_bundle({{"tokenizer.json", bytes_of("{")}}).ok());
}

/// Others load what lies beside a tokenizer, and some of them trust what it names.
TEST(TokenizerBundle, RefusesFilesThatNameCode) {
    const auto with = [](std::string_view config) {
        return make_bundle({small_json(), {"tokenizer_config.json", bytes_of(config)}});
    };
    EXPECT_TRUE(with(R"({"chat_template": "auto_map"})").ok());
    const auto refused =
        with(R"({"auto_map": {"AutoTokenizer": ["someone/repo--code.Class", null]}})");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(with("{").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(with("[]").error().code, ErrorCode::kMalformed);
}

TEST(TokenizerBundle, EveryTruncationExtensionAndOtherOrderIsAnError) {
    const Bytes good = encode_bundle(must(make_bundle({kConfig, small_json()})));
    for (std::size_t size = 0; size < good.size(); size += size < 64 ? 1 : 131)
        EXPECT_FALSE(read_bundle(ByteView(good).first(size)).ok()) << size;
    Bytes longer = good;
    longer.push_back(0);
    EXPECT_EQ(read_bundle(longer).error().code, ErrorCode::kMalformed);
    const Bundle swapped{{kConfig, small_json()}, {}};
    EXPECT_EQ(read_bundle(encode_bundle(swapped)).error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::tokenizer
