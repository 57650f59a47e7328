// `gym tokenizer`, and `--tokenizer` of `gym data build` and `gym generate`.
#include "engine_commands.hpp"
#include "small_tokenizer.hpp"

namespace gym::testing {
namespace {

constexpr const char* kTokenizerModel =
    "batch: 2\n"
    "model: {vocabulary: 266, context: 16, layers: 1, heads: 2, width: 16}\n";

class TokenizerCommands : public EngineCommands {
  protected:
    void SetUp() override {
        EngineCommands::SetUp();
        write_tokenizer(small_tokenizer_json(small_merges()));
    }
    void write_tokenizer(const json::object& file) const {
        std::filesystem::create_directories(place_ / "tok");
        spill(place_ / "tok" / "tokenizer.json", json::serialize(file));
    }
    void expect_refusal(std::vector<std::string> arguments, int exit_code,
                        const std::string& cause) const {
        const Outcome outcome = gym(std::move(arguments));
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
        EXPECT_NE(outcome.err.find(cause), std::string::npos) << outcome.err;
    }
};

TEST_F(TokenizerCommands, ShowPrintsWhatIdentifiesATokenizer) {
    const auto rows = gym({"tokenizer", "show", path("tok")});
    ASSERT_EQ(rows.exit_code, kOk) << rows.err;
    for (const char* const fact : {"tok\n", "266\n", "265 <|endoftext|>\n", "0x"})
        EXPECT_NE(rows.out.find(fact), std::string::npos) << fact << " is not in\n" << rows.out;
    const auto with_json = objects(gym({"--json", "tokenizer", "show", path("tok")}).out).at(0);
    EXPECT_EQ(with_json.at("vocabulary").to_number<int>(), 266);
    EXPECT_EQ(with_json.at("merges").to_number<int>(), 9);
    EXPECT_EQ(with_json.at("end_of_text").to_number<int>(), 265);
    EXPECT_NE(rows.out.find(text_of(with_json, "root")), std::string::npos);
}

TEST_F(TokenizerCommands, EncodeAndDecodeAreInverse) {
    spill(place_ / "line", "hello world<|endoftext|>");
    const auto encoded = gym({"tokenizer", "encode", path("tok"), "--text", path("line")});
    ASSERT_EQ(encoded.exit_code, kOk) << encoded.err;
    EXPECT_TRUE(encoded.out.starts_with("259 264 60 ")) << encoded.out;
    const auto special =
        gym({"tokenizer", "encode", path("tok"), "--text", path("line"), "--special"});
    EXPECT_EQ(special.out, "259 264 265\n");
    for (const auto& outcome : {encoded, special}) {
        spill(place_ / "ids", outcome.out);
        const auto decoded = gym({"tokenizer", "decode", path("tok"), "--tokens", path("ids")});
        EXPECT_EQ(decoded.out, "hello world<|endoftext|>") << decoded.err;
    }
    spill(place_ / "ids", "[259, 255]");
    const auto bytes =
        objects(gym({"--json", "tokenizer", "decode", path("tok"), "--tokens", path("ids")}).out)
            .at(0);
    EXPECT_EQ(text_of(bytes, "bytes"), "68656c6c6fff");
    EXPECT_FALSE(bytes.contains("text"));
}

TEST_F(TokenizerCommands, ADatasetOfItTrainsAModelThatContinuesAPrompt) {
    const auto built = gym({"data", "build", "--text", path("text"), "--tokenizer", path("tok"),
                            "-o", path("d.gymd"), "--json"});
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    EXPECT_EQ(objects(built.out).at(0).at("vocabulary").to_number<int>(), 266);
    spill(place_ / "model.yaml", kTokenizerModel);
    ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code, kOk);
    const auto trained = gym({"program", "run", path("p.gym"), "--data", path("d.gymd"), "--steps",
                              "2", "--state", path("state")});
    ASSERT_EQ(trained.exit_code, kOk) << trained.err;
    const auto generated =
        gym({"generate", path("p.gym"), "--state", path("state"), "--prompt", "hello world",
             "--tokens", "5", "--tokenizer", path("tok"), "--json"});
    ASSERT_EQ(generated.exit_code, kOk) << generated.err;
    EXPECT_EQ(objects(generated.out).at(0).at("tokens").as_array().size(), 5U);
    const auto text = gym({"generate", path("p.gym"), "--state", path("state"), "--prompt",
                           "hello world", "--tokens", "5", "--tokenizer", path("tok")});
    EXPECT_TRUE(text.out.starts_with("hello world")) << text.out;
}

TEST_F(TokenizerCommands, AnExportFindsTheTokenizerThatLiesBesideTheData) {
    ASSERT_EQ(gym({"data", "build", "--text", path("text"), "--tokenizer", path("tok"), "-o",
                   path("d.gymd")})
                  .exit_code,
              kOk);
    spill(place_ / "model.yaml", kTokenizerModel);
    ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code, kOk);
    const auto train = [&](const char* state) {
        return gym({"program", "run", path("p.gym"), "--data", path("d.gymd"), "--steps", "1",
                    "--state", path(state)});
    };
    ASSERT_EQ(train("state").exit_code, kOk);
    const auto exported =
        gym({"program", "export", path("p.gym"), "--state", path("state"), "-o", path("model")});
    ASSERT_EQ(exported.exit_code, kOk) << exported.err;
    EXPECT_EQ(exported.err.find("no tokenizer"), std::string::npos) << exported.err;
    EXPECT_EQ(slurp(place_ / "model" / "tokenizer.json"), slurp(place_ / "tok" / "tokenizer.json"));
    const auto text = gym({"generate", path("p.gym"), "--state", path("state"), "--prompt",
                           "hello world", "--tokens", "5"});
    ASSERT_EQ(text.exit_code, kOk) << text.err;
    EXPECT_TRUE(text.out.starts_with("hello world")) << text.out;

    spill(place_ / "d.gymd.tokenizer", "no bundle");
    const auto damaged = train("other");
    ASSERT_EQ(damaged.exit_code, kOk) << damaged.err;
    EXPECT_NE(damaged.err.find("d.gymd.tokenizer"), std::string::npos) << damaged.err;
    const auto bare =
        gym({"program", "export", path("p.gym"), "--state", path("other"), "-o", path("bare")});
    ASSERT_EQ(bare.exit_code, kOk) << bare.err;
    EXPECT_NE(bare.err.find("no tokenizer"), std::string::npos) << bare.err;
    const auto named = gym({"program", "export", path("p.gym"), "--state", path("other"), "-o",
                            path("named"), "--tokenizer", path("state.tokenizer")});
    ASSERT_EQ(named.exit_code, kOk) << named.err;
    EXPECT_TRUE(std::filesystem::exists(place_ / "named" / "tokenizer.json"));
}

TEST_F(TokenizerCommands, AModelWithMoreTokensThanItsTokenizerSaysOnlyThoseThatThereAre) {
    std::string model = kTokenizerModel;
    model.replace(model.find("266"), 3, "4000");
    spill(place_ / "model.yaml", model);
    ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code, kOk);
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("text"), "--steps", "1",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto generated =
        gym({"generate", path("p.gym"), "--state", path("state"), "--prompt", "hello world",
             "--tokens", "20", "--temperature", "100", "--tokenizer", path("tok"), "--json"});
    ASSERT_EQ(generated.exit_code, kOk) << generated.err << generated.out;
    const auto tokens = objects(generated.out).at(0).at("tokens").as_array();
    ASSERT_EQ(tokens.size(), 20U);
    for (const auto& token : tokens)
        EXPECT_LT(token.to_number<int>(), 266);
}

TEST_F(TokenizerCommands, BytesAreTheDefault) {
    const auto build = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"data", "build",        "--text", path("text"),
                                           "-o",   path("d.gymd"), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return gym(arguments).out;
    };
    const std::string plain = build({});
    EXPECT_NE(plain.find("\"vocabulary\":256"), std::string::npos) << plain;
    EXPECT_EQ(build({"--tokenizer", "bytes"}), plain);
}

TEST_F(TokenizerCommands, AVocabularyBeyondSixteenBitsIsTrainedOn) {
    auto file = small_tokenizer_json(small_merges());
    // Ids up to 80,000, few enough of which are missing.
    auto& vocabulary = file["model"].as_object()["vocab"].as_object();
    for (int id = 266; id < 80'000; ++id)
        vocabulary["w" + std::to_string(id)] = id;
    write_tokenizer(file);
    std::string words;
    for (int i = 0; i < 60; ++i)
        words += "hello world " + std::to_string(i) + "\n";
    spill(place_ / "text", words);
    const auto built = gym({"data", "build", "--text", path("text"), "-o", path("d.gymd"),
                            "--tokenizer", path("tok"), "--json"});
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    const auto out = json::parse(built.out).as_object();
    EXPECT_EQ(out.at("bits_per_token"), 32);
    EXPECT_EQ(out.at("vocabulary"), 80'000);
    EXPECT_EQ(json::parse(gym({"data", "show", path("d.gymd"), "--json"}).out), out);
    const auto shown = gym({"tokenizer", "show", path("tok"), "--json"});
    EXPECT_EQ(out.at("tokenizer"), json::parse(shown.out).as_object().at("root"));
    EXPECT_TRUE(std::filesystem::exists(place_ / "d.gymd.tokenizer"));
    const auto train = [&](int tokens) {
        spill(place_ / "m.yaml", "batch: 2\nmodel: {vocabulary: " + std::to_string(tokens) +
                                     ", context: 8, layers: 1, heads: 1, width: 4}\n");
        EXPECT_EQ(gym({"program", "build", path("m.yaml"), "-o", path("m.gym")}).exit_code, kOk);
        return gym({"program", "run", path("m.gym"), "--data", path("d.gymd"), "--steps", "2",
                    "--state", path("state")});
    };
    const auto refused = train(79'999);
    EXPECT_EQ(refused.exit_code, kUsage);
    EXPECT_NE(refused.err.find("vocabulary (80000 tokens) is larger"), std::string::npos)
        << refused.err;
    const auto trained = train(80'000);
    EXPECT_EQ(trained.exit_code, kOk) << trained.err;
}

TEST_F(TokenizerCommands, WhatCannotBeUsedIsNamed) {
    const std::vector<std::string> build{"data", "build",        "--text",      path("text"),
                                         "-o",   path("d.gymd"), "--tokenizer", path("tok")};
    auto both = build;
    both.insert(both.end(), {"--sentencepiece", path("other")});
    expect_refusal(both, kUsage, "excludes");
    expect_refusal({"tokenizer", "show", path("nothing")}, 1, "nothing");
    spill(place_ / "ids", "12 x");
    expect_refusal({"tokenizer", "decode", path("tok"), "--tokens", path("ids")}, kUsage, "\"x\"");
    spill(place_ / "ids", "300");
    expect_refusal({"tokenizer", "decode", path("tok"), "--tokens", path("ids")}, kUsage,
                   "token 300");
    auto file = small_tokenizer_json(small_merges());
    file["model"].as_object()["type"] = "Unigram";
    write_tokenizer(file);
    expect_refusal(build, kUsage, "model is Unigram");
}

}  // namespace
}  // namespace gym::testing
