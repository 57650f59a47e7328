#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/record_json.hpp"
#include "cli/rows.hpp"
#include "gym/common/file.hpp"
#include "gym/common/plural.hpp"
#include "gym/engine/divergence.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/codec.hpp"
#include "gym/tokenizer/bundle_file.hpp"
#include "gym/tokenizer/weights_tokenizer.hpp"
#include "program/loss_curve.hpp"
#include "program/run_file.hpp"
#include "program/run_log.hpp"

namespace gym::app {
namespace {

struct TrainOptions {
    std::string program;
    std::string data;
    std::string seed = "0";
    std::string records;
    std::string init;
    std::string state_in;
    std::string state_out;
    std::string curve;
    std::uint32_t steps = 0;
    std::optional<std::uint32_t> first_step;  ///< absent: as the state of --from says
    std::uint32_t checkpoint_every = 0;
    std::uint32_t evaluate_every = 0;
    std::uint32_t evaluate_windows = 64;
    std::uint32_t log_every = 0;
    bool restart = false;
    engine::EngineOptions engine;
};

struct Inputs {
    program::Program program;
    blob::Dataset dataset;
};

/// Work of this process, without that of an earlier one.
struct Work {
    std::uint64_t tokens = 0;
    double seconds = 0;

    [[nodiscard]] double speed() const {
        return static_cast<double>(tokens) / std::max(seconds, 1e-9);
    }
};

std::uint64_t skipped(const engine::SavedRun& run) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(run.records, &engine::StepRecord::skipped));
}

/// The first step whose loss is NaN or infinite.
std::optional<std::uint64_t> first_not_finite(const engine::SavedRun& run) {
    for (const auto& record : run.records)
        if (!std::isfinite(std::bit_cast<float>(record.loss_bits))) return record.step;
    return std::nullopt;
}

void print_run(const CliContext& context, const engine::SavedRun& run, const Work& work,
               const Digest& final_root) {
    const auto not_finite = first_not_finite(run);
    const Digest records_root = engine::records_root(run.records);
    if (context.json) {
        context.print_json({{"final_state_root", final_root.hex()},
                            {"records_root", records_root.hex()},
                            {"steps", run.records.size()},
                            {"steps_done", run.steps_done()},
                            {"steps_wanted", run.steps_wanted},
                            {"skipped", skipped(run)},
                            {"first_step_not_finite", not_finite ? boost::json::value(*not_finite)
                                                                 : boost::json::value(nullptr)},
                            {"tokens", work.tokens},
                            {"seconds", work.seconds},
                            {"tokens_per_second", work.speed()}});
    } else {
        print_row("steps", "{} of {}", run.steps_done(), run.steps_wanted);
        print_row("records root", "{}", records_root.hex());
        const bool whole = run.steps_done() == run.steps_wanted;
        print_row(whole ? "final state root" : "state root", "{}", final_root.hex());
        print_row("tokens", "{} in {:.1f} s, {:.0f} per second", work.tokens, work.seconds,
                  work.speed());
        if (skipped(run) != 0)
            print_row("skipped", "{} of {}, by the guard", skipped(run),
                      counted(run.records.size(), "step"));
    }
    if (!not_finite) return;
    (void)std::fprintf(
        stderr,
        "warning: the loss of step %llu is not finite%s; check the data, the learning rate and the "
        "initial weights\n",
        static_cast<unsigned long long>(*not_finite),
        skipped(run) != 0 ? "" : ", and `optimizer.guard` does not skip such steps");
}

Status write_records(const std::string& path, const std::vector<engine::StepRecord>& records) {
    std::string lines;
    for (const auto& record : records)
        lines += boost::json::serialize(to_json(record)) + "\n";
    return write_file_atomic(path, as_bytes(lines));
}

bool same_origin(const engine::RunOrigin& a, const engine::RunOrigin& b) {
    return a.program_root == b.program_root && a.dataset_root == b.dataset_root && a.seed == b.seed;
}

/// @errors kInvalidArgument where the state that a run would start from has those steps already.
Status check_steps(const TrainOptions& options, const std::string& path, std::uint64_t done) {
    if (done < options.steps) return {};
    return fail(ErrorCode::kInvalidArgument,
                "--steps counts all steps of the run: " + path + " has " + std::to_string(done) +
                    (done == 1 ? " step" : " steps") +
                    ", so --steps must be larger than that, not " + std::to_string(options.steps));
}

/// What --from or --init name, or the initial state of the seed.
Result<StateFile> beginning(const Inputs& inputs, const TrainOptions& options) {
    if (options.init.empty()) return starting_point(inputs.program, options.state_in, options.seed);
    GYM_TRY(engine::State state, state_from_weights(inputs.program, options.init));
    return StateFile{std::move(state), std::nullopt};
}

/// A run from its first step, or from the state of --from.
Result<engine::SavedRun> fresh_run(const Inputs& inputs, const TrainOptions& options,
                                   engine::RunOrigin origin) {
    engine::SavedRun run;
    std::optional<std::uint64_t> done;
    GYM_TRY(StateFile start, beginning(inputs, options));
    if (start.run && same_origin(start.run->origin, origin)) done = start.run->steps_done();
    run.state = std::move(start.state);
    origin.first_step = options.first_step ? *options.first_step : done.value_or(0);
    GYM_CHECK(check_steps(options, "the state of --from", origin.first_step));
    origin.start_root = engine::state_root(run.state, options.engine.threads);
    if (done && !options.first_step)
        print_notice("", "continuing after step {} of {}", *done, options.state_in);
    run.origin = origin;
    return run;
}

/// The run in the file of --state, which has to be the one that the command asks for.
Result<engine::SavedRun> continued_run(const RunFile& file, const Inputs& inputs,
                                       const TrainOptions& options,
                                       const engine::RunOrigin& origin) {
    GYM_TRY(engine::SavedRun run, file.load());
    const auto other = [&](const char* what, const Digest& has, const Digest& wanted) -> Status {
        if (has == wanted) return {};
        return fail(ErrorCode::kConflict, options.state_out + " holds a run with another " + what +
                                              ": choose another --state, start from it with "
                                              "--from, or pass --restart to overwrite it");
    };
    GYM_CHECK(other("program", run.origin.program_root, origin.program_root));
    GYM_CHECK(other("dataset", run.origin.dataset_root, origin.dataset_root));
    GYM_CHECK(other("seed", run.origin.seed, origin.seed));
    if (!options.state_in.empty() && !same_file(options.state_in, options.state_out)) {
        GYM_TRY(const engine::State start,
                starting_state(inputs.program, options.state_in, options.seed));
        GYM_CHECK(other("state of --from", run.origin.start_root,
                        engine::state_root(start, options.engine.threads)));
    }
    if (!options.init.empty()) {
        GYM_TRY(const StateFile start, beginning(inputs, options));
        GYM_CHECK(other("state of --init", run.origin.start_root,
                        engine::state_root(start.state, options.engine.threads)));
    }
    if (run.steps_done() > options.steps)
        GYM_CHECK(check_steps(options, options.state_out, run.steps_done()));
    if (run.steps_done() == options.steps)
        print_notice("", "{} has all of its steps already ({})", options.state_out, options.steps);
    else
        print_notice("", "continuing after step {} of {}", run.steps_done(), options.state_out);
    return run;
}

Result<engine::SavedRun> begin_run(const RunFile& file, const Inputs& inputs,
                                   const TrainOptions& options) {
    engine::RunOrigin origin;
    origin.program_root = program::program_root(inputs.program);
    origin.dataset_root = inputs.dataset.root();
    origin.seed = parse_seed(options.seed);
    const bool continues = file.exists() && !options.restart;
    auto run = continues ? continued_run(file, inputs, options, origin)
                         : fresh_run(inputs, options, origin);
    if (!run.ok()) return run;
    run->steps_wanted = options.steps;
    run->checkpoint_every = options.checkpoint_every;
    return run;
}

Status validate(const Inputs& inputs, const TrainOptions& options, const engine::Trainer& trainer,
                engine::SavedRun& run, RunLog& log) {
    GYM_TRY(const engine::State* state, trainer.state());
    GYM_TRY(const engine::Evaluation result,
            engine::evaluate(inputs.program, *state, inputs.dataset, options.evaluate_windows,
                             options.engine));
    run.validation.push_back({run.steps_done(), std::bit_cast<std::uint32_t>(result.mean_loss)});
    log.validation(run.validation.back());
    return {};
}

/// Steps until the last one or an interrupt.
Result<Work> take_steps(const CliContext& context, const TrainOptions& options,
                        const Inputs& inputs, engine::Trainer& trainer, RunFile& file,
                        engine::SavedRun& run) {
    const InterruptGuard interrupt;
    RunLog log(context, options.log_every);
    Work work;
    const auto start = std::chrono::steady_clock::now();
    while (!run.complete() && !interrupt.interrupted()) {
        GYM_TRY(const auto record, trainer.step());
        run.records.push_back(record);
        work.tokens += trainer.tokens_per_step();
        work.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        log.step(record,
                 {run.steps_done(), run.steps_wanted, std::bit_cast<float>(record.loss_bits),
                  work.speed()},
                 run.complete() || engine::divergence(record));
        const bool due = options.evaluate_every != 0 &&
                         (run.complete() || run.steps_done() % options.evaluate_every == 0);
        if (engine::divergence(record)) return work;
        if (due) GYM_CHECK(validate(inputs, options, trainer, run, log));
        if (!engine::spoils_state(record)) file.after_step(trainer, run);
    }
    return work;
}

/// Why the run ended before its last step, and what is left of it; absent: its loss is finite.
std::optional<std::string> diverged(const TrainOptions& options, const RunFile& file,
                                    const engine::SavedRun& run) {
    if (run.records.empty()) return std::nullopt;
    auto why = engine::divergence(run.records.back());
    if (!why) return std::nullopt;
    if (file.exists())
        *why += "; " + options.state_out +
                " keeps the run's last state that was saved before, from which `--init` begins "
                "another one";
    return why;
}

/// Everything that can be written is written, whatever cannot. A state that diverged is not.
Status write_results(const TrainOptions& options, const RunFile& file, const engine::SavedRun& run,
                     const engine::State& trained) {
    const bool spoilt = !run.records.empty() && engine::divergence(run.records.back());
    const Status state = spoilt ? Status() : file.save(run, trained);
    Status records;
    if (!options.records.empty()) records = write_records(options.records, run.records);
    Status curve;
    if (!options.curve.empty())
        curve =
            draw_loss_curve(run, std::filesystem::path(options.program).filename(), options.curve);
    for (const Status& status : {state, records, curve})
        if (!status.ok()) return status;
    return {};
}

Error interrupted(const TrainOptions& options, const engine::SavedRun& run) {
    return fail(
        ErrorCode::kCancelled,
        "interrupted after " + std::to_string(run.steps_done()) + " of " +
            counted(options.steps, "step") + "; " +
            (options.state_out.empty() ? "with --state FILE the same command can resume from there"
                                       : "the same command resumes from " + options.state_out));
}

Status check_options(const TrainOptions& options) {
    for (const std::string& path : {options.records, options.state_out, options.curve})
        GYM_CHECK(check_output(path));
    if (options.steps == 0) return fail(ErrorCode::kInvalidArgument, "--steps must be at least 1");
    if (options.restart && same_file(options.state_in, options.state_out))
        return fail(ErrorCode::kInvalidArgument,
                    "--restart would overwrite the state that --from names: choose another "
                    "--state");
    if (same_file(options.init, options.state_out))
        return fail(ErrorCode::kInvalidArgument,
                    "--init and --state name the same file: choose another --state");
    return options.curve.empty() ? Status() : check_gnuplot();
}

/// The tokenizer that lies beside the data lies beside the state from now on, for `program export`
/// and `generate`. Training needs none: what is wrong with it is said, and no error.
void keep_tokenizer(const TrainOptions& options, const blob::Dataset& dataset) {
    if (options.state_out.empty()) return;
    const auto kept = tokenizer::copy_bundle(options.data, dataset.tokenizer(), options.state_out);
    if (!kept.ok())
        print_notice("warning", "the data's tokenizer is not kept with the state: {}",
                     kept.error().message);
}

/// @return why the training diverged; absent: it did not.
Result<std::optional<std::string>> train(const CliContext& context, const TrainOptions& options) {
    GYM_CHECK(check_options(options));
    GYM_TRY(program::Program program, read_program(options.program));
    GYM_TRY(blob::Dataset dataset, read_dataset(options.data));
    GYM_TRY(const auto tokenizer, tokenizer::tokenizer_of_weights(options.init));
    GYM_CHECK(tokenizer::check_same_tokenizer(tokenizer, dataset.tokenizer(), options.data));
    const Inputs inputs{std::move(program), std::move(dataset)};
    RunFile file(options.state_out, options.engine.threads);
    GYM_CHECK(file.check_space(inputs.program, options.steps));
    GYM_TRY(engine::SavedRun run, begin_run(file, inputs, options));
    keep_tokenizer(options, inputs.dataset);
    const engine::TrainSpec spec{
        {run.origin.seed, 0, 0}, options.steps, options.checkpoint_every, run.steps_done()};
    GYM_TRY(auto trainer, engine::Trainer::create(inputs.program, std::move(run.state),
                                                  inputs.dataset, spec, options.engine));
    GYM_TRY(const Work work, take_steps(context, options, inputs, trainer, file, run));
    GYM_TRY(const engine::State* trained, trainer.state());
    GYM_CHECK(write_results(options, file, run, *trained));
    if (auto why = diverged(options, file, run)) return why;
    print_run(context, run, work, engine::state_root(*trained, options.engine.threads));
    if (!run.complete()) return interrupted(options, run);
    return std::optional<std::string>();
}

void finish_training(CliContext& context, const TrainOptions& options) {
    const auto done = train(context, options);
    if (!done.ok())
        context.finish(done.error());
    else if (*done)
        context.finish_with(ExitCode::kDiverged, "diverged", **done);
}

}  // namespace

namespace {

/// A registered model's name in --init becomes the folder of its weights; what is on disk comes
/// first.
Status find_init(TrainOptions& options, const WeightsByName& find_weights) {
    std::error_code unknown;
    if (options.init.empty() || !find_weights || std::filesystem::exists(options.init, unknown))
        return {};
    GYM_TRY(options.init, find_weights(options.init));
    return {};
}

}  // namespace

void add_train_command(CLI::App& group, CliContext& context, const WeightsByName& find_weights) {
    CLI::App* run =
        group.add_subcommand("run", "Train on this machine and print each step's record");
    const auto options = std::make_shared<TrainOptions>();
    run->add_option("program", options->program, "Program file")->required();
    run->add_option("--data", options->data, "Token file or text")->required();
    run->add_option(
           "--steps", options->steps,
           "Number of optimizer steps of the whole run, those before an interruption included")
        ->required();
    run->add_option("--seed", options->seed, "Job seed: 64 hexadecimal digits, or any text");
    run->add_option("--checkpoint-every", options->checkpoint_every,
                    "Record gradient and state roots every so many steps, and at the last");
    run->add_option("--records", options->records,
                    "Write the records to this file, one JSON object per line");
    run->add_option("--state", options->state_out,
                    "Keep the run in this file. If it holds this run already, continue it: after "
                    "an interruption, or with more --steps");
    run->add_flag("--restart", options->restart,
                  "Start at the first step and overwrite the file of --state");
    CLI::Option* from = run->add_option("--from", options->state_in,
                                        "Start from this state of a run, or from parameters alone");
    run->add_option("--init", options->init,
                    "Start from given weights: a folder in Hugging Face form, a safetensors file, "
                    "a state, of which the parameters are taken, or the name of a model that is "
                    "registered with the default network (`gym model registered`)")
        ->excludes(from);
    run->add_option("--first-step", options->first_step,
                    "Number of steps behind the state of --from (default: what its file says, for "
                    "the same program, data and seed; else 0)");
    run->add_option("--evaluate-every", options->evaluate_every,
                    "Print the validation loss every so many steps, and at the end; 0: never");
    run->add_option("--evaluate-windows", options->evaluate_windows,
                    "Number of windows to average a validation loss over");
    run->add_option("--log-every", options->log_every,
                    "Print the record of every so many steps (default: one a second in a "
                    "terminal, else all)");
    run->add_option("--curve", options->curve, "Draw the losses to this SVG file, with gnuplot");
    add_engine_options(*run, options->engine);
    run->callback([&context, options, find_weights] {
        const Status found = find_init(*options, find_weights);
        if (!found.ok()) return context.finish(found);
        finish_training(context, *options);
    });
}

}  // namespace gym::app
