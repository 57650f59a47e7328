#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/tokenizer.hpp"

/// A tokenizer as one blob, which travels with a dataset and into an exported model's folder:
/// "GYMTOKN1" | number of files u32 | for each, ascending by name: name, content, both with their
/// length (u32, big-endian) in front.
namespace gym::tokenizer {

inline constexpr std::string_view kBundleMagic = "GYMTOKN1";
inline constexpr std::uint64_t kBundleBytesMax = std::uint64_t{96} << 20;
inline constexpr std::uint32_t kBundleFilesMax = 8;

struct Bundle {
    std::vector<TokenizerFile> files;  ///< ascending by name
    /// By which datasets name it: of a tokenizer.json its root, of a SentencePiece model alone
    /// (tokenizer.model) its SHA-256.
    Digest root;
};

/// @errors kInvalidArgument: neither a tokenizer.json nor a tokenizer.model, or a file that no
/// tokenizer has; kOutOfRange: more than the bounds above; those of Tokenizer::from_files().
[[nodiscard]] Result<Bundle> make_bundle(std::vector<TokenizerFile> files);
[[nodiscard]] Bytes encode_bundle(const Bundle& bundle);
/// What the root says something about: tokenizer.json or, without one, tokenizer.model as they are,
/// and beside the former a tokenizer_config.json that is written from it. Whoever made the bundle
/// chose all the rest freely: a chat template, other settings, a vocab.json.
/// @errors those of Tokenizer::from_files().
[[nodiscard]] Result<std::vector<TokenizerFile>> covered_files(const Bundle& bundle);
/// Reads what encode_bundle() writes, nothing else. @errors also kMalformed.
[[nodiscard]] Result<Bundle> read_bundle(ByteView bytes);

}  // namespace gym::tokenizer
