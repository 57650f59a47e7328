#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::tokenizer {

/// A step of the pre-tokenizer, applied to every piece that the steps before it made.
struct Step {
    enum class Kind : std::uint8_t {
        kSplit = 0,        ///< every match of `pattern` is a piece, and so is every gap
        kPrefixSpace = 1,  ///< a piece that does not begin with a space gets one
    };
    Kind kind = Kind::kSplit;
    std::string pattern;
    friend bool operator==(const Step&, const Step&) = default;
};

/// A rule of BPE: the neighbours `left` and `right` become `merged`. Ids of tokens.
struct Merge {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t merged = 0;
    friend bool operator==(const Merge&, const Merge&) = default;
};

/// A token that is found in the text before it is split.
struct AddedToken {
    std::uint32_t id = 0;
    std::string text;
    bool special = false;     ///< found only if the caller asks for it
    bool normalized = false;  ///< looked for in the normalized text
    friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

/// All that decides how text becomes tokens. Two files that mean the same give equal definitions.
struct Definition {
    bool nfc = false;
    std::vector<Step> steps;
    bool whole_piece_first = false;  ///< a piece that is a token is that token, whatever the merges
    std::vector<std::string> tokens;  ///< bytes of the model's token at its id; empty: none
    std::vector<Merge> merges;        ///< the first rule that applies anywhere is applied
    std::vector<AddedToken> added;    ///< ascending ids
    std::optional<std::uint32_t> end_of_text;  ///< no part of the root

    [[nodiscard]] std::uint32_t vocabulary() const;
};

/// Checks what every source of a definition must keep: bounds, no two tokens alike, a token for
/// each byte, fewer missing ids than tokens, merges that make what they say, and no merge twice.
/// Brings it into its one form. @errors kMalformed, kOutOfRange.
[[nodiscard]] Status complete(Definition& definition);

/// SHA-256 of the canonical form (docs/TOKENIZERS.md, "Root").
[[nodiscard]] Digest root_of(const Definition& definition);

/// The id of the text that usually ends documents, among the added tokens.
[[nodiscard]] std::optional<std::uint32_t> usual_end_of_text(const std::vector<AddedToken>& added);

/// A token's bytes for messages: printable, at most a line.
[[nodiscard]] std::string shown(std::string_view token);

}  // namespace gym::tokenizer
