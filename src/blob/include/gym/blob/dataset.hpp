#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gym/blob/dataset_header.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/common/token_view.hpp"

namespace gym::blob {

inline constexpr std::uint32_t kByteVocabulary = 256;

/// The first nine tenths of the tokens train, the last tenth (rounded down) validates. kAll: a text
/// of which nothing trains.
enum class Split { kTrain, kValidation, kAll };

/// A token array and how text became it, committed to by a root: the files and roots of
/// DatasetHeader. Takes 2 bytes of memory a token up to a vocabulary of 65,536, else 4.
/// Immutable; safe to read from many threads.
class Dataset {
  public:
    /// One token per byte of `text`. @errors kInvalidArgument for an empty text.
    static Result<Dataset> build_from_text(ByteView text);
    /// Format 1. @errors kInvalidArgument for no tokens; kOutOfRange for a vocabulary outside
    /// [1, 65536] or a token outside it.
    static Result<Dataset> from_tokens(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary);
    /// @errors the same with a vocabulary in [1, kVocabularyMax].
    static Result<Dataset> from_tokens(TokenView tokens, const Tokenization& tokenization);
    /// Reads a token file's bytes. @errors kMalformed for a truncated, extended or foreign file;
    /// kOutOfRange for a token outside the vocabulary; kMismatch if `expected_root` is given and
    /// differs.
    static Result<Dataset> decode(ByteView file, const std::optional<Digest>& expected_root);
    /// decode() of the file at `path`. @errors also kNotFound, kIo.
    static Result<Dataset> load(const std::string& path,
                                const std::optional<Digest>& expected_root);

    [[nodiscard]] Bytes encode() const;
    [[nodiscard]] const Digest& root() const { return root_; }
    [[nodiscard]] std::uint32_t vocabulary() const { return header_.tokenization.vocabulary; }
    /// Zero if the file does not name a tokenizer.
    [[nodiscard]] const Digest& tokenizer() const { return header_.tokenization.tokenizer; }
    [[nodiscard]] const DatasetHeader& header() const { return header_; }
    [[nodiscard]] TokenView tokens() const;
    [[nodiscard]] TokenView tokens(Split split) const;
    /// The tokens as the file has them.
    [[nodiscard]] Bytes token_bytes() const;

    /// How many windows of `length` tokens start in `split`: its tokens - length + 1.
    /// @errors kInvalidArgument for length 0 or a split shorter than one window, saying by how
    /// much.
    [[nodiscard]] Result<std::uint64_t> window_count(Split split, std::uint64_t length) const;
    /// The `length` tokens from position `first` of `split`. The view lives as long as the dataset.
    /// @errors as window_count(), kOutOfRange for a window that runs over the end.
    [[nodiscard]] Result<TokenView> window(Split split, std::uint64_t first,
                                           std::uint64_t length) const;

  private:
    using Tokens = std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>>;
    Dataset(Tokens tokens, const Tokenization& tokenization);
    static Result<Dataset> checked(Tokens tokens, const Tokenization& tokenization);

    Tokens tokens_;
    DatasetHeader header_;
    Digest root_;
};

}  // namespace gym::blob
