#include "gym/data/text_tokens.hpp"

#include <string>

namespace gym::data {
namespace {

bool is_of_bytes(const OptionalTokenizer& tokenizer) {
    return !tokenizer || tokenizer::dataset_root(tokenizer->root()).is_zero();
}

}  // namespace

std::unique_ptr<Encoder> encoder_of(const OptionalTokenizer& tokenizer) {
    return is_of_bytes(tokenizer) ? byte_encoder() : bpe_encoder(*tokenizer);
}

Result<blob::Dataset> tokens_of_text(ByteView text, const OptionalTokenizer& tokenizer) {
    if (is_of_bytes(tokenizer)) return blob::Dataset::build_from_text(text);
    GYM_TRY(const auto tokens,
            tokenizer->encode({reinterpret_cast<const char*>(text.data()), text.size()}));
    if (tokens.empty())
        return fail(ErrorCode::kInvalidArgument, "the text gives no token: is it empty?");
    return blob::Dataset::from_tokens(
        tokens,
        blob::Tokenization{tokenizer->vocabulary(), tokenizer::dataset_root(tokenizer->root())});
}

Status check_made_by(const blob::Tokenization& tokens, const OptionalTokenizer& tokenizer) {
    if (!tokenizer) return {};
    const auto encoder = encoder_of(tokenizer);
    const Digest& made_by = tokens.tokenizer;
    const bool same = made_by.is_zero() ? tokens.vocabulary == encoder->vocabulary()
                                        : made_by == encoder->tokenizer_root();
    if (same) return {};
    return fail(
        ErrorCode::kInvalidArgument,
        "the file was made by " +
            (made_by.is_zero() ? "a tokenizer of " + std::to_string(tokens.vocabulary) + " tokens"
                               : "the tokenizer " + made_by.hex()) +
            ", not by " + encoder->name() +
            ": build it again with this tokenizer (`gym data build --tokenizer`), or name "
            "none");
}

}  // namespace gym::data
