#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "data/data_print.hpp"
#include "data/data_registry.hpp"
#include "data/measure_command.hpp"
#include "data/tokenizer_process.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "tokenizer/tokenizer_input.hpp"

namespace gym::app {
namespace {

struct BuildOptions {
    std::string text;
    std::string output;
    std::string sentence_piece;  ///< model file; empty: a token is a byte, or of `tokenizer`
    TokenizerOptions tokenizer;
    std::uint32_t context = 0;  ///< 0: any length will do
};

void print(const CliContext& context, const blob::Dataset& dataset, const std::string& path,
           std::size_t file_bytes) {
    const auto train = dataset.tokens(blob::Split::kTrain).size();
    const auto validation = dataset.tokens(blob::Split::kValidation).size();
    if (context.json) {
        context.print_json({{"dataset_root", dataset.root().hex()},
                            {"tokens", dataset.tokens().size()},
                            {"train_tokens", train},
                            {"validation_tokens", validation},
                            {"vocabulary", dataset.vocabulary()},
                            {"file", path},
                            {"file_bytes", file_bytes}});
        return;
    }
    print_row("dataset root", "{}", dataset.root().hex());
    print_row("tokens", "{} ({} train, {} validation)", dataset.tokens().size(), train, validation);
    print_row("vocabulary", "{}", dataset.vocabulary());
    print_row("file", "{} ({} bytes)", path, file_bytes);
}

/// Each part must hold a window: a model of this context could not train or validate otherwise.
Status check_windows(const blob::Dataset& dataset, std::uint32_t context) {
    for (const blob::Split split : {blob::Split::kTrain, blob::Split::kValidation})
        GYM_CHECK(dataset.window_count(split, std::uint64_t{context} + 1));
    return {};
}

Result<blob::Dataset> dataset_of(const BuildOptions& options, ByteView text) {
    if (!options.sentence_piece.empty()) return tokenize(options.sentence_piece, text);
    if (options.tokenizer.path.empty()) return blob::Dataset::build_from_text(text);
    GYM_TRY(const auto tokenizer, read_tokenizer(options.tokenizer));
    return tokenize(tokenizer, text);
}

Status build(const CliContext& context, const BuildOptions& options) {
    GYM_TRY(const Bytes text, read_text(options.text));
    const std::string name = options.text == "-" ? "standard input" : options.text;
    if (text.empty()) return fail(ErrorCode::kInvalidArgument, name + " is empty");
    if (is_token_file(text))
        return fail(ErrorCode::kInvalidArgument,
                    name +
                        " is a token file already (`gym data show` prints what it holds); "
                        "--text takes a text");
    GYM_TRY(const auto dataset, dataset_of(options, text));
    if (options.context > 0) GYM_CHECK(check_windows(dataset, options.context));
    const Bytes file = dataset.encode();
    GYM_CHECK(write_file_atomic(options.output, file));
    print(context, dataset, options.output, file.size());
    return {};
}

void add_build(CLI::App& data, CliContext& context) {
    CLI::App* command = data.add_subcommand("build",
                                            "Make a token file from a text: a token is a byte, or "
                                            "one of --tokenizer or --sentencepiece");
    auto options = std::make_shared<BuildOptions>();
    command->add_option("--text", options->text, "Text file, or - for standard input")->required();
    command->add_option("-o,--output", options->output, "Token file to write")->required();
    add_tokenizer_options(*command, options->tokenizer);
    command
        ->add_option("--sentencepiece", options->sentence_piece,
                     "SentencePiece model (spm_train makes one) of at most 65536 pieces")
        ->excludes("--tokenizer");
    command->add_option("--context", options->context,
                        "Refuse a text that is too short for a model with this context");
    command->callback([&context, options] { context.finish(build(context, *options)); });
}

}  // namespace

Status show_dataset_file(const CliContext& context, const std::string& path) {
    GYM_TRY(const auto dataset, blob::Dataset::load(path, std::nullopt));
    print(context, dataset, path, dataset.encode().size());
    return {};
}

void add_data_commands(CLI::App& app, CliContext& context) {
    CLI::App* data = app.add_subcommand("data", "Build, register and measure datasets");
    data->require_subcommand(1);
    add_build(*data, context);
    add_data_registry_commands(*data, context);
    add_measure_command(*data, context);
}

}  // namespace gym::app
