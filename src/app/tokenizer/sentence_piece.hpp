#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/common/token_view.hpp"

namespace gym::app {

/// A SentencePiece model (https://github.com/google/sentencepiece): text to pieces and back.
///
/// Models are trained on lines and know no line ends, so every line is encoded by itself, followed
/// by the model's token for a line end: its piece "\n" (a user defined symbol), else its byte
/// "<0x0A>" (byte fallback), else its end of sentence. A model with neither of these joins the
/// lines. Not thread-safe. Deterministic: the most likely segmentation, nothing is sampled.
class SentencePiece {
  public:
    /// @errors kNotFound, kIo: the file cannot be read. kMalformed: it is not a model. kOutOfRange:
    /// more pieces than token files can name.
    static Result<SentencePiece> load(const std::string& model_path);
    SentencePiece(SentencePiece&&) noexcept;
    SentencePiece& operator=(SentencePiece&&) noexcept;
    ~SentencePiece();

    [[nodiscard]] std::uint32_t pieces() const;
    /// The piece that ends sentences, if the model has one.
    [[nodiscard]] std::optional<std::uint32_t> end_of_sentence() const;
    /// @errors kMalformed for a text that is not UTF-8, naming the byte; kInvalidArgument for one
    /// that gives no token.
    [[nodiscard]] Result<std::vector<std::uint32_t>> encode(ByteView text) const;
    /// @errors kOutOfRange for a token that is not a piece of the model.
    [[nodiscard]] Result<std::string> decode(TokenView tokens) const;

  private:
    struct Impl;
    explicit SentencePiece(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::app
