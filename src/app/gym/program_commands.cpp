#include <CLI/CLI.hpp>
#include <bit>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "cli_context.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "inputs.hpp"
#include "memory_report.hpp"
#include "record_json.hpp"
#include "training_progress.hpp"

namespace gym::app {
namespace {

using program::Program;

struct Options {
    std::string model;
    std::string forward;
    std::string program;
    std::string output;
    std::string data;
    std::string seed = "0";
    std::string records;
    std::string state_in;
    std::string state_out;
    std::uint32_t steps = 0;
    std::uint32_t checkpoint_every = 0;
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
    if (context.json) {
        boost::json::object json{{"program_root", root.hex()},
                                 {"ops", program.ops().size()},
                                 {"parameters", parameters},
                                 {"flops_per_step", flops},
                                 {"state_bytes", state_bytes}};
        for (const auto& [key, value] : memory_json(memory))
            json[key] = value;
        json["file"] = file;
        context.print_json(json);
        return {};
    }
    std::printf("program root       %s\n", root.hex().c_str());
    std::printf("ops                %zu\n", program.ops().size());
    std::printf("parameters         %llu\n", static_cast<unsigned long long>(parameters));
    std::printf("FLOPs per step     %llu (%.3g)\n", static_cast<unsigned long long>(flops),
                static_cast<double>(flops));
    std::printf("state bytes        %llu\n", static_cast<unsigned long long>(state_bytes));
    print_memory(memory);
    return {};
}

Result<program::TrainConfig> read_config(const Options& options) {
    if (options.forward.empty()) return program::load_train_config(options.model);
    GYM_TRY(Program forward, read_program(options.forward));
    return program::load_train_config(options.model,
                                      std::make_shared<const Program>(std::move(forward)));
}

Status build(const CliContext& context, const Options& options) {
    GYM_TRY(const auto config, read_config(options));
    const auto built = program::train_program(config);
    if (!built.ok()) return built.error().in(options.model);
    const Program& program = *built;
    GYM_CHECK(write_file_atomic(options.output, program::encode(program)));
    GYM_CHECK(print_summary(context, program, options.output, &config));
    if (!context.json) std::printf("written            %s\n", options.output.c_str());
    return {};
}

Status show(const CliContext& context, const Options& options) {
    GYM_TRY(const Program program, read_program(options.program));
    GYM_CHECK(print_summary(context, program, options.program, nullptr));
    if (context.json) return {};
    std::map<std::string, std::size_t> counts;
    for (const auto& op : program.ops())
        ++counts[std::string(program::to_string(op.code))];
    std::printf("\nops by kind\n");
    for (const auto& [name, count] : counts)
        std::printf("  %-20s %zu\n", name.c_str(), count);
    std::printf("\nparameters\n");
    for (const auto id : program.slots_of(program::SlotKind::param)) {
        const auto& slot = program.slot(id);
        std::printf("  %-36s %s\n", slot.name.c_str(), program::to_string(slot.dims).c_str());
    }
    return {};
}

void print_record(const CliContext& context, const engine::StepRecord& record) {
    if (context.json) {
        context.print_json(to_json(record));
        return;
    }
    std::printf("step %5llu  loss %.6f  grad norm %.6f  batch %s",
                static_cast<unsigned long long>(record.step),
                static_cast<double>(std::bit_cast<float>(record.loss_bits)),
                static_cast<double>(std::bit_cast<float>(record.grad_norm_bits)),
                record.batch_root.hex().substr(0, 18).c_str());
    if (record.skipped) std::printf("  skipped");
    if (record.state_root) std::printf("  state %s", record.state_root->hex().c_str());
    std::printf("\n");
}

void print_run(const CliContext& context, const std::vector<engine::StepRecord>& records,
               const Digest& final_root, std::uint64_t tokens, double seconds) {
    const double speed = static_cast<double>(tokens) / std::max(seconds, 1e-9);
    if (context.json) {
        context.print_json({{"final_state_root", final_root.hex()},
                            {"records_root", engine::records_root(records).hex()},
                            {"steps", records.size()},
                            {"tokens", tokens},
                            {"seconds", seconds},
                            {"tokens_per_second", speed}});
        return;
    }
    std::printf("records root       %s\n", engine::records_root(records).hex().c_str());
    std::printf("final state root   %s\n", final_root.hex().c_str());
    std::printf("tokens             %llu in %.1f s, %.0f a second\n",
                static_cast<unsigned long long>(tokens), seconds, speed);
}

Status write_records(const std::string& path, const std::vector<engine::StepRecord>& records) {
    std::string lines;
    for (const auto& record : records)
        lines += boost::json::serialize(to_json(record)) + "\n";
    return write_file_atomic(path, as_bytes(lines));
}

Result<engine::State> starting_state(const Program& program, const Options& options) {
    if (options.state_in.empty()) return engine::initial_state(program, parse_seed(options.seed));
    GYM_TRY(engine::State state, read_state(options.state_in));
    // Parameters alone (an import's weights, a round's base state) begin with a fresh optimizer.
    auto fresh = engine::with_fresh_optimizer(program, state);
    if (fresh.ok()) return fresh;
    return state;
}

Status train(const CliContext& context, const Options& options) {
    GYM_CHECK(check_output(options.records));
    GYM_CHECK(check_output(options.state_out));
    GYM_TRY(const Program program, read_program(options.program));
    GYM_TRY(const auto dataset, read_dataset(options.data));
    GYM_TRY(auto state, starting_state(program, options));
    const engine::TrainSpec spec{
        {parse_seed(options.seed), 0, 0}, options.steps, options.checkpoint_every};
    GYM_TRY(auto trainer,
            engine::Trainer::create(program, std::move(state), dataset, spec, options.engine));
    const InterruptGuard interrupt;
    TrainingProgress progress("training");
    const auto start = std::chrono::steady_clock::now();
    std::vector<engine::StepRecord> records;
    std::uint64_t tokens = 0;
    double seconds = 0;
    while (records.size() < options.steps && !interrupt.interrupted()) {
        GYM_TRY(const auto record, trainer.step());
        print_record(context, record);
        tokens += trainer.tokens_per_step();
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        progress.show({record.step + 1, options.steps, std::bit_cast<float>(record.loss_bits),
                       static_cast<double>(tokens) / std::max(seconds, 1e-9)});
        records.push_back(record);
    }
    progress.finish();
    if (!options.records.empty()) GYM_CHECK(write_records(options.records, records));
    GYM_TRY(const engine::State* trained, trainer.state());
    if (!options.state_out.empty())
        GYM_CHECK(write_file_atomic(options.state_out, engine::encode_state(*trained)));
    print_run(context, records, engine::state_root(*trained, options.engine.threads), tokens,
              seconds);
    if (interrupt.interrupted())
        return fail(
            ErrorCode::kCancelled,
            "interrupted after " + std::to_string(records.size()) + " of " +
                std::to_string(options.steps) + " steps" +
                (options.state_out.empty() ? "; with --state FILE the state would have been kept"
                                           : "; what is done is kept, --from " + options.state_out +
                                                 " goes on from there"));
    return {};
}

Status evaluate(const CliContext& context, const Options& options) {
    GYM_TRY(const Program program, read_program(options.program));
    GYM_TRY(const auto dataset, read_dataset(options.data));
    GYM_TRY(const auto state, starting_state(program, options));
    GYM_TRY(const auto result,
            engine::evaluate(program, state, dataset, options.windows, options.engine));
    if (context.json) {
        context.print_json({{"validation_loss", result.mean_loss},
                            {"perplexity", result.perplexity},
                            {"evaluation_program_root", result.program_root.hex()},
                            {"evaluation_root", result.root.hex()},
                            {"windows", result.windows},
                            {"tokens", result.tokens}});
        return {};
    }
    std::printf("validation loss    %.6f nats per %s, %u %s, %llu tokens\n",
                static_cast<double>(result.mean_loss), result.classifies ? "row" : "token",
                result.windows, result.classifies ? "rows" : "windows",
                static_cast<unsigned long long>(result.tokens));
    std::printf("perplexity         %.4f\n", static_cast<double>(result.perplexity));
    std::printf("evaluation root    %s\n", result.root.hex().c_str());
    return {};
}

void add_run(CLI::App& parent, CliContext& context, const std::shared_ptr<Options>& options) {
    CLI::App* run =
        parent.add_subcommand("run", "Train on this machine and print each step's record");
    run->add_option("program", options->program, "Program file")->required();
    run->add_option("--data", options->data, "Token file or text")->required();
    run->add_option("--steps", options->steps, "Optimizer steps")->required();
    run->add_option("--seed", options->seed, "Job seed: 64 hexadecimal digits, or any text");
    run->add_option("--checkpoint-every", options->checkpoint_every,
                    "Gradient and state roots every so many steps (always at the last)");
    run->add_option("--records", options->records, "File for the records, a JSON object a line");
    run->add_option("--state", options->state_out, "File for the final state");
    run->add_option("--from", options->state_in,
                    "State to start from: of a run, or parameters alone");
    add_engine_options(*run, options->engine);
    run->callback([&context, options] { context.finish(train(context, *options)); });
}

}  // namespace

void add_engine_options(CLI::App& command, engine::EngineOptions& options) {
    command.add_option("--threads", options.threads, "Threads; results do not depend on it");
    command.add_option("--isa", options.isa,
                       "auto, scalar, avx2, avx512 or amx; results do not depend on it");
    command.add_option("--device", options.device,
                       "cpu, cuda or cuda:N; results do not depend on it");
}

void add_program_commands(CLI::App& app, CliContext& context) {
    CLI::App* group =
        app.add_subcommand("program", "Programs: build, show, train locally, evaluate");
    group->require_subcommand(1);
    auto options = std::make_shared<Options>();

    CLI::App* build_command =
        group->add_subcommand("build", "Make a train program from a model file");
    build_command->add_option("model", options->model, "Model file (YAML)")->required();
    build_command->add_option("--forward", options->forward,
                              "Imported program to train; the model file then has no `model`");
    build_command->add_option("-o,--output", options->output, "Program file to write")->required();
    build_command->callback([&context, options] { context.finish(build(context, *options)); });

    CLI::App* show_command = group->add_subcommand("show", "What a program file holds");
    show_command->add_option("program", options->program, "Program file")->required();
    show_command->callback([&context, options] { context.finish(show(context, *options)); });

    add_run(*group, context, options);

    CLI::App* evaluate_command =
        group->add_subcommand("evaluate", "Mean validation loss of a state");
    evaluate_command->add_option("program", options->program, "Program file")->required();
    evaluate_command->add_option("--data", options->data, "Token file or text")->required();
    evaluate_command->add_option("--state", options->state_in,
                                 "State file (default: the initial state)");
    evaluate_command->add_option("--seed", options->seed, "Job seed of the initial state");
    evaluate_command->add_option("--windows", options->windows, "Windows to average over");
    add_engine_options(*evaluate_command, options->engine);
    evaluate_command->callback(
        [&context, options] { context.finish(evaluate(context, *options)); });

    add_weights_commands(*group, context);
    add_import_command(*group, context);
}

}  // namespace gym::app
