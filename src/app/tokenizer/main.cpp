#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/program_main.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "sentence_piece.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kModelBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kTextBytesMax = std::uint64_t{1} << 33;

struct Options {
    std::string model;
    std::string input;
    std::string output;
};

Status encode(const Options& options) {
    GYM_TRY(const auto model, SentencePiece::load(options.model));
    GYM_TRY(const Bytes text, read_file(options.input, kTextBytesMax));
    GYM_TRY(const std::vector<std::uint32_t> tokens, model.encode(text));
    GYM_TRY(const Bytes model_file, read_file(options.model, kModelBytesMax));
    GYM_TRY(const auto dataset,
            blob::Dataset::from_tokens(
                tokens, blob::Tokenization{model.pieces(), commit::sha256(model_file)}));
    return write_file_atomic(options.output, dataset.encode());
}

Status decode(const Options& options) {
    GYM_TRY(const auto model, SentencePiece::load(options.model));
    GYM_TRY(const auto dataset, blob::Dataset::load(options.input, std::nullopt));
    GYM_TRY(const std::string text, model.decode(dataset.tokens()));
    return write_file_atomic(options.output, as_bytes(text));
}

/// Reads exactly so much. @return false at the end of the input, if that is before the first byte.
bool read_whole(void* data, std::size_t size) {
    return std::fread(data, 1, size, stdin) == size;
}

/// Answers texts with tokens until standard input ends: src/data's encoder is at the other end.
/// First the vocabulary and the end of sentence, or 2^32 - 1; then for each text its size and its
/// bytes are read, and the number of tokens and the tokens written. Numbers as this machine has
/// them, u32.
Status serve(const Options& options) {
    constexpr std::uint32_t kServedTextBytesMax = 1U << 26;
    GYM_TRY(const auto model, SentencePiece::load(options.model));
    const std::array<std::uint32_t, 2> about{model.pieces(),
                                             model.end_of_sentence().value_or(0xffffffff)};
    std::fwrite(about.data(), sizeof about, 1, stdout);
    std::fflush(stdout);
    Bytes text;
    for (std::uint32_t size = 0; read_whole(&size, sizeof size);) {
        if (size > kServedTextBytesMax)
            return fail(ErrorCode::kOutOfRange, "a text of " + std::to_string(size) + " bytes");
        text.resize(size);
        if (!read_whole(text.data(), size)) return fail(ErrorCode::kIo, "the input is cut off");
        auto tokens = model.encode(text);
        if (!tokens.ok() && tokens.error().code != ErrorCode::kInvalidArgument)
            return tokens.error();
        const std::vector<std::uint32_t> found =
            tokens.ok() ? std::move(*tokens) : std::vector<std::uint32_t>();
        const auto count = static_cast<std::uint32_t>(found.size());
        std::fwrite(&count, sizeof count, 1, stdout);
        std::fwrite(found.data(), sizeof(std::uint32_t), found.size(), stdout);
        if (std::fflush(stdout) != 0) return {};  // nobody listens any more
    }
    return {};
}

int run(int argc, char** argv) {
    CliContext context{.program = "gym-tokenizer"};
    Options options;
    CLI::App app{"Convert text to token files and back with a SentencePiece model",
                 context.program};
    app.require_subcommand(1);
    const auto add = [&](const char* name, const char* description,
                         Status (*command)(const Options&)) {
        CLI::App* added = app.add_subcommand(name, description);
        added->add_option("--model", options.model, "SentencePiece model")->required();
        added->add_option("--input", options.input, "File to read")->required();
        added->add_option("-o,--output", options.output, "File to write")->required();
        added->callback([&, command] { context.finish(command(options)); });
    };
    add("encode", "Make a token file from a text", encode);
    add("decode", "Make a text from a token file", decode);
    CLI::App* served = app.add_subcommand(
        "serve", "Answer texts on standard input with tokens, for other programs");
    served->add_option("--model", options.model, "SentencePiece model")->required();
    served->callback([&] { context.finish(serve(options)); });
    if (const auto code = parse_command_line(app, argc, argv)) return *code;
    return static_cast<int>(context.exit_code);
}

}  // namespace
}  // namespace gym::app

int main(int argc, char** argv) {
    return gym::app::program_main("gym-tokenizer", [&] { return gym::app::run(argc, argv); });
}
