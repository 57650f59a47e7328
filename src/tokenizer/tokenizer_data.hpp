#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "added_finder.hpp"
#include "definition.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "merger.hpp"
#include "piece_cache.hpp"
#include "unicode.hpp"

namespace gym::tokenizer {

/// What one call of encode() needs and the next can use again.
struct EncodeScratch {
    std::vector<Splitter> splitters;  ///< one for each step that splits
    MergeScratch merge;
    PieceCache cache;
};

/// What all copies of a tokenizer share.
struct TokenizerData {
    /// @param made complete. @errors those of Pattern::compile().
    static Result<std::shared_ptr<const TokenizerData>> make(Definition made, std::string name,
                                                             std::vector<TokenizerFile> files);
    TokenizerData(Definition made, std::string tokenizer_name);

    const Definition definition;
    const std::string name;
    const Merger merger;
    const Digest root;
    std::vector<Pattern> patterns;
    std::array<std::array<AddedFinder, 2>, 2> finders;  ///< [normalized][special]
    std::vector<std::string_view> texts;                ///< of the token at its id; empty: none
    std::vector<SpecialToken> special;

    mutable std::once_flag files_made;
    mutable std::vector<TokenizerFile> files;

    mutable std::mutex scratch_mutex;
    mutable std::vector<std::unique_ptr<EncodeScratch>> scratch;  ///< not in use
};

}  // namespace gym::tokenizer
