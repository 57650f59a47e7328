#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "data/build_pipeline.hpp"
#include "data/build_print.hpp"
#include "data/data_file_commands.hpp"
#include "data/data_print.hpp"
#include "data/data_registry.hpp"
#include "data/measure_command.hpp"
#include "data/pull_command.hpp"
#include "data/tokenizer_process.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/common/file.hpp"
#include "gym/data/build_words.hpp"
#include "gym/data/text_tokens.hpp"
#include "gym/tokenizer/bundle_file.hpp"
#include "tokenizer/tokenizer_input.hpp"

namespace gym::app {
namespace {

struct BuildOptions {
    std::string text;            ///< the whole of it as it is; empty: `pipeline` says what
    std::string sentence_piece;  ///< model file; empty: a token is a byte, or of `tokenizer`
    TokenizerOptions tokenizer;
    data::BuildWords pipeline;
};

/// Absent: a token is a byte.
Result<data::OptionalTokenizer> tokenizer_of(const BuildOptions& options) {
    if (options.tokenizer.path.empty() || options.tokenizer.path == "bytes")
        return data::OptionalTokenizer();
    GYM_TRY(auto tokenizer, read_tokenizer(options.tokenizer));
    return data::OptionalTokenizer(std::move(tokenizer));
}

Result<blob::Dataset> dataset_of(const BuildOptions& options, ByteView text) {
    if (!options.sentence_piece.empty()) return tokenize(options.sentence_piece, text);
    GYM_TRY(const data::OptionalTokenizer tokenizer, tokenizer_of(options));
    return data::tokens_of_text(text, tokenizer);
}

/// Writes the tokenizer's files beside the output; bytes have none.
Status write_bundle(const BuildOptions& options) {
    std::vector<tokenizer::TokenizerFile> files;
    if (!options.sentence_piece.empty()) {
        GYM_TRY(Bytes model, read_file(options.sentence_piece, tokenizer::kBundleBytesMax));
        files.push_back({"tokenizer.model", std::move(model)});
    } else {
        GYM_TRY(const data::OptionalTokenizer tokenizer, tokenizer_of(options));
        if (tokenizer) files = tokenizer->files();
    }
    if (files.empty()) return {};
    return tokenizer::write_bundle(options.pipeline.output, std::move(files));
}

/// One text as it is, without steps and manifest.
Status build_text(const CliContext& context, const BuildOptions& options) {
    GYM_CHECK(check_output(options.pipeline.output, std::span(&options.text, 1)));
    GYM_TRY(const Bytes text, read_text(options.text));
    const std::string name = options.text == "-" ? "standard input" : options.text;
    if (text.empty()) return fail(ErrorCode::kInvalidArgument, name + " is empty");
    if (blob::is_token_file(text))
        return fail(ErrorCode::kInvalidArgument,
                    name +
                        " is a token file already (`gym data show` prints what it holds); "
                        "--text takes a text");
    GYM_TRY(const auto dataset, dataset_of(options, text));
    const Bytes file = dataset.encode();
    const blob::DatasetSummary summary{.root = dataset.root(),
                                       .vocabulary = dataset.vocabulary(),
                                       .tokens = dataset.tokens().size(),
                                       .file_bytes = file.size(),
                                       .tokenizer = dataset.tokenizer()};
    // A model of this context could not train or validate otherwise.
    if (const std::uint32_t length = options.pipeline.context; length > 0)
        GYM_CHECK(summary.check_windows(std::uint64_t{length} + 1));
    GYM_CHECK(write_file_atomic(options.pipeline.output, file));
    GYM_CHECK(write_bundle(options));
    print_summary(context, summary, options.pipeline.output);
    return {};
}

Result<data::EncoderFactory> encoder_of(const BuildOptions& options) {
    using Made = Result<std::unique_ptr<data::Encoder>>;
    if (!options.sentence_piece.empty())
        return data::EncoderFactory(
            [model = options.sentence_piece] { return data::sentence_piece_encoder(model); });
    GYM_TRY(const data::OptionalTokenizer tokenizer, tokenizer_of(options));
    return data::EncoderFactory([tokenizer]() -> Made { return data::encoder_of(tokenizer); });
}

Status build(const CliContext& context, const BuildOptions& options) {
    if (options.text.empty() == options.pipeline.inputs.empty())
        return fail(ErrorCode::kInvalidArgument,
                    options.text.empty() ? "name files, folders or URLs to build from, or --text"
                                         : "--text takes one text as it is; leave it out to build "
                                           "from documents");
    if (!options.text.empty()) return build_text(context, options);
    GYM_CHECK(check_output(options.pipeline.output, options.pipeline.inputs));
    GYM_TRY(const data::EncoderFactory encoder, encoder_of(options));
    GYM_CHECK(run_pipeline(context, options.pipeline, encoder));
    return write_bundle(options);
}

void add_build(CLI::App& data, CliContext& context) {
    CLI::App* command = data.add_subcommand(
        "build",
        "Make a token file from documents: clean them, drop duplicates, say where each is from");
    auto options = std::make_shared<BuildOptions>();
    add_pipeline_options(*command, options->pipeline);
    command->add_option("--text", options->text,
                        "Instead of documents: one text as it is, or - for standard input");
    command->add_option("-o,--output", options->pipeline.output, "Token file to write")->required();
    add_tokenizer_options(*command, options->tokenizer);
    command
        ->add_option("--sentencepiece", options->sentence_piece,
                     "SentencePiece model (spm_train makes one)")
        ->excludes("--tokenizer");
    command->add_option("--context", options->pipeline.context,
                        "Refuse a text that is too short for a model with this context");
    command->callback([&context, options] { context.finish(build(context, *options)); });
}

}  // namespace

Status show_dataset_file(const CliContext& context, const std::string& path) {
    GYM_TRY(const auto summary, blob::scan_dataset(path));
    print_summary(context, summary, path);
    return {};
}

void add_data_commands(CLI::App& app, CliContext& context) {
    CLI::App* data = app.add_subcommand("data", "Build, register and measure datasets");
    data->require_subcommand(1);
    add_build(*data, context);
    add_data_file_commands(*data, context);
    add_data_registry_commands(*data, context);
    add_measure_command(*data, context);
    add_pull_command(*data, context);
}

}  // namespace gym::app
