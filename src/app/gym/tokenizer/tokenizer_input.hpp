#pragma once

#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/tokenizer.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// A byte-level tokenizer as commands name it.
struct TokenizerOptions {
    std::string path;      ///< a file, a folder or "bytes"; empty: not given
    std::string encoding;  ///< of a rank file
};

/// --tokenizer and --encoding.
void add_tokenizer_options(CLI::App& command, TokenizerOptions& options);

/// @errors those of Tokenizer::load().
[[nodiscard]] Result<tokenizer::Tokenizer> read_tokenizer(const TokenizerOptions& options);

/// Whether JSON can hold `text`: the bytes that a model writes may be no text.
[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace gym::app
