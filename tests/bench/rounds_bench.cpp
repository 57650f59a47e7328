// What a job's terms do to its losses: trains a preset as a network does, all workers in this
// process, and prints the validation loss after each round. No peer: rows go to the screen.
#include <cstdio>
#include <cstdlib>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/program/presets.hpp"
#include "local_rounds.hpp"

using namespace gym;
using gym::bench::must;

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv,
                                                        {{"--model", "gpt-demo"},
                                                         {"--data", ""},
                                                         {"--rounds", "4"},
                                                         {"--slots", "1"},
                                                         {"--steps", "25"},
                                                         {"--warmup", "20"},
                                                         {"--inner-warmup", "5"},
                                                         {"--outer-rate", "0.7"},
                                                         {"--outer-momentum", "0.9"},
                                                         {"--seed", "0"}});
    const auto number = [&](const char* name) {
        return static_cast<std::uint32_t>(std::atoi(options.own.at(name).c_str()));
    };
    auto config = must(program::preset_config(options.own.at("--model")));
    testing::LocalRounds job;
    job.rounds = number("--rounds");
    job.slots = number("--slots");
    job.steps = number("--steps");
    job.threads = static_cast<unsigned>(options.threads.front());
    job.seed = commit::sha256(as_bytes(options.own.at("--seed")));
    job.evaluate_windows = 256;
    config.optimizer.total_steps = static_cast<std::uint32_t>(job.rounds * job.steps);
    config.optimizer.warmup_steps = number("--warmup");
    config.optimizer.inner_warmup_steps = number("--inner-warmup");
    config.outer.learning_rate = std::atof(options.own.at("--outer-rate").c_str());
    config.outer.momentum = std::atof(options.own.at("--outer-momentum").c_str());
    const auto dataset =
        must(blob::Dataset::build_from_text(must(read_file(options.own.at("--data"), 1U << 30))));
    for (const double loss : must(testing::train_rounds(config, dataset, job)))
        std::printf("%.4f ", loss);
    std::printf("\n");
    return 0;
}
