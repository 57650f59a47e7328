#include "local_rounds.hpp"

#include "gym/engine/evaluate.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/codec.hpp"

namespace gym::testing {
namespace {

Result<double> loss_of(const program::Program& train, const engine::State& base,
                       const blob::Dataset& dataset, const LocalRounds& job) {
    GYM_TRY(const engine::Evaluation evaluation,
            engine::evaluate(train, base, dataset, job.evaluate_windows, {.threads = job.threads}));
    return evaluation.mean_loss;
}

Result<std::vector<engine::Delta>> deltas_of(const program::Program& train,
                                             const engine::State& base,
                                             const blob::Dataset& dataset, const LocalRounds& job,
                                             std::uint64_t round) {
    engine::UnitSpec spec;
    spec.job_seed = job.seed;
    spec.round = round;
    spec.steps = spec.checkpoint_every = job.steps;
    spec.program_root = program::program_root(train);
    spec.dataset_root = dataset.root();
    spec.base_state_root = engine::state_root(base, job.threads);
    std::vector<engine::Delta> out;
    for (spec.slot = 0; spec.slot < job.slots; ++spec.slot) {
        engine::RunOptions options;
        options.engine.threads = job.threads;
        GYM_TRY(const auto unit, engine::run_unit({train, base, dataset, spec}, options));
        GYM_TRY(auto delta, engine::Delta::decode(train, unit.delta));
        out.push_back(std::move(delta));
    }
    return out;
}

}  // namespace

Result<std::vector<double>> train_rounds(const program::TrainConfig& config,
                                         const blob::Dataset& dataset, const LocalRounds& job) {
    GYM_TRY(const program::Program train, program::train_program(config));
    GYM_TRY(const engine::State start, engine::initial_state(train, job.seed));
    GYM_TRY(engine::State base, engine::base_of(train, start));
    engine::State momentum;
    std::vector<double> losses;
    GYM_TRY(const double before, loss_of(train, base, dataset, job));
    losses.push_back(before);
    for (std::uint64_t round = 0; round < job.rounds; ++round) {
        GYM_TRY(const auto deltas, deltas_of(train, base, dataset, job, round));
        GYM_TRY(auto next,
                engine::run_aggregate(train, base, momentum, deltas, 0, {.threads = job.threads}));
        base = std::move(next.base);
        momentum = std::move(next.momentum);
        GYM_TRY(const double after, loss_of(train, base, dataset, job));
        losses.push_back(after);
    }
    return losses;
}

}  // namespace gym::testing
