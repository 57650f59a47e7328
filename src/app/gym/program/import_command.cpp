#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "program/torch_importer.hpp"

namespace gym::app {
namespace {

struct ImportOptions {
    std::string model;
    std::vector<std::string> samples;
    std::string output;
    std::string state;
};

std::string shape_of(const program::Slot& slot) {
    return std::string(commit::to_string(slot.dtype)) + " " + program::to_string(slot.dims);
}

/// Prints the commands that run the program; none runs a model that cannot be trained.
void print_use(const Status& training, const ImportOptions& options) {
    if (training.ok())
        print_row("use", "train it: gym program build TRAIN.yaml --forward {} (docs/TORCH.md)",
                  options.output);
    else
        print_row("use",
                  "cannot be trained: {}. No command of gym runs it; `gym program show` lists it, "
                  "and code that links gym::engine can run it",
                  training.error().message);
}

Status import_model(const CliContext& context, const ImportOptions& options) {
    GYM_CHECK(check_output(options.output));
    GYM_CHECK(check_output(options.state));
    GYM_CHECK(import_torchscript(options.model, options.samples, options.output, options.state));
    GYM_TRY(const auto program, read_program(options.output));
    GYM_TRY(const auto weights, read_state(options.state));
    const Digest root = program::program_root(program), base_root = engine::state_root(weights);
    const Status training = check_trainable(program);
    const auto& output = program.slot(program.outputs().front().slot);
    if (context.json) {
        boost::json::array inputs;
        for (const program::SlotId id : program.slots_of(program::SlotKind::kInput))
            inputs.emplace_back(shape_of(program.slot(id)));
        boost::json::object json{
            {"program_root", root.hex()},  {"base_root", base_root.hex()},
            {"ops", program.ops().size()}, {"parameters", program::parameter_count(program)},
            {"inputs", std::move(inputs)}, {"output", shape_of(output)},
            {"file", options.output},      {"state", options.state},
            {"trainable", training.ok()}};
        if (!training.ok()) json["not_trainable_because"] = training.error().message;
        context.print_json(json);
        return {};
    }
    print_row("program root", "{}", root.hex());
    print_row("base state root", "{}", base_root.hex());
    print_row("ops", "{}", program.ops().size());
    print_row("parameters", "{}", program::parameter_count(program));
    for (const program::SlotId id : program.slots_of(program::SlotKind::kInput))
        print_row(program.slot(id).name, "{}", shape_of(program.slot(id)));
    print_row("output", "{}", shape_of(output));
    print_use(training, options);
    print_row("written", "{}, {}", options.output, options.state);
    return {};
}

}  // namespace

void add_import_command(CLI::App& group, CliContext& context) {
    auto options = std::make_shared<ImportOptions>();
    CLI::App* command = group.add_subcommand(
        "import", "Make a program and its weights from a TorchScript model (docs/TORCH.md)");
    command->add_option("model", options->model, "File written by torch.jit.script(...).save()")
        ->required();
    command
        ->add_option("--sample-input", options->samples,
                     "Shape of an argument of forward(), like f32[8,20] or i64[2,16]; repeat for "
                     "each argument")
        ->required();
    command->add_option("-o,--output", options->output, "Program file to write")->required();
    command->add_option("--state", options->state, "File for the model's weights")->required();
    command->callback([&context, options] { context.finish(import_model(context, *options)); });
}

}  // namespace gym::app
