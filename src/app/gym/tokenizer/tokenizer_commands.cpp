#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "gym/common/printable.hpp"
#include "tokenizer/tokenizer_input.hpp"

namespace gym::app {
namespace {

struct TokenizerCommandOptions {
    TokenizerOptions tokenizer;
    std::string input = "-";
    bool special_tokens = false;
};

constexpr std::size_t kSpecialShownMax = 12;

/// "50256 <|endoftext|>".
std::string shown(const tokenizer::SpecialToken& token) {
    return std::to_string(token.id) + " " + without_controls(token.text);
}

void print_rows(const tokenizer::Tokenizer& tokenizer) {
    print_row("tokenizer", "{}", without_controls(tokenizer.name()));
    print_row("root", "{}", tokenizer.root().hex());
    print_row("vocabulary", "{}", tokenizer.vocabulary());
    if (const auto missing = tokenizer.vocabulary() - tokenizer.tokens(); missing > 0)
        print_row("ids without a token", "{}", missing);
    print_row("merges", "{}", tokenizer.merges());
    for (const std::string& pattern : tokenizer.patterns())
        print_row("pattern", "{}", without_controls(pattern));
    const auto& special = tokenizer.special_tokens();
    for (std::size_t i = 0; i < std::min(special.size(), kSpecialShownMax); ++i)
        print_row(i == 0 ? "special tokens" : "", "{}", shown(special[i]));
    if (special.size() > kSpecialShownMax)
        print_row("", "and {} more (--json lists all)", special.size() - kSpecialShownMax);
    const auto end = tokenizer.end_of_text();
    print_row("end of text", "{}", end ? std::to_string(*end) : "none");
}

boost::json::object to_json(const tokenizer::Tokenizer& tokenizer) {
    boost::json::array special;
    for (const auto& token : tokenizer.special_tokens())
        special.push_back(boost::json::object{{"id", token.id}, {"text", token.text}});
    const auto patterns = tokenizer.patterns();
    boost::json::value end;
    if (tokenizer.end_of_text()) end = *tokenizer.end_of_text();
    return {{"tokenizer", tokenizer.name()},
            {"root", tokenizer.root().hex()},
            {"vocabulary", tokenizer.vocabulary()},
            {"tokens", tokenizer.tokens()},
            {"merges", tokenizer.merges()},
            {"patterns", boost::json::array(patterns.begin(), patterns.end())},
            {"special_tokens", std::move(special)},
            {"end_of_text", std::move(end)}};
}

Status show(const CliContext& context, const TokenizerCommandOptions& options) {
    GYM_TRY(const auto tokenizer, read_tokenizer(options.tokenizer));
    if (context.json) {
        context.print_json(to_json(tokenizer));
    } else {
        print_rows(tokenizer);
    }
    return {};
}

Status encode(const CliContext& context, const TokenizerCommandOptions& options) {
    GYM_TRY(const auto tokenizer, read_tokenizer(options.tokenizer));
    GYM_TRY(const Bytes text, read_text(options.input));
    GYM_TRY(const auto tokens,
            tokenizer.encode({reinterpret_cast<const char*>(text.data()), text.size()},
                             {.special_tokens = options.special_tokens}));
    if (context.json) {
        context.print_json({{"count", tokens.size()},
                            {"tokens", boost::json::array(tokens.begin(), tokens.end())}});
        return {};
    }
    std::string line;
    for (const std::uint32_t token : tokens)
        line += (line.empty() ? "" : " ") + std::to_string(token);
    std::puts(line.c_str());
    return {};
}

/// Numbers with spaces, line ends or commas between them.
Result<std::vector<std::uint32_t>> parse_tokens(std::string_view text) {
    constexpr std::string_view kBetween = " \t\r\n,[]";
    std::vector<std::uint32_t> out;
    while (true) {
        const std::size_t begin = std::min(text.find_first_not_of(kBetween), text.size());
        text.remove_prefix(begin);
        if (text.empty()) return out;
        const std::string_view word = text.substr(0, text.find_first_of(kBetween));
        std::uint32_t token = 0;
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), token);
        if (error != std::errc() || stop != word.data() + word.size())
            return fail(ErrorCode::kInvalidArgument,
                        "\"" + printable_ascii(word, 40) +
                            "\" is not a token: write whole numbers with spaces between them");
        out.push_back(token);
        text.remove_prefix(word.size());
    }
}

Status decode(const CliContext& context, const TokenizerCommandOptions& options) {
    GYM_TRY(const auto tokenizer, read_tokenizer(options.tokenizer));
    GYM_TRY(const Bytes input, read_text(options.input));
    GYM_TRY(const auto tokens,
            parse_tokens({reinterpret_cast<const char*>(input.data()), input.size()}));
    GYM_TRY(const std::string text, tokenizer.decode(tokens));
    if (context.json) {
        boost::json::object out{{"bytes", to_hex(as_bytes(text))}};
        if (is_utf8(text)) out["text"] = text;
        context.print_json(out);
        return {};
    }
    (void)std::fwrite(text.data(), 1, text.size(), stdout);  // may hold zero bytes
    return {};
}

}  // namespace

void add_tokenizer_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand("tokenizer", "Inspect and try a byte-level BPE tokenizer");
    group->require_subcommand(1);
    const auto add = [&](const char* name, const char* description,
                         Status (*command)(const CliContext&, const TokenizerCommandOptions&)) {
        CLI::App* added = group->add_subcommand(name, description);
        auto options = std::make_shared<TokenizerCommandOptions>();
        added
            ->add_option("tokenizer", options->tokenizer.path,
                         "A tokenizer.json, a tiktoken rank file, a folder with one, or bytes")
            ->required();
        added->add_option("--encoding", options->tokenizer.encoding,
                          "Encoding of a rank file whose name does not say it");
        added->callback(
            [&context, options, command] { context.finish(command(context, *options)); });
        return std::pair(added, options);
    };
    add("show", "Show a tokenizer's root, vocabulary, pattern and special tokens", show);
    const auto [encoder, encode_options] = add("encode", "Print the tokens of a text", encode);
    encoder->add_option("--text", encode_options->input,
                        "Text file, or - for standard input (default)");
    encoder->add_flag("--special", encode_options->special_tokens,
                      "Read special tokens in the text, such as <|endoftext|>, as tokens");
    const auto [decoder, decode_options] = add("decode", "Print the text of tokens", decode);
    decoder->add_option("--tokens", decode_options->input,
                        "File of token numbers, or - for standard input (default)");
}

}  // namespace gym::app
