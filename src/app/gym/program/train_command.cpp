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
#include "gym/engine/train.hpp"
#include "gym/program/codec.hpp"
#include "program/run_resume.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

struct TrainOptions {
    std::string program;
    std::string data;
    std::string seed = "0";
    std::string records;
    std::string state_in;
    std::string state_out;
    std::uint32_t steps = 0;
    std::uint32_t first_step = 0;
    std::uint32_t checkpoint_every = 0;
    engine::EngineOptions engine;
};

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

/// State of a run.
struct Run {
    std::vector<engine::StepRecord> records;
    std::uint64_t tokens = 0;  ///< of this process, like the seconds
    double seconds = 0;

    [[nodiscard]] double speed() const {
        return static_cast<double>(tokens) / std::max(seconds, 1e-9);
    }
    [[nodiscard]] std::uint64_t skipped() const {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(records, &engine::StepRecord::skipped));
    }
    /// The first step whose loss is NaN or infinite.
    [[nodiscard]] std::optional<std::uint64_t> first_not_finite() const {
        for (const auto& record : records)
            if (!std::isfinite(std::bit_cast<float>(record.loss_bits))) return record.step;
        return std::nullopt;
    }
};

void print_run(const CliContext& context, const Run& run, const Digest& final_root) {
    const auto not_finite = run.first_not_finite();
    if (context.json) {
        context.print_json({{"final_state_root", final_root.hex()},
                            {"records_root", engine::records_root(run.records).hex()},
                            {"steps", run.records.size()},
                            {"skipped", run.skipped()},
                            {"first_step_not_finite", not_finite ? boost::json::value(*not_finite)
                                                                 : boost::json::value(nullptr)},
                            {"tokens", run.tokens},
                            {"seconds", run.seconds},
                            {"tokens_per_second", run.speed()}});
    } else {
        print_row("records root", "{}", engine::records_root(run.records).hex());
        print_row("final state root", "{}", final_root.hex());
        print_row("tokens", "{} in {:.1f} s, {:.0f} per second", run.tokens, run.seconds,
                  run.speed());
        if (run.skipped() != 0)
            print_row("skipped", "{} of {} steps, by the guard", run.skipped(), run.records.size());
    }
    if (!not_finite) return;
    (void)std::fprintf(
        stderr,
        "warning: the loss of step %llu is not finite%s; check the data, the learning rate and the "
        "initial weights\n",
        static_cast<unsigned long long>(*not_finite),
        run.skipped() != 0 ? "" : ", and `optimizer.guard` does not skip such steps");
}

Status write_records(const std::string& path, const std::vector<engine::StepRecord>& records) {
    std::string lines;
    for (const auto& record : records)
        lines += boost::json::serialize(to_json(record)) + "\n";
    return write_file_atomic(path, as_bytes(lines));
}

/// The run as a unit of round 0, whose clock starts at 0. It tells saved runs apart.
engine::UnitSpec spec_of(const program::Program& program, const blob::Dataset& dataset,
                         const engine::State& start, const TrainOptions& options) {
    return {parse_seed(options.seed),
            0,
            0,
            options.steps,
            options.checkpoint_every,
            program::program_root(program),
            dataset.root(),
            engine::state_root(start, options.engine.threads)};
}

/// Steps until the last one or an interrupt. @param resume nullptr: nothing is saved.
Status take_steps(const CliContext& context, const TrainOptions& options, engine::Trainer& trainer,
                  const InterruptGuard& interrupt, RunResume* resume, Run& run) {
    const std::uint64_t wanted = options.steps - options.first_step;
    std::stop_source stop;
    if (resume != nullptr) resume->save_until(stop.get_token());
    TrainingProgress progress("training");
    const auto start = std::chrono::steady_clock::now();
    while (run.records.size() < wanted && !interrupt.interrupted()) {
        GYM_TRY(const auto record, trainer.step());
        progress.clear();
        print_record(context, record);
        run.records.push_back(record);
        run.tokens += trainer.tokens_per_step();
        run.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        progress.show(
            {record.step + 1, options.steps, std::bit_cast<float>(record.loss_bits), run.speed()});
        if (interrupt.interrupted()) stop.request_stop();
        if (resume != nullptr) resume->after_step(trainer, run.records);
    }
    return {};
}

/// Everything that can be written is written, whatever cannot.
Status write_results(const TrainOptions& options, const Run& run, const engine::State& trained) {
    Status state;
    if (!options.state_out.empty())
        state = write_file_atomic(options.state_out, engine::encode_state(trained));
    Status records;
    if (!options.records.empty()) records = write_records(options.records, run.records);
    return state.ok() ? records : state;
}

Error interrupted(const TrainOptions& options, std::size_t steps) {
    Error error = fail(ErrorCode::kCancelled,
                       "interrupted after " + std::to_string(options.first_step + steps) + " of " +
                           std::to_string(options.steps) + " steps");
    if (options.state_out.empty())
        error.message += "; with --state FILE the same command can resume from there";
    return error;
}

bool same_file(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return !a.empty() && !b.empty() && std::filesystem::equivalent(a, b, ignored);
}

Status check_options(const TrainOptions& options) {
    for (const std::string& path : {options.records, options.state_out})
        GYM_CHECK(check_output(path));
    if (options.first_step < options.steps) return {};
    return fail(ErrorCode::kInvalidArgument,
                "--steps counts from the first step of all: with --first-step " +
                    std::to_string(options.first_step) + " it must be larger than that, not " +
                    std::to_string(options.steps));
}

Status train(const CliContext& context, const TrainOptions& options) {
    GYM_CHECK(check_options(options));
    GYM_TRY(const program::Program program, read_program(options.program));
    GYM_TRY(const auto dataset, read_dataset(options.data));
    GYM_TRY(auto state, starting_state(program, options.state_in, options.seed));
    std::optional<RunResume> resume;
    if (!options.state_out.empty()) {
        const std::string kind = "gym program run from " + std::to_string(options.first_step);
        GYM_TRY(RunResume opened, RunResume::open(kind, spec_of(program, dataset, state, options),
                                                  options.state_out, options.engine.threads));
        resume.emplace(std::move(opened));
    }
    Run run;
    if (resume && resume->position() != nullptr) {
        state = resume->position()->state;
        run.records = resume->position()->records;
    }
    const engine::TrainSpec spec{{parse_seed(options.seed), 0, 0},
                                 options.steps,
                                 options.checkpoint_every,
                                 options.first_step + run.records.size()};
    GYM_TRY(auto trainer,
            engine::Trainer::create(program, std::move(state), dataset, spec, options.engine));
    const InterruptGuard interrupt;
    RunResume* const saved = resume ? &*resume : nullptr;
    GYM_CHECK(take_steps(context, options, trainer, interrupt, saved, run));
    GYM_TRY(const engine::State* trained, trainer.state());
    const bool complete = options.first_step + run.records.size() == options.steps;
    // An interrupted run must find what it began with.
    if (complete || !same_file(options.state_in, options.state_out)) {
        const Status written = write_results(options, run, *trained);
        if (!written.ok()) return resume ? resume->explain(written.error()) : written;
    }
    print_run(context, run, engine::state_root(*trained, options.engine.threads));
    if (!complete) {
        const Error error = interrupted(options, run.records.size());
        return resume ? resume->explain(error) : error;
    }
    if (resume) resume->finish();
    return {};
}

}  // namespace

void add_train_command(CLI::App& group, CliContext& context) {
    CLI::App* run =
        group.add_subcommand("run", "Train on this machine and print each step's record");
    const auto options = std::make_shared<TrainOptions>();
    run->add_option("program", options->program, "Program file")->required();
    run->add_option("--data", options->data, "Token file or text")->required();
    run->add_option("--steps", options->steps,
                    "Number of optimizer steps, counted from the first step of all")
        ->required();
    run->add_option("--seed", options->seed, "Job seed: 64 hexadecimal digits, or any text");
    run->add_option("--checkpoint-every", options->checkpoint_every,
                    "Record gradient and state roots every so many steps, and at the last");
    run->add_option("--records", options->records,
                    "Write the records to this file, one JSON object per line");
    run->add_option("--state", options->state_out,
                    "Write the final state to this file; progress is saved beside it, so that the "
                    "same command resumes after an interruption");
    run->add_option("--from", options->state_in,
                    "Start from this state of a run, or from parameters alone");
    run->add_option(
        "--first-step", options->first_step,
        "Number of steps behind the state of --from: batches and schedule continue after them");
    add_engine_options(*run, options->engine);
    run->callback([&context, options] { context.finish(train(context, *options)); });
}

}  // namespace gym::app
