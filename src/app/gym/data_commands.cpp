#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "cli_context.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "inputs.hpp"

namespace gym::app {
namespace {

struct BuildOptions {
    std::string text;
    std::string output;
};

Status build(const CliContext& context, const BuildOptions& options) {
    GYM_TRY(const Bytes text, read_text(options.text));
    GYM_TRY(const auto dataset, blob::Dataset::build_from_text(text));
    const Bytes file = dataset.encode();
    GYM_CHECK(write_file_atomic(options.output, file));
    const auto train = dataset.tokens(blob::Split::kTrain).size();
    const auto validation = dataset.tokens(blob::Split::kValidation).size();
    if (context.json) {
        context.print_json({{"dataset_root", dataset.root().hex()},
                            {"tokens", dataset.tokens().size()},
                            {"train_tokens", train},
                            {"validation_tokens", validation},
                            {"vocabulary", dataset.vocabulary()},
                            {"file", options.output},
                            {"file_bytes", file.size()}});
        return {};
    }
    std::printf("dataset root       %s\n", dataset.root().hex().c_str());
    std::printf("tokens             %zu (%zu train, %zu validation)\n", dataset.tokens().size(),
                train, validation);
    std::printf("vocabulary         %u\n", dataset.vocabulary());
    std::printf("written            %s (%zu bytes)\n", options.output.c_str(), file.size());
    return {};
}

}  // namespace

void add_data_commands(CLI::App& app, CliContext& context) {
    CLI::App* data = app.add_subcommand("data", "Datasets: token files with a Merkle root");
    data->require_subcommand(1);
    CLI::App* command =
        data->add_subcommand("build", "Make a token file from a text, one token a byte");
    auto options = std::make_shared<BuildOptions>();
    command->add_option("--text", options->text, "Text file, or - for standard input")->required();
    command->add_option("-o,--output", options->output, "Token file to write")->required();
    command->callback([&context, options] { context.finish(build(context, *options)); });
}

}  // namespace gym::app
