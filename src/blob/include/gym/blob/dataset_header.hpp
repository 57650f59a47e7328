#pragma once

#include <cstdint>
#include <optional>

#include "gym/commit/dtype.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/common/token_view.hpp"

/// The heads of token files (docs/PROTOCOL.md, "States, deltas, datasets"; docs/adr/0008).
namespace gym::blob {

inline constexpr std::uint64_t kDatasetTokensMax = std::uint64_t{1} << 36;
inline constexpr std::uint32_t kNarrowVocabularyMax = 65536;  ///< of 16 bits a token
inline constexpr std::uint32_t kVocabularyMax = std::uint32_t{1} << 20;
inline constexpr std::size_t kDatasetHeaderBytesMax = 64;

/// How text became tokens.
struct Tokenization {
    std::uint32_t vocabulary = 0;  ///< tokens are below it
    Digest tokenizer;              ///< its root (docs/TOKENIZERS.md); zero: not named
    friend bool operator==(const Tokenization&, const Tokenization&) = default;
};

/// The head of a token file. Integers are big-endian, tokens little-endian.
///
/// Format 1, for at most 65,536 tokens and without a tokenizer: "GYMDATA1" | vocabulary u32 | count
/// u64; then tokens u16. Its root is that of the tokens as a tensor, without the vocabulary.
/// Format 2, for all others: "GYMDATA2" | bytes of a token u32 (2, or 4 above 65,536) | vocabulary
/// u32 | bytes of a chunk u32 (1,024) | zero u32 | count u64 | tokenizer's root; then the tokens.
/// Its root is the Merkle tree over the head's chunk leaf and the root of the tokens as a tensor.
struct DatasetHeader {
    Tokenization tokenization;
    std::uint64_t tokens = 0;

    [[nodiscard]] unsigned format() const;         ///< 1 or 2
    [[nodiscard]] std::size_t size_bytes() const;  ///< 20 or 64
    [[nodiscard]] commit::DType dtype() const;     ///< u16 or u32
    [[nodiscard]] std::size_t token_bytes() const;
    [[nodiscard]] std::uint64_t file_bytes() const { return size_bytes() + tokens * token_bytes(); }
    [[nodiscard]] Bytes encode() const;
    /// The dataset's root. @param tree_root over the chunks of its tokens.
    [[nodiscard]] Digest root(const Digest& tree_root) const;
    /// What stands beside the tokens' tensor root below the dataset's root; none in format 1.
    [[nodiscard]] std::optional<Digest> leaf() const;
    friend bool operator==(const DatasetHeader&, const DatasetHeader&) = default;
};

/// Whether a file that begins so is a token file, damaged or not.
[[nodiscard]] bool is_token_file(ByteView content);

/// Reads a head. @param file the first kDatasetHeaderBytesMax bytes of a file, or all it has.
/// @param file_bytes the file's length. @errors kMalformed: no token file, another length than the
/// head says, a field that must have another value. kOutOfRange: a vocabulary outside its bounds.
/// kInvalidArgument: no tokens.
[[nodiscard]] Result<DatasetHeader> read_dataset_header(ByteView file, std::uint64_t file_bytes);
/// Of a file that is being written: what depends on the number of tokens is not checked.
[[nodiscard]] Result<DatasetHeader> read_unfinished_header(ByteView file);

/// @errors kOutOfRange: a vocabulary outside [1, kVocabularyMax].
[[nodiscard]] Status check_tokenization(const Tokenization& tokenization);
/// The same for what a file of format 1 can hold: at most 65,536.
[[nodiscard]] Status check_narrow_vocabulary(std::uint32_t vocabulary);
/// @param first position of the first of `tokens`. @errors kOutOfRange, naming a token that is not
/// below the vocabulary.
[[nodiscard]] Status check_tokens(TokenView tokens, std::uint32_t vocabulary, std::uint64_t first);

/// Bytes that a token file of so many tokens has at most, whether it names a tokenizer or not.
/// @errors kOutOfRange for more than kDatasetTokensMax tokens.
[[nodiscard]] Result<std::uint64_t> dataset_bytes_max(std::uint64_t tokens,
                                                      std::uint32_t vocabulary);

/// Appends the tokens as `header`'s file has them.
void append_tokens(const DatasetHeader& header, TokenView tokens, Bytes& out);
/// Reads tokens of `header`'s file. @pre body.size() is a multiple of token_bytes().
[[nodiscard]] std::uint32_t token_at(const DatasetHeader& header, ByteView body, std::size_t at);

}  // namespace gym::blob
