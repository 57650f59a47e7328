// `gym data build --sentencepiece` and what follows from it: training, generation, bad input.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "command.hpp"
#include "sentence_piece_model.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;

constexpr int kOk = 0, kFailed = 1, kUsage = 2;
constexpr int kPieces = 320;

class SentencePieceCommands : public ::testing::Test {
  protected:
    void SetUp() override {
        spill(place_ / "text", sentence_piece_text());
        model_ = train_sentence_piece(place_ / "", "pieces", sentence_piece_text(),
                                      lossless_pieces(kPieces));
    }
    [[nodiscard]] std::string path(const char* name) const { return (place_ / name).string(); }
    [[nodiscard]] Outcome gym(std::vector<std::string> arguments) const {
        return run(place_, std::move(arguments));
    }
    [[nodiscard]] Outcome build(const std::string& model,
                                std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{"data",       "build",           "--text",
                                           path("text"), "--sentencepiece", model,
                                           "-o",         path("d.gymd")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return gym(std::move(arguments));
    }
    /// Fails with `exit_code`, names `cause` and leaves no file.
    void expect_refusal(const Outcome& outcome, int exit_code, const std::string& cause) const {
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
        EXPECT_NE(outcome.err.find(cause), std::string::npos) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(place_ / "d.gymd"));
    }
    TemporaryFolder place_;
    std::string model_;
};

TEST_F(SentencePieceCommands, BuildAndShowPrintTheModelsVocabulary) {
    const auto built = build(model_, {"--json"});
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    const json::object summary = json::parse(built.out).as_object();
    EXPECT_EQ(summary.at("vocabulary").to_number<int>(), kPieces);
    EXPECT_LT(summary.at("tokens").to_number<std::size_t>(), sentence_piece_text().size());
    const auto shown = gym({"data", "show", path("d.gymd"), "--json"});
    ASSERT_EQ(shown.exit_code, kOk) << shown.err;
    EXPECT_EQ(json::parse(shown.out).as_object(), summary);
    const auto again = build(model_, {"--json"});
    EXPECT_EQ(json::parse(again.out).as_object(), summary);
}

TEST_F(SentencePieceCommands, AModelOfPiecesTrainsAndContinuesAPromptAsText) {
    ASSERT_EQ(build(model_).exit_code, kOk);
    spill(place_ / "model.yaml",
          "batch: 2\n"
          "model: {vocabulary: 320, context: 16, layers: 1, heads: 2, width: 16}\n");
    ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code, kOk);
    const auto trained = gym({"program", "run", path("p.gym"), "--data", path("d.gymd"), "--steps",
                              "3", "--state", path("state")});
    ASSERT_EQ(trained.exit_code, kOk) << trained.err;
    const std::vector<std::string> command{
        "generate",  path("p.gym"), "--state", path("state"),     "--prompt",
        "line 7 of", "--tokens",    "9",       "--sentencepiece", model_};
    const auto generated = gym(command);
    ASSERT_EQ(generated.exit_code, kOk) << generated.err;
    EXPECT_TRUE(generated.out.starts_with("line 7 of")) << generated.out;
    auto with_json = command;
    with_json.emplace_back("--json");
    const json::object out = json::parse(gym(with_json).out).as_object();
    EXPECT_EQ(out.at("tokens").as_array().size(), 9U);
    EXPECT_EQ(std::string(out.at("text").as_string()) + "\n", generated.out);
}

TEST_F(SentencePieceCommands, AModelFileThatCannotBeUsedIsNamedAndALargeOneCan) {
    expect_refusal(build(path("nothing.model")), kFailed, "nothing.model");
    spill(place_ / "other.model", "this is no model");
    expect_refusal(build(path("other.model")), kFailed, "other.model is not a SentencePiece model");
    std::string words;
    for (int i = 0; i < 66'000; ++i)
        words += "w" + std::to_string(i) + '\n';
    const std::string large = train_sentence_piece(
        place_ / "", "large", words, {{"vocab_size", "65900"}, {"model_type", "word"}});
    const auto built = build(large);
    ASSERT_EQ(built.exit_code, kOk) << built.err;
    EXPECT_NE(built.out.find("65900 (32 bits a token)"), std::string::npos) << built.out;
}

TEST_F(SentencePieceCommands, ATextThatCannotBeUsedIsSaidToBe) {
    spill(place_ / "text", "");
    expect_refusal(build(model_), kUsage, "empty");
    spill(place_ / "text", "caf\xe9 in Latin-1");
    expect_refusal(build(model_), kFailed, "UTF-8");
    spill(place_ / "text", "line 7 of a text\n");
    expect_refusal(build(model_, {"--context", "16"}), kUsage, "too short");
}

TEST_F(SentencePieceCommands, DocumentsAreSeparatedByTheEndOfSentenceAndThreadsChangeNothing) {
    spill(place_ / "a.jsonl",
          "{\"text\":\"line 1 of a text to learn\"}\n{\"text\":\"line 2 of a text\\nto learn\"}\n");
    const auto build_with = [&](const char* threads) {
        const auto built = gym({"data", "build", path("a.jsonl"), "--sentencepiece", model_, "-o",
                                path("d.gymd"), "--threads", threads, "--json"});
        EXPECT_EQ(built.exit_code, kOk) << built.err;
        return json::parse(built.out).as_object();
    };
    const json::object summary = build_with("1");
    EXPECT_EQ(build_with("3").at("manifest_root"), summary.at("manifest_root"));
    EXPECT_EQ(gym({"data", "verify", path("d.gymd")}).exit_code, kOk);
    // The same texts one by one, and the one token between them.
    std::size_t tokens = 1;
    for (const char* text : {"line 1 of a text to learn", "line 2 of a text\nto learn"}) {
        spill(place_ / "text", text);
        ASSERT_EQ(build(model_).exit_code, kOk);
        const auto shown = gym({"data", "show", path("d.gymd"), "--json"});
        tokens += json::parse(shown.out).at("tokens").to_number<std::size_t>();
    }
    EXPECT_EQ(summary.at("tokens").to_number<std::size_t>(), tokens);
    std::filesystem::remove(place_ / "d.gymd");
    expect_refusal(gym({"data", "build", path("a.jsonl"), "--sentencepiece", path("text"), "-o",
                        path("d.gymd")}),
                   kFailed, "text is not a SentencePiece model");
}

TEST_F(SentencePieceCommands, TokensThatAreNoBytesAskForTheModel) {
    ASSERT_EQ(build(model_).exit_code, kOk);
    // 60,000 tokens, so that hardly any of a fresh model's choices is a byte.
    spill(place_ / "model.yaml",
          "batch: 1\n"
          "model: {vocabulary: 60000, context: 4, layers: 1, heads: 1, width: 2}\n");
    ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code, kOk);
    ASSERT_EQ(gym({"program", "run", path("p.gym"), "--data", path("d.gymd"), "--steps", "1",
                   "--state", path("state")})
                  .exit_code,
              kOk);
    const auto plain = gym({"generate", path("p.gym"), "--state", path("state"), "--tokens", "5"});
    EXPECT_EQ(plain.exit_code, kUsage);
    EXPECT_NE(plain.err.find("--sentencepiece"), std::string::npos) << plain.err;
    const auto narrow = gym({"generate", path("p.gym"), "--state", path("state"), "--tokens", "5",
                             "--sentencepiece", model_, "--json"});
    ASSERT_EQ(narrow.exit_code, kOk) << narrow.err;
    const json::value answer = json::parse(narrow.out);
    for (const auto& token : answer.at("tokens").as_array())
        EXPECT_LT(token.to_number<int>(), 320) << "a token that the tokenizer has";
}

}  // namespace
}  // namespace gym::testing
