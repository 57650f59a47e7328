#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/tokenizer.hpp"

namespace gym::data {

/// Text to tokens, as a build needs it. One thread at a time uses an encoder.
class Encoder {
  public:
    virtual ~Encoder() = default;
    /// The tokenizer in the manifest: what it is and, if it has files, their hash.
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::uint32_t vocabulary() const = 0;
    /// The root by which token files name the tokenizer; zero: they do not, a token is a byte.
    [[nodiscard]] virtual Digest tokenizer_root() const = 0;
    /// The token that stands between documents, if the tokenizer has one.
    [[nodiscard]] virtual std::optional<std::uint32_t> end_of_text() const = 0;
    /// Appends the tokens of one document. @errors kMalformed for a text that it cannot take.
    [[nodiscard]] virtual Status encode(std::string_view text,
                                        std::vector<std::uint32_t>& tokens) = 0;
};

/// Makes an encoder; a build has one for each of its threads.
using EncoderFactory = std::function<Result<std::unique_ptr<Encoder>>()>;

/// A token is a byte; there is no end of text.
[[nodiscard]] std::unique_ptr<Encoder> byte_encoder();

/// A byte-level tokenizer, whose end of text stands between documents.
[[nodiscard]] std::unique_ptr<Encoder> bpe_encoder(const tokenizer::Tokenizer& tokenizer);

/// A SentencePiece model in a gym-tokenizer process. Ends of lines as `gym-tokenizer encode` has
/// them; the end of text is the model's end of sentence. The process ends with the thread that made
/// the encoder. @errors kNotFound; kMalformed: not a model; kOutOfRange: more than 2^20 pieces.
[[nodiscard]] Result<std::unique_ptr<Encoder>> sentence_piece_encoder(const std::string& model);

}  // namespace gym::data
