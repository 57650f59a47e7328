#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Byte-level BPE tokenizers as of GPT-2 and Llama 3 (docs/TOKENIZERS.md).
namespace gym::tokenizer {

inline constexpr std::uint32_t kVocabularyMax = std::uint32_t{1} << 20;  ///< ids are below it
inline constexpr std::uint32_t kMergesMax = std::uint32_t{1} << 22;
inline constexpr std::size_t kTokenBytesMax = 4096;
inline constexpr std::uint32_t kAddedTokensMax = 65536;
inline constexpr std::size_t kAddedTokenBytesMax = 256;
inline constexpr std::uint32_t kSplitsMax = 16;  ///< steps of a pre-tokenizer
inline constexpr std::size_t kPatternBytesMax = 16384;
inline constexpr std::uint64_t kTokenizerFileBytesMax = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kTextBytesMax = std::uint64_t{1} << 30;  ///< of one call of encode()
/// Of one piece of a text, and of a text whose pattern looks behind itself: merging takes 28 bytes
/// of memory for each.
inline constexpr std::size_t kPieceBytesMax = std::size_t{16} << 20;

/// A file that a model folder for Transformers contains.
struct TokenizerFile {
    std::string name;  ///< without a folder
    Bytes bytes;
};

/// A token that stands for its whole text, beside those of the model.
struct SpecialToken {
    std::uint32_t id = 0;
    std::string text;
};

struct LoadOptions {
    /// What a tiktoken file does not say itself: gpt2, r50k_base, p50k_base, cl100k_base,
    /// o200k_base or llama3, which name a pattern and special tokens. Empty: the file's name says
    /// it.
    std::string encoding;
};

struct EncodeOptions {
    /// Whether "<|endoftext|>" in the text is that token; otherwise it is text like any other, so
    /// that documents cannot contain control tokens.
    bool special_tokens = false;
};

struct TokenizerData;

/// A tokenizer. Immutable, thread-safe; copies share their data. Deterministic: the same text gives
/// the same tokens on every machine whose ICU knows the characters in it.
class Tokenizer {
  public:
    /// @param file_or_folder a tokenizer.json, a tiktoken rank file (NAME.tiktoken or Llama 3's
    /// tokenizer.model), or a folder with one of them.
    /// @errors kNotFound, kIo: the file cannot be read. kMalformed: it is damaged or contradicts
    /// itself; names the place. kOutOfRange: a bound above is exceeded. kInvalidArgument: a
    /// tokenizer of a kind that is not supported, or a rank file without a known encoding.
    static Result<Tokenizer> load(const std::filesystem::path& file_or_folder,
                                  const LoadOptions& options = {});
    /// Of files in memory, among them a tokenizer.json: what load() makes of a folder with them.
    /// @errors those of load() but kNotFound and kIo.
    static Result<Tokenizer> from_files(const std::string& name, std::vector<TokenizerFile> files);
    /// A token is a byte; the vocabulary is 256.
    static Tokenizer bytes();

    /// Text to tokens. A byte that is not part of well-formed UTF-8 passes through as its own
    /// bytes; patterns see U+FFFD in its place.
    /// @errors kOutOfRange: more than kTextBytesMax or kPieceBytesMax, or the tokenizer's pattern
    /// exceeds its limits of steps or memory on the text (names the byte).
    [[nodiscard]] Result<std::vector<std::uint32_t>> encode(
        std::string_view utf8, const EncodeOptions& options = {}) const;
    /// Tokens to bytes: exactly the text that was encoded, except that a normalizer (NFC) and a
    /// prefix space change it before. Tokens that end within a character give bytes that are not
    /// UTF-8.
    /// @errors kOutOfRange for a token that does not exist.
    [[nodiscard]] Result<std::string> decode(std::span<const std::uint32_t> tokens) const;

    /// The largest id + 1: the rows of an embedding. Some ids may have no token.
    [[nodiscard]] std::uint32_t vocabulary() const;
    /// Whether a token has this id, which decode() then takes.
    [[nodiscard]] bool has_token(std::uint32_t id) const;
    /// For people: the encoding's name, or the name of the file or its folder.
    [[nodiscard]] std::string name() const;
    /// The token between documents: tokenizer_config.json's eos_token, else one of the usual names.
    [[nodiscard]] std::optional<std::uint32_t> end_of_text() const;
    [[nodiscard]] std::optional<std::uint32_t> find_special(std::string_view text) const;
    /// In ascending order of ids.
    [[nodiscard]] const std::vector<SpecialToken>& special_tokens() const;
    /// Ids below vocabulary() that have a token.
    [[nodiscard]] std::uint32_t tokens() const;
    [[nodiscard]] std::uint32_t merges() const;
    /// The regular expressions that split a text, in their order.
    [[nodiscard]] std::vector<std::string> patterns() const;

    /// What an exported model's folder must contain: tokenizer.json, tokenizer_config.json, and
    /// others that were beside them. Made on the first call if the tokenizer was not read from such
    /// files.
    [[nodiscard]] const std::vector<TokenizerFile>& files() const;
    /// The commitment to how text becomes tokens (docs/TOKENIZERS.md, "Root"): equal for all files
    /// that mean the same, whatever their names and layout.
    [[nodiscard]] const Digest& root() const;

  private:
    explicit Tokenizer(std::shared_ptr<const TokenizerData> data);
    std::shared_ptr<const TokenizerData> data_;
};

/// By which datasets name the tokenizer with this root: the root itself, but zero of bytes, which
/// they do not name.
[[nodiscard]] Digest dataset_root(const Digest& tokenizer_root);

}  // namespace gym::tokenizer
