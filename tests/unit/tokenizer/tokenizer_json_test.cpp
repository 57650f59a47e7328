#include "tokenizer_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bounded_json.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "must.hpp"
#include "patterns.hpp"
#include "small_tokenizer.hpp"

namespace gym::tokenizer {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::must;
using testing::small_merges;
using testing::small_tokenizer_json;

json::object small() {
    return small_tokenizer_json(small_merges());
}
Result<Definition> read(const json::object& file) {
    return read_tokenizer_json(json::serialize(file));
}
json::object& model_of(json::object& file) {
    return file["model"].as_object();
}

/// Refused with `code`, and the message has `cause`.
void expect_refusal(const json::object& file, ErrorCode code, const std::string& cause) {
    const auto definition = read(file);
    ASSERT_FALSE(definition.ok()) << cause;
    EXPECT_EQ(definition.error().code, code) << definition.error().message;
    EXPECT_THAT(definition.error().message, HasSubstr(cause));
}

TEST(TokenizerJson, TokensMergesAndSpecialTokensAreRead) {
    const Definition definition = must(read(small()));
    EXPECT_EQ(definition.tokens.size(), 265U);
    EXPECT_EQ(definition.tokens[0], std::string(1, '\0'));
    EXPECT_EQ(definition.tokens[' '], " ");
    EXPECT_EQ(definition.tokens[264], " world");
    EXPECT_EQ(definition.merges.size(), 9U);
    EXPECT_EQ(definition.merges[0], (Merge{'h', 'e', 256}));
    EXPECT_THAT(definition.added, ElementsAre(AddedToken{265, "<|endoftext|>", true, false}));
    EXPECT_EQ(definition.end_of_text, 265U);
    EXPECT_EQ(definition.vocabulary(), 266U);
    EXPECT_THAT(definition.steps, ElementsAre(Step{Step::Kind::kSplit, std::string(kGpt2Pattern)}));
}

/// Of "[[0],[0],...]", an element of 4 bytes takes 80 of memory.
std::string many_lists(std::size_t bytes) {
    std::string out = R"({"x":[[0])";
    out.reserve(bytes);
    while (out.size() + 6 < bytes)
        out += ",[0]";
    return out + "]}";
}

TEST(TokenizerJson, WhatTakesTooMuchMemoryIsRefusedWhileItIsRead) {
    EXPECT_EQ(BoundedJson(R"({"a": 1})", "it", 1 << 20).root().at("a"), 1);
    try {
        const BoundedJson read(many_lists(100'000), "it", 1 << 20);
        FAIL() << "read";
    } catch (const JsonTooLarge& error) {
        EXPECT_STREQ(error.what(),
                     "it takes more than 1.0 MiB of memory when it is read: no tokenizer needs so "
                     "much");
    }
    // What has no values does not escape, either: the parser's own memory counts.
    EXPECT_THROW(BoundedJson(R"({"x": ")" + std::string(3 << 20, 'a') + "\"}", "it", 1 << 20),
                 JsonTooLarge);
    const std::string hostile = many_lists(kTokenizerFileBytesMax);
    for (const auto& result :
         {read_tokenizer_json(hostile).error(), read_end_of_text(hostile).error(),
          check_names_no_code(hostile).error()}) {
        EXPECT_EQ(result.code, ErrorCode::kOutOfRange);
        EXPECT_THAT(result.message, HasSubstr("takes more than 256.0 MiB of memory"));
    }
}

TEST(TokenizerJson, MergesMayBeTextsOrPairs) {
    json::object pairs = small();
    for (json::value& merge : model_of(pairs)["merges"].as_array()) {
        const std::string text(merge.as_string());
        const std::size_t space = text.find(' ');
        merge = {text.substr(0, space), text.substr(space + 1)};
    }
    EXPECT_EQ(root_of(must(read(pairs))), root_of(must(read(small()))));
}

TEST(TokenizerJson, LayoutAndOrderOfMembersDoNotChangeTheRoot) {
    json::object turned;
    const json::object file = small();
    for (auto at = file.end(); at != file.begin();)
        turned.insert(*--at);
    ASSERT_NE(json::serialize(turned), json::serialize(file));
    EXPECT_EQ(root_of(must(read(turned))), root_of(must(read(file))));
}

TEST(TokenizerJson, EverythingThatChangesTokensChangesTheRoot) {
    std::vector<Digest> roots{root_of(must(read(small())))};
    const auto add = [&](const auto& change) {
        json::object file = small();
        change(file);
        roots.push_back(root_of(must(read(file))));
    };
    add([](json::object& file) { file["normalizer"] = {{"type", "NFC"}}; });
    add([](json::object& file) { model_of(file)["ignore_merges"] = true; });
    add([](json::object& file) { model_of(file)["merges"].as_array().pop_back(); });
    add([](json::object& file) {
        auto& merges = model_of(file)["merges"].as_array();
        std::swap(merges[0], merges[1]);
    });
    add([](json::object& file) { file["added_tokens"].as_array().clear(); });
    add([](json::object& file) { file["pre_tokenizer"].as_object()["add_prefix_space"] = true; });
    add([](json::object& file) { file["pre_tokenizer"].as_object()["use_regex"] = false; });
    add([](json::object& file) {
        auto& vocabulary = model_of(file)["vocab"].as_object();
        std::swap(vocabulary["a"], vocabulary["b"]);
    });
    roots.push_back(
        root_of(must(read(small_tokenizer_json(small_merges(), std::string(kLlama3Pattern))))));
    std::ranges::sort(roots);
    EXPECT_TRUE(std::ranges::adjacent_find(roots) == roots.end());
}

TEST(TokenizerJson, PreTokenizersOfKnownModelsAreUnderstood) {
    json::object file = small();
    const json::object byte_level{
        {"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
    const json::object split{{"type", "Split"},
                             {"pattern", {{"Regex", std::string(kLlama3Pattern)}}},
                             {"behavior", "Removed"},
                             {"invert", true}};
    const json::object literal{
        {"type", "Split"}, {"pattern", {{"String", "a.b"}}}, {"behavior", "Isolated"}};
    const json::object digits{{"type", "Digits"}, {"individual_digits", true}};
    file["pre_tokenizer"] = {{"type", "Sequence"},
                             {"pretokenizers", {split, literal, digits, byte_level}}};
    EXPECT_THAT(
        must(read(file)).steps,
        ElementsAre(Step{Step::Kind::kSplit, std::string(kLlama3Pattern)},
                    Step{Step::Kind::kSplit, R"(a\.b)"}, Step{Step::Kind::kSplit, R"(\p{N})"},
                    Step{Step::Kind::kPrefixSpace, ""}));
}

TEST(TokenizerJson, OtherKindsOfTokenizersAreRefusedByName) {
    const auto refuse = [](const auto& change, const std::string& cause) {
        json::object file = small();
        change(file);
        expect_refusal(file, ErrorCode::kInvalidArgument, cause);
        expect_refusal(file, ErrorCode::kInvalidArgument, "byte-level BPE");
    };
    for (const char* const type : {"WordPiece", "Unigram", "WordLevel"})
        refuse([&](json::object& file) { model_of(file)["type"] = type; },
               std::string("model is ") + type);
    refuse([](json::object& file) { model_of(file)["byte_fallback"] = true; }, "byte_fallback");
    refuse([](json::object& file) { model_of(file)["end_of_word_suffix"] = "</w>"; },
           "end_of_word_suffix");
    refuse([](json::object& file) { model_of(file)["dropout"] = 0.1; }, "dropout");
    refuse(
        [](json::object& file) {
            file["normalizer"] = {{"type", "Lowercase"}};
        },
        "normalizer is Lowercase");
    refuse(
        [](json::object& file) {
            file["normalizer"] = {{"type", "Sequence"},
                                  {"normalizers", {{{"type", "NFC"}}, {{"type", "NFKC"}}}}};
        },
        "normalizer.normalizers[1] is NFKC");
    refuse(
        [](json::object& file) {
            file["pre_tokenizer"] = {{"type", "Metaspace"}};
        },
        "pre_tokenizer is Metaspace");
    refuse([](json::object& file) { file["pre_tokenizer"] = nullptr; }, "without ByteLevel");
    refuse(
        [](json::object& file) {
            file["decoder"] = {{"type", "Metaspace"}};
        },
        "decoder is Metaspace");
    refuse(
        [](json::object& file) {
            file["pre_tokenizer"] = {{"type", "Split"},
                                     {"pattern", {{"String", " "}}},
                                     {"behavior", "MergedWithPrevious"}};
        },
        "MergedWithPrevious");
    refuse(
        [](json::object& file) {
            auto& token = file["added_tokens"].as_array()[0].as_object();
            token["special"] = false;
            token["lstrip"] = true;
        },
        "lstrip");
}

TEST(TokenizerJson, WhatContradictsItselfIsRefusedWithItsPlace) {
    const auto refuse = [](const auto& change, const std::string& cause) {
        json::object file = small();
        change(file);
        expect_refusal(file, ErrorCode::kMalformed, cause);
    };
    const auto vocabulary = [](json::object& file) -> json::object& {
        return model_of(file)["vocab"].as_object();
    };
    refuse([&](json::object& file) { vocabulary(file)["xy"] = 97; }, "two tokens have the id 97");
    refuse([&](json::object& file) { vocabulary(file).erase("z"); },
           "no token stands for the byte \"z\" (7a)");
    refuse([&](json::object& file) { vocabulary(file)["far"] = 5000; }, "ids reach 5000");
    refuse([&](json::object& file) { vocabulary(file)["far"] = 1 << 20; }, "1048576");
    refuse([&](json::object& file) { vocabulary(file)["far"] = -1; }, "-1");
    refuse([&](json::object& file) { vocabulary(file)["far"] = 1.5; }, "whole numbers");
    refuse([&](json::object& file) { vocabulary(file)[""] = 266; }, "token 266 is empty");
    refuse([&](json::object& file) { vocabulary(file)["a b"] = 266; }, "outside the alphabet");
    refuse([](json::object& file) { model_of(file)["merges"].as_array()[1] = "l x"; },
           "model.merges[1] names \"lx\"");
    refuse([](json::object& file) { model_of(file)["merges"].as_array()[1] = "nope l"; },
           "model.merges[1] names \"nope\"");
    refuse([](json::object& file) { model_of(file)["merges"].as_array()[2] = "h e"; }, "merge 2");
    refuse([](json::object& file) { model_of(file)["merges"].as_array()[3] = "hell"; },
           "model.merges[3]: expected two tokens");
    refuse([](json::object& file) { model_of(file)["merges"].as_array()[3] = 7; },
           "model.merges[3]");
    refuse([](json::object& file) { model_of(file).erase("merges"); }, "merges");
    refuse([](json::object& file) { model_of(file)["vocab"] = json::array{}; }, "model.vocab");
    refuse([](json::object& file) { file.erase("model"); }, "no \"model\"");
    refuse([](json::object& file) { file["added_tokens"].as_array()[0].as_object()["id"] = 97; },
           "id 97 is \"a\"");
    refuse(
        [](json::object& file) {
            file["added_tokens"].as_array().push_back(
                json::object{{"id", 265}, {"content", "other"}, {"special", true}});
        },
        "both have the id 265");
    refuse(
        [](json::object& file) {
            file["added_tokens"].as_array().push_back(
                json::object{{"id", 266}, {"content", "<|endoftext|>"}, {"special", true}});
        },
        "there twice");
}

TEST(TokenizerJson, AFileThatIsCutOffIsRefusedWhereverItIsCut) {
    const std::string text = json::serialize(small());
    for (std::size_t size = 0; size < text.size(); size += 7)
        ASSERT_FALSE(read_tokenizer_json(text.substr(0, size)).ok()) << size;
    EXPECT_THAT(read_tokenizer_json(text.substr(0, 1000)).error().message, HasSubstr("cut off"));
}

TEST(TokenizerJson, ATextOfManyLevelsIsRefused) {
    EXPECT_FALSE(read_tokenizer_json(std::string(100'000, '[')).ok());
}

TEST(TokenizerJson, WhatIsWrittenReadsAsTheSame) {
    json::object file = small_tokenizer_json(small_merges(), std::string(kO200kPattern));
    file["normalizer"] = {{"type", "NFC"}};
    model_of(file)["ignore_merges"] = true;
    // A gap in the ids, and a text that the alphabet cannot write.
    file["added_tokens"].as_array().push_back(json::object{
        {"id", 270}, {"content", "<\u00fcber here>"}, {"special", false}, {"normalized", true}});
    const Definition definition = must(read(file));
    const Definition again = must(read_tokenizer_json(write_tokenizer_json(definition)));
    EXPECT_EQ(root_of(again), root_of(definition));
    EXPECT_EQ(again.added, definition.added);
    EXPECT_EQ(must(read_end_of_text(write_tokenizer_config(definition))), "<|endoftext|>");
}

TEST(TokenizerJson, ATokenOfTheConfigurationMayBeATextOrAnObject) {
    EXPECT_EQ(must(read_end_of_text(R"({"eos_token": "<e>"})")), "<e>");
    EXPECT_EQ(must(read_end_of_text(R"({"eos_token": {"content": "<e>"}})")), "<e>");
    EXPECT_EQ(must(read_end_of_text(R"({"eos_token": null})")), "");
    EXPECT_EQ(must(read_end_of_text("{}")), "");
    EXPECT_FALSE(read_end_of_text(R"({"eos_token": 7})").ok());
    EXPECT_FALSE(read_end_of_text("[").ok());
}

}  // namespace
}  // namespace gym::tokenizer
