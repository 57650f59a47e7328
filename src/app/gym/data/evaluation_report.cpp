#include "data/evaluation_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/rows.hpp"
#include "program/training_progress.hpp"

namespace gym::app {

Result<engine::Evaluation> evaluate_with_progress(const program::Program& program,
                                                  const engine::State& state,
                                                  const blob::Dataset& dataset,
                                                  std::uint32_t windows,
                                                  const engine::EngineOptions& options) {
    const InterruptGuard interrupt;
    TrainingProgress bar("evaluating");
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    const auto start = std::chrono::steady_clock::now();
    const auto tokens = program.find_slot("batch") == program::kNoSlot
                            ? 0U
                            : program.slot(program.find_slot("batch")).dims.back() - 1;
    return engine::evaluate(program, state, dataset, windows, options,
                            [&](std::uint32_t done, std::uint32_t of, float loss) {
                                const std::chrono::duration<double> passed =
                                    std::chrono::steady_clock::now() - start;
                                const double speed = static_cast<double>(done) * tokens /
                                                     std::max(passed.count(), 1e-9);
                                if (terminal) bar.show({done, of, loss, speed});
                                return !interrupt.interrupted();
                            });
}

void print_evaluation(const CliContext& context, const engine::Evaluation& result,
                      std::uint32_t asked) {
    const double accuracy = static_cast<double>(result.correct) / std::max(result.windows, 1U);
    if (context.json) {
        boost::json::object json{{"validation_loss", result.mean_loss},
                                 {"perplexity", result.perplexity},
                                 {"evaluation_program_root", result.program_root.hex()},
                                 {"evaluation_root", result.root.hex()},
                                 {"windows", result.windows},
                                 {"tokens", result.tokens}};
        if (result.classifies) {
            json["correct"] = result.correct;
            json["accuracy"] = accuracy;
        }
        context.print_json(json);
        return;
    }
    const char* unit = result.classifies ? "rows" : "windows";
    print_row("validation loss", "{:.6f} nats per {}, {} {}, {} tokens",
              static_cast<double>(result.mean_loss), result.classifies ? "row" : "token",
              result.windows, unit, result.tokens);
    if (result.classifies)
        print_row("accuracy", "{:.4f}, {} of {} rows", accuracy, result.correct, result.windows);
    print_row("perplexity", "{:.4f}", static_cast<double>(result.perplexity));
    print_row("evaluation root", "{}", result.root.hex());
    if (result.windows < asked)
        std::fprintf(stderr,
                     "%s: %u %s in whole batches, not %u: see how large the validation "
                     "part of the data is\n",
                     context.program, result.windows, unit, asked);
}

}  // namespace gym::app
