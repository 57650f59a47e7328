#include <CLI/CLI.hpp>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/program_main.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "sentence_piece.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kTextBytesMax = std::uint64_t{1} << 33;

struct Options {
    std::string model;
    std::string input;
    std::string output;
};

Status encode(const Options& options) {
    GYM_TRY(const auto model, SentencePiece::load(options.model));
    GYM_TRY(const Bytes text, read_file(options.input, kTextBytesMax));
    GYM_TRY(std::vector<std::uint16_t> tokens, model.encode(text));
    GYM_TRY(const auto dataset, blob::Dataset::from_tokens(std::move(tokens), model.pieces()));
    return write_file_atomic(options.output, dataset.encode());
}

Status decode(const Options& options) {
    GYM_TRY(const auto model, SentencePiece::load(options.model));
    GYM_TRY(const auto dataset, blob::Dataset::load(options.input, std::nullopt));
    GYM_TRY(const std::string text, model.decode(dataset.tokens()));
    return write_file_atomic(options.output, as_bytes(text));
}

int run(int argc, char** argv) {
    CliContext context{.program = "gym-tokenizer"};
    Options options;
    CLI::App app{"Text to token files and back by a SentencePiece model", context.program};
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
    add("decode", "Make the text from a token file", decode);
    if (const auto code = parse_command_line(app, argc, argv)) return *code;
    return static_cast<int>(context.exit_code);
}

}  // namespace
}  // namespace gym::app

int main(int argc, char** argv) {
    return gym::app::program_main("gym-tokenizer", [&] { return gym::app::run(argc, argv); });
}
