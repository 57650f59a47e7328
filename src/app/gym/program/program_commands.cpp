#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/file_kind.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "data/evaluation_report.hpp"
#include "gym/common/file.hpp"
#include "gym/dispute/network_limit.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "program/memory_report.hpp"

namespace gym::app {
namespace {

using program::Program;

struct ProgramOptions {
    std::string model;
    std::string forward;
    std::string program;
    std::string output;
    std::string data;
    std::string seed = "0";
    std::string state_in;
    std::string folder;  ///< an exported model, in the place of program and state
    std::uint32_t windows = 64;
    engine::EngineOptions engine;
};

/// @param config what the program was built from; nullptr: not known.
Status print_summary(const CliContext& context, const Program& program, const std::string& file,
                     const program::TrainConfig* config) {
    const Digest root = program::program_root(program);
    const std::uint64_t parameters = program::parameter_count(program);
    const std::uint64_t flops = program::flops_per_step(program);
    const std::uint64_t state_bytes = program::state_bytes(program);
    GYM_TRY(const MemoryReport memory, memory_report(program, config));
    const std::string limit = dispute::network_limit(program);
    if (context.json) {
        boost::json::object json{{"program_root", root.hex()},
                                 {"ops", program.ops().size()},
                                 {"parameters", parameters},
                                 {"flops_per_step", flops},
                                 {"state_bytes", state_bytes}};
        for (const auto& [key, value] : memory_json(memory))
            json[key] = value;
        json["network_limit"] = nullptr;
        if (!limit.empty()) json["network_limit"] = limit;
        if (!file.empty()) json["file"] = file;
        context.print_json(json);
        return {};
    }
    print_row("program root", "{}", root.hex());
    print_row("ops", "{}", program.ops().size());
    print_row("parameters", "{}", parameters);
    print_row("FLOPs per step", "{} ({:.3g})", flops, static_cast<double>(flops));
    print_row("state bytes", "{}", state_bytes);
    print_memory(memory);
    if (!limit.empty()) print_row("network", "cannot train it: {}", limit);
    return {};
}

Result<program::TrainConfig> read_config(const ProgramOptions& options) {
    if (is_program(options.model))
        return fail(ErrorCode::kInvalidArgument,
                    options.model +
                        " is a program already (`gym program show` describes it); name "
                        "the model file or preset to make one of");
    if (options.forward.empty()) return program::load_train_config(options.model);
    GYM_TRY(Program forward, read_program(options.forward));
    return program::load_train_config(options.model,
                                      std::make_shared<const Program>(std::move(forward)));
}

Status build(const CliContext& context, const ProgramOptions& options) {
    const std::vector<std::string> inputs{options.model, options.forward};
    GYM_CHECK(check_output(options.output, inputs));
    GYM_TRY(const auto config, read_config(options));
    const auto built = program::train_program(config);
    if (!built.ok()) {
        Error error = with_size_advice(built.error().in(options.model), config);
        error.code = ErrorCode::kInvalidArgument;  // as read_program(): one code for all of them
        return error;
    }
    const Program& program = *built;
    if (!options.output.empty())
        GYM_CHECK(write_file_atomic(options.output, program::encode(program)));
    GYM_CHECK(print_summary(context, program, options.output, &config));
    if (!context.json && !options.output.empty()) print_row("written", "{}", options.output);
    return {};
}

Status show(const CliContext& context, const ProgramOptions& options) {
    GYM_TRY(const Program program, read_program(options.program));
    GYM_CHECK(print_summary(context, program, options.program, nullptr));
    if (context.json) return {};
    std::map<std::string, std::size_t> counts;
    for (const auto& op : program.ops())
        ++counts[std::string(program::to_string(op.code))];
    print_line("\nops by kind");
    for (const auto& [name, count] : counts)
        print_line("  {:<20} {}", name, count);
    print_line("\nparameters");
    for (const auto id : program.slots_of(program::SlotKind::kParam)) {
        const auto& slot = program.slot(id);
        print_line("  {:<36} {}", slot.name, program::to_string(slot.dims));
    }
    return {};
}

struct Evaluated {
    Program program;
    engine::State state;
};

/// A program and its state, or those of an exported model.
Result<Evaluated> read_evaluated(const ProgramOptions& options) {
    if (options.program.empty() == options.folder.empty())
        return fail(
            ErrorCode::kInvalidArgument,
            "name either a program, with --state, or --model FOLDER (`gym program export`)");
    if (!options.folder.empty()) {
        GYM_TRY(auto folder, interchange::read_model_folder(options.folder));
        return Evaluated{std::move(folder.program), std::move(folder.base)};
    }
    GYM_TRY(Program program, read_program(options.program));
    GYM_TRY(auto state, starting_state(program, options.state_in, options.seed));
    return Evaluated{std::move(program), std::move(state)};
}

Status evaluate(const CliContext& context, const ProgramOptions& options) {
    GYM_TRY(const Evaluated model, read_evaluated(options));
    GYM_TRY(const auto dataset, read_dataset(options.data));
    GYM_TRY(const auto result, evaluate_with_progress(model.program, model.state, dataset,
                                                      options.windows, options.engine));
    print_evaluation(context, result, options.windows);
    return {};
}

}  // namespace

void add_engine_options(CLI::App& command, engine::EngineOptions& options) {
    command.add_option("--threads", options.threads, "Number of threads; does not change results");
    command.add_option(
        "--isa", options.isa,
        "Instruction set: auto, scalar, avx2, avx512 or amx; does not change results");
    command.add_option("--device", options.device,
                       "Device: cpu, cuda or cuda:N; does not change results");
}

void add_program_commands(CLI::App& app, CliContext& context) {
    CLI::App* group =
        app.add_subcommand("program", "Build, show, train, evaluate and import programs");
    group->require_subcommand(1);
    auto options = std::make_shared<ProgramOptions>();

    CLI::App* build_command =
        group->add_subcommand("build", "Make a train program from a model file or preset");
    build_command
        ->add_option("model", options->model,
                     "Model file (YAML), or the name of a preset (`gym model list`)")
        ->required();
    build_command->add_option("--forward", options->forward,
                              "Train this imported program; the model file then has no `model`");
    build_command->add_option("-o,--output", options->output,
                              "Program file to write (default: none, print what it would be)");
    build_command->callback([&context, options] { context.finish(build(context, *options)); });

    CLI::App* show_command = group->add_subcommand("show", "Show the contents of a program file");
    show_command->add_option("program", options->program, "Program file")->required();
    show_command->callback([&context, options] { context.finish(show(context, *options)); });

    CLI::App* evaluate_command =
        group->add_subcommand("evaluate", "Compute the mean validation loss of a state");
    evaluate_command->add_option("program", options->program, "Program file");
    evaluate_command
        ->add_option("--model", options->folder,
                     "Folder of an exported model, in the place of program and state")
        ->excludes("program");
    evaluate_command->add_option("--data", options->data, "Token file or text")->required();
    evaluate_command
        ->add_option("--state", options->state_in, "State file (default: the initial state)")
        ->excludes("--model");
    evaluate_command->add_option("--seed", options->seed, "Job seed of the initial state");
    evaluate_command->add_option("--windows", options->windows,
                                 "Number of windows to average over");
    add_engine_options(*evaluate_command, options->engine);
    evaluate_command->callback(
        [&context, options] { context.finish(evaluate(context, *options)); });

    add_weights_commands(*group, context);
    add_import_command(*group, context);
}

}  // namespace gym::app
