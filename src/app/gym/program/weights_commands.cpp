#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/interchange/weights_file.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::app {
namespace {

constexpr const char* kAutomatic = "auto";

struct WeightsOptions {
    std::string program;
    std::string state;
    std::vector<std::string> files;
    std::string output;
    std::string names = kAutomatic;
};

void print_result(const CliContext& context, const WeightsOptions& options,
                  const std::string& naming, std::size_t tensors, const Digest& base_root) {
    if (context.json) {
        context.print_json({{"names", naming},
                            {"tensors", tensors},
                            {"base_root", base_root.hex()},
                            {"file", options.output}});
        return;
    }
    print_row("tensors", "{}, with the names of {}", tensors, naming);
    print_row("base state root", "{}", base_root.hex());
    print_row("written", "{}", options.output);
}

Status export_weights(const CliContext& context, const WeightsOptions& options) {
    const std::vector<std::string> inputs{options.program, options.state};
    GYM_CHECK(check_output(options.output, inputs));
    GYM_TRY(const auto program, read_program(options.program));
    GYM_TRY(const auto state, read_state(options.state, program));
    const std::string naming =
        options.names == kAutomatic ? interchange::naming_of(program) : options.names;
    GYM_TRY(const auto base, engine::base_of(program, state));
    const Digest root = engine::state_root(base);
    // Transformers reads files whose format is "pt".
    GYM_TRY(
        const std::size_t tensors,
        interchange::write_weights(options.output, program, base, naming,
                                   {{"format", "pt"},
                                    {"gym.base_root", root.hex()},
                                    {"gym.program_root", program::program_root(program).hex()}}));
    print_result(context, options, naming, tensors, root);
    return {};
}

/// What --tokenizer names, else what `program run` put beside the state.
std::vector<std::string> tokenizer_sources(const WeightsOptions& options) {
    if (!options.files.empty()) return options.files;
    const std::filesystem::path beside = tokenizer::bundle_path(options.state);
    std::error_code unknown;
    if (!std::filesystem::exists(beside, unknown)) return {};
    return {beside.string()};
}

Status export_folder(const CliContext& context, const WeightsOptions& options) {
    GYM_CHECK(interchange::check_model_folder(options.output));
    interchange::ModelFolder folder;
    GYM_TRY(folder.tokenizer, read_tokenizer_files(tokenizer_sources(options)));
    GYM_TRY(const auto program, read_program(options.program));
    GYM_TRY(const auto state, read_state(options.state, program));
    GYM_CHECK(check_free_space(std::filesystem::path(options.output) / "model.safetensors",
                               interchange::model_folder_bytes(program, folder)));
    GYM_TRY(const auto written,
            interchange::write_model_folder(options.output, program, state, folder));
    const program::SlotId logits = program.find_output(program::kLogitsOutput);
    if (folder.tokenizer.empty() && logits != program::kNoSlot &&
        program.slot(logits).dims.back() != blob::kByteVocabulary)
        print_notice(
            "no tokenizer",
            "the model's tokens are not bytes: --tokenizer names that of its data, so that "
            "the folder says what they spell");
    if (context.json) {
        context.print_json({{"names", written.names},
                            {"tensors", written.tensors},
                            {"program_root", written.program_root.hex()},
                            {"base_root", written.state_root.hex()},
                            {"for_transformers", written.for_transformers},
                            {"folder", options.output}});
        return {};
    }
    print_row("tensors", "{}, with the names of {}", written.tensors, written.names);
    if (!written.for_transformers)
        print_row("", "transformers have no model of this form; `gym` reads the folder");
    print_row("base state root", "{}", written.state_root.hex());
    print_row("written", "{}", options.output);
    return {};
}

/// Whether this machine can hold the files, the state made of them and that state's file.
Status check_weight_files(const program::Program& program, const std::vector<std::string>& files) {
    std::uint64_t bytes = 2 * program::state_bytes(program);
    for (const std::string& path : files) {
        std::error_code unknown;  // then reading says what is wrong
        const std::uint64_t size = std::filesystem::file_size(path, unknown);
        if (!unknown) bytes += size;
    }
    return check_memory("importing these weights", bytes);
}

Status import_weights(const CliContext& context, const WeightsOptions& options) {
    std::vector<std::string> inputs = options.files;
    inputs.push_back(options.program);
    GYM_CHECK(check_output(options.output, inputs));
    GYM_CHECK(check_holds_no_run(options.output));
    GYM_TRY(const auto program, read_program(options.program));
    GYM_CHECK(check_weight_files(program, options.files));
    GYM_TRY(const auto weights,
            interchange::load_weight_files({options.files.begin(), options.files.end()}, program,
                                           options.names == kAutomatic ? "" : options.names));
    GYM_TRY(const auto state, engine::with_fresh_optimizer(program, weights.base));
    GYM_CHECK(write_file_atomic(options.output, engine::encode_state(state)));
    print_result(context, options, weights.names, weights.tensors,
                 engine::state_root(weights.base));
    return {};
}

void add_common(CLI::App& command, WeightsOptions& options, const char* output) {
    command.add_option("program", options.program, "Program file")->required();
    command.add_option("-o,--output", options.output, output)->required();
    std::string names = kAutomatic;
    for (const std::string& name : interchange::naming_names())
        names += ", " + name;
    command.add_option("--names", options.names, "Tensor names: " + names);
}

}  // namespace

void add_weights_commands(CLI::App& group, CliContext& context) {
    auto options = std::make_shared<WeightsOptions>();
    CLI::App* folder_command = group.add_subcommand(
        "export", "Write a state's model as a folder that Hugging Face's from_pretrained reads");
    folder_command->add_option("program", options->program, "Program file")->required();
    folder_command->add_option("--state", options->state, "State file")->required();
    folder_command
        ->add_option("-o,--output", options->output, "Folder to write: new, empty, or of an export")
        ->required();
    folder_command->add_option("--tokenizer", options->files,
                               "Files of the data's tokenizer, or its folder, to put beside the "
                               "weights (default: those that "
                               "lay beside the data when `gym program run` trained the state)");
    folder_command->callback(
        [&context, options] { context.finish(export_folder(context, *options)); });

    CLI::App* export_command = group.add_subcommand(
        "export-weights", "Write a state's parameters as safetensors, with Hugging Face names");
    add_common(*export_command, *options, "safetensors file to write");
    export_command->add_option("--state", options->state, "State file")->required();
    export_command->callback(
        [&context, options] { context.finish(export_weights(context, *options)); });

    CLI::App* import_command = group.add_subcommand(
        "import-weights", "Make a training state from the weights in safetensors files");
    add_common(*import_command, *options, "State file to write");
    import_command->add_option("weights", options->files, "safetensors files: one, or all parts")
        ->required();
    import_command->callback(
        [&context, options] { context.finish(import_weights(context, *options)); });
}

}  // namespace gym::app
