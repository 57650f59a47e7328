#include "tokenizer/tokenizer_input.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/tokenizer/bundle_file.hpp"

namespace gym::app {
namespace {

constexpr std::string_view kBytesName = "bytes";

}  // namespace

void add_tokenizer_options(CLI::App& command, TokenizerOptions& options) {
    command.add_option("--tokenizer", options.path,
                       "Byte-level BPE tokenizer: a tokenizer.json, a tiktoken rank file, a folder "
                       "with one, or bytes (default: a token is a byte)");
    command.add_option("--encoding", options.encoding,
                       "Encoding of a rank file whose name does not say it, such as cl100k_base");
}

Result<tokenizer::Tokenizer> read_tokenizer(const TokenizerOptions& options) {
    if (options.path == kBytesName) return tokenizer::Tokenizer::bytes();
    if (tokenizer::is_bundle(options.path)) {
        GYM_TRY(tokenizer::Bundle bundle, tokenizer::load_bundle(options.path));
        auto read = tokenizer::Tokenizer::from_files(options.path, std::move(bundle.files));
        if (!read.ok()) return read.error().in(options.path);
        return read;
    }
    return tokenizer::Tokenizer::load(options.path, {.encoding = options.encoding});
}

bool is_utf8(const std::string& text) {
    boost::system::error_code error;
    (void)boost::json::parse(boost::json::serialize(boost::json::value(text)), error);
    return !error;
}

}  // namespace gym::app
