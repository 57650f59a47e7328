#include <CLI/CLI.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/record_json.hpp"
#include "cli/rows.hpp"
#include "gym/common/file.hpp"
#include "gym/common/plural.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/codec.hpp"
#include "program/run_resume.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

using program::Program;

constexpr std::uint64_t kUnitFileBytesMax = std::uint64_t{1} << 30;

struct UnitOptions {
    std::string program;
    std::string data;
    std::string base;
    std::string unit;
    std::string delta_out;
    std::string state_out;
    std::string seed = "0";
    std::uint64_t round = 0;
    std::uint32_t slot = 0;
    std::uint32_t steps = 0;
    std::uint32_t checkpoint_every = 0;
    engine::EngineOptions engine;
};

/// The base state of a file (a training state's parameters do too), or the job's initial one.
Result<engine::State> read_base(const Program& program, const UnitOptions& options,
                                const Digest& job_seed) {
    if (options.base.empty()) {
        GYM_TRY(const auto initial, engine::initial_state(program, job_seed));
        return engine::base_of(program, initial);
    }
    GYM_TRY(const auto state, read_state(options.base));
    return engine::base_of(program, state);
}

/// @param resume nullptr: an interrupted run is lost.
Result<engine::UnitResult> run_with_progress(const Program& program, const engine::State& base,
                                             const blob::Dataset& dataset,
                                             const engine::UnitSpec& spec,
                                             const UnitOptions& options, const char* label,
                                             RunResume* resume) {
    const InterruptGuard interrupt;
    TrainingProgress progress(label);
    std::stop_source stop;
    engine::RunOptions run;
    run.engine = options.engine;
    run.cancel = stop.get_token();
    run.progress = [&](const engine::UnitProgress& at) {
        progress.show(at);
        if (interrupt.interrupted()) stop.request_stop();
    };
    if (resume != nullptr) resume->attach(run, stop.get_token());
    return engine::run_unit({program, base, dataset, spec}, run);
}

UnitFile file_of(const engine::UnitSpec& spec, const engine::UnitResult& result) {
    return {spec,
            result.records,
            result.records_root,
            result.final_state_root,
            result.delta.root(),
            result.tokens,
            result.flops};
}

Status run(const CliContext& context, const UnitOptions& options) {
    const std::vector<std::string> inputs{options.program, options.data, options.base};
    for (const std::string& path : {options.unit, options.delta_out, options.state_out})
        GYM_CHECK(check_output(path, inputs));
    GYM_TRY(const Program program, read_program(options.program));
    GYM_TRY(const auto dataset, read_dataset(options.data));
    const Digest seed = parse_seed(options.seed);
    GYM_TRY(const auto base, read_base(program, options, seed));
    const engine::UnitSpec spec{seed,
                                options.round,
                                options.slot,
                                options.steps,
                                options.checkpoint_every,
                                program::program_root(program),
                                dataset.root(),
                                engine::state_root(base, options.engine.threads)};
    GYM_TRY(RunResume resume,
            RunResume::open("gym unit run", spec, options.unit, options.engine.threads));
    const auto outcome = run_with_progress(program, base, dataset, spec, options, "unit", &resume);
    if (!outcome.ok()) return resume.explain(outcome.error());
    const engine::UnitResult& result = *outcome;
    const auto document = to_json(file_of(spec, result));
    GYM_CHECK(write_file_atomic(options.unit, as_bytes(boost::json::serialize(document) + "\n")));
    if (!options.delta_out.empty())
        GYM_CHECK(write_file_atomic(options.delta_out, result.delta.bytes()));
    if (!options.state_out.empty())
        GYM_CHECK(write_file_atomic(options.state_out, engine::encode_state(result.final_state)));
    resume.finish();
    if (context.json) {
        context.print_json({{"records_root", result.records_root.hex()},
                            {"final_state_root", result.final_state_root.hex()},
                            {"delta_root", result.delta.root().hex()},
                            {"tokens", result.tokens},
                            {"flops", result.flops},
                            {"last_loss", result.last_loss},
                            {"file", options.unit}});
        return {};
    }
    print_row("records root", "{}", result.records_root.hex());
    print_row("final state root", "{}", result.final_state_root.hex());
    print_row("delta root", "{}", result.delta.root().hex());
    print_row("last loss", "{:.6f}", static_cast<double>(result.last_loss));
    print_row("written", "{}", options.unit);
    return {};
}

Result<UnitFile> read_unit(const std::string& path) {
    GYM_TRY(const Bytes content, read_file(path, kUnitFileBytesMax));
    boost::system::error_code error;
    const auto value =
        boost::json::parse({reinterpret_cast<const char*>(content.data()), content.size()}, error);
    if (error) return fail(ErrorCode::kMalformed, path + " is not JSON: " + error.message());
    auto unit = unit_from_json(value);
    if (!unit.ok()) return unit.error().in(path);
    return unit;
}

/// The first way in which `claimed` is not what `result` says; records before roots, since they
/// name a step.
std::optional<engine::RecordDifference> first_difference(const UnitFile& claimed,
                                                         const engine::UnitResult& result) {
    if (auto difference = engine::find_first_difference(result.records, claimed.records))
        return difference;
    const std::uint64_t last = claimed.spec.steps - std::uint64_t{1};
    const auto compare = [&](const char* field, const auto& expected,
                             const auto& found) -> std::optional<engine::RecordDifference> {
        if (expected == found) return std::nullopt;
        if constexpr (std::is_same_v<std::decay_t<decltype(expected)>, Digest>)
            return engine::RecordDifference{last, field, expected.hex(), found.hex()};
        else
            return engine::RecordDifference{last, field, std::to_string(expected),
                                            std::to_string(found)};
    };
    if (auto d = compare("records_root", result.records_root, claimed.records_root)) return d;
    if (auto d = compare("final_state_root", result.final_state_root, claimed.final_state_root))
        return d;
    if (auto d = compare("delta_root", result.delta.root(), claimed.delta_root)) return d;
    if (auto d = compare("tokens", result.tokens, claimed.tokens)) return d;
    return compare("flops", result.flops, claimed.flops);
}

/// The verifier's own input files must match the claim: a wrong file is not the worker's fault.
Status check_inputs(const engine::UnitSpec& spec, const Program& program,
                    const blob::Dataset& dataset, const engine::State& base,
                    const UnitOptions& options) {
    const auto check = [](const char* what, const std::string& file, const Digest& has,
                          const Digest& wanted) -> Status {
        if (has == wanted) return {};
        return fail(ErrorCode::kInvalidArgument, file + " is not the " + what +
                                                     " of this unit: it has root " + has.hex() +
                                                     ", the unit names " + wanted.hex());
    };
    GYM_CHECK(check("program", options.program, program::program_root(program), spec.program_root));
    GYM_CHECK(check("dataset", options.data, dataset.root(), spec.dataset_root));
    return check("base state", options.base.empty() ? "the initial state (--base)" : options.base,
                 engine::state_root(base, options.engine.threads), spec.base_state_root);
}

Status verify(const CliContext& context, const UnitOptions& options) {
    GYM_TRY(const UnitFile claimed, read_unit(options.unit));
    GYM_TRY(const Program program, read_program(options.program));
    GYM_TRY(const auto dataset, read_dataset(options.data));
    GYM_TRY(const auto base, read_base(program, options, claimed.spec.job_seed));
    GYM_CHECK(check_inputs(claimed.spec, program, dataset, base, options));
    GYM_TRY(const auto result,
            run_with_progress(program, base, dataset, claimed.spec, options, "verifying", nullptr));
    const auto difference = first_difference(claimed, result);
    if (difference) {
        if (context.json) {
            context.print_json({{"verified", false},
                                {"step", difference->step},
                                {"field", difference->field},
                                {"recomputed", difference->expected},
                                {"claimed", difference->found}});
        }
        return fail(ErrorCode::kMismatch, "step " + std::to_string(difference->step) + ": " +
                                              difference->field + " is " + difference->found +
                                              " in the unit, recomputed " + difference->expected);
    }
    if (context.json) {
        context.print_json({{"verified", true},
                            {"steps", claimed.spec.steps},
                            {"records_root", result.records_root.hex()},
                            {"final_state_root", result.final_state_root.hex()}});
        return {};
    }
    print_row("verified", "{}, bit for bit", counted(claimed.spec.steps, "step"));
    print_row("final state root", "{}", result.final_state_root.hex());
    return {};
}

void add_inputs(CLI::App& command, UnitOptions& options) {
    command.add_option("--data", options.data, "Token file or text")->required();
    command.add_option("--base", options.base,
                       "Base state file (default: the job's initial state)");
    add_engine_options(command, options.engine);
}

}  // namespace

void add_unit_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand("unit", "Run or verify a unit of work");
    group->require_subcommand(1);
    auto options = std::make_shared<UnitOptions>();

    CLI::App* run_command = group->add_subcommand("run",
                                                  "Run a unit and write its commitment records; "
                                                  "the same command resumes after an interruption");
    run_command->add_option("program", options->program, "Program file")->required();
    add_inputs(*run_command, *options);
    run_command->add_option("--steps", options->steps, "Number of inner optimizer steps")
        ->required();
    run_command->add_option("--checkpoint-every", options->checkpoint_every,
                            "Record roots every so many steps");
    run_command->add_option("--seed", options->seed,
                            "Job seed: 64 hexadecimal digits, or any text");
    run_command->add_option("--round", options->round, "Round of the job");
    run_command->add_option("--slot", options->slot, "Slot of the round");
    run_command->add_option("-o,--output", options->unit, "Unit file to write")->required();
    run_command->add_option("--delta", options->delta_out, "File for the delta");
    run_command->add_option("--state", options->state_out, "File for the final state");
    run_command->callback([&context, options] { context.finish(run(context, *options)); });

    CLI::App* verify_command =
        group->add_subcommand("verify",
                              "Run a unit again and compare every bit; if it differs, name the "
                              "first differing step and exit with 3");
    verify_command->add_option("unit", options->unit, "Unit file")->required();
    verify_command->add_option("--program", options->program, "Program file")->required();
    add_inputs(*verify_command, *options);
    verify_command->callback([&context, options] { context.finish(verify(context, *options)); });
}

}  // namespace gym::app
