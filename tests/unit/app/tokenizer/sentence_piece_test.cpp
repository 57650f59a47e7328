#include "sentence_piece.hpp"

#include <stdlib.h>

#include <algorithm>

#include "sentence_piece_model.hpp"
#include "temporary_folder.hpp"

namespace gym::app {
namespace {

using testing::lossless_pieces;
using testing::sentence_piece_text;
using testing::train_sentence_piece;

class SentencePieceTest : public ::testing::Test {
  protected:
    [[nodiscard]] SentencePiece trained(
        const std::unordered_map<std::string, std::string>& settings) const {
        auto model = SentencePiece::load(
            train_sentence_piece(folder_, "model", sentence_piece_text(), settings));
        GYM_ASSERT(model.ok(), "the test's own model");
        return std::move(model).value();
    }
    testing::TemporaryFolder temporary_;
    const std::filesystem::path folder_ = temporary_.path();
};

std::string there_and_back(const SentencePiece& model, const std::string& text) {
    const auto tokens = model.encode(as_bytes(text));
    EXPECT_TRUE(tokens.ok()) << tokens.error().message;
    const auto back = model.decode(*tokens);
    EXPECT_TRUE(back.ok()) << back.error().message;
    return *back;
}

TEST_F(SentencePieceTest, WithBytesToFallBackOnEveryTextComesBack) {
    const SentencePiece model = trained(lossless_pieces(320));
    EXPECT_EQ(model.pieces(), 320U);
    for (const std::string text :
         {"line 7 of a text", "two\nlines", "ends with a line end\n", "\n", "\n\n blank\n\n",
          "  two  spaces \n", "unseen: \u4e2d\u6587 \U0001F600\t|\n"})
        EXPECT_EQ(there_and_back(model, text), text);
    EXPECT_EQ(there_and_back(model, sentence_piece_text()), sentence_piece_text());
}

TEST_F(SentencePieceTest, TokensAreFewerThanBytesAndBelowTheVocabulary) {
    const SentencePiece model = trained(lossless_pieces(320));
    const auto tokens = model.encode(as_bytes(sentence_piece_text()));
    ASSERT_TRUE(tokens.ok());
    EXPECT_LT(tokens->size(), sentence_piece_text().size());
    EXPECT_LT(*std::ranges::max_element(*tokens), 320U);
}

TEST_F(SentencePieceTest, ALineEndIsThePieceForItElseTheEndOfSentence) {
    auto settings = lossless_pieces(321);
    settings["user_defined_symbols"] = "\n";
    const SentencePiece own = trained(settings);
    const auto with_piece = own.encode(as_bytes("line\nline\n"));
    ASSERT_TRUE(with_piece.ok());
    EXPECT_EQ(with_piece->back(), 3U);  // after <unk>, <s>, </s>
    EXPECT_EQ(there_and_back(own, "line\nline\n"), "line\nline\n");
    const SentencePiece plain = trained({{"vocab_size", "60"}});
    const auto with_end = plain.encode(as_bytes("line\nline\n"));
    ASSERT_TRUE(with_end.ok());
    EXPECT_EQ(with_end->back(), 2U);  // </s>
    EXPECT_EQ(there_and_back(plain, "line\nline\n"), "line\nline\n");
}

TEST_F(SentencePieceTest, AModelWithoutALineEndJoinsLines) {
    const SentencePiece model = trained({{"vocab_size", "60"}, {"eos_id", "-1"}});
    EXPECT_EQ(there_and_back(model, "line\nline\n"), "line line");
    const auto nothing = model.encode(as_bytes("\n"));
    ASSERT_FALSE(nothing.ok());
    EXPECT_EQ(nothing.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SentencePieceTest, WhatIsNoTextOrNoPieceIsRefused) {
    const SentencePiece model = trained(lossless_pieces(320));
    const auto torn = model.encode(as_bytes("caf\xc3"));
    ASSERT_FALSE(torn.ok());
    EXPECT_NE(torn.error().message.find("byte 3"), std::string::npos) << torn.error().message;
    EXPECT_FALSE(model.encode(as_bytes("a\xff\xfez")).ok());
    EXPECT_FALSE(model.encode({}).ok());
    const auto beyond = model.decode(std::vector<std::uint32_t>{5, 320});
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().code, ErrorCode::kOutOfRange);
}

TEST_F(SentencePieceTest, FilesThatAreNoModelAreRefused) {
    EXPECT_EQ(SentencePiece::load(folder_ / "none.model").error().code, ErrorCode::kNotFound);
    const std::string path =
        train_sentence_piece(folder_, "model", sentence_piece_text(), lossless_pieces(320));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_EQ(SentencePiece::load(path).error().code, ErrorCode::kMalformed);
    std::ofstream(folder_ / "empty.model");
    EXPECT_EQ(SentencePiece::load(folder_ / "empty.model").error().code, ErrorCode::kMalformed);
}

TEST_F(SentencePieceTest, MorePiecesThanSixteenBitsNameAreTaken) {
    std::string words;
    for (int i = 0; i < 66'000; ++i)
        words += "w" + std::to_string(i) + '\n';
    const std::string path = train_sentence_piece(
        folder_, "large", words, {{"vocab_size", "65900"}, {"model_type", "word"}});
    const auto model = SentencePiece::load(path).value();
    EXPECT_EQ(model.pieces(), 65'900U);
    const std::vector<std::uint32_t> last{65'899};
    const std::string text = model.decode(last).value();
    EXPECT_EQ(model.encode(as_bytes(text)).value(), last) << text;
}

}  // namespace
}  // namespace gym::app
