#include "gym/engine/unit.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;

Status expect_root(const char* what, const Digest& expected, const Digest& found) {
    if (expected == found) return {};
    return fail(ErrorCode::kMismatch, std::string("the ") + what + " has root " + found.hex() +
                                          ", the unit names " + expected.hex());
}

Status check_unit(const Program& train, const State& base, const blob::Dataset& dataset,
                  const UnitSpec& spec, unsigned threads) {
    if (spec.steps == 0) return fail(ErrorCode::kInvalidArgument, "a unit needs at least one step");
    if (spec.steps > kUnitStepsMax)
        return fail(ErrorCode::kOutOfRange, "a unit has at most 2^20 steps");
    GYM_CHECK(expect_root("program", spec.program_root, program::program_root(train)));
    GYM_CHECK(expect_root("dataset", spec.dataset_root, dataset.root()));
    return expect_root("base state", spec.base_state_root, state_root(base, threads));
}

/// Tokens a second since construction.
class Speed {
  public:
    double after(std::uint64_t tokens) const {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
        return static_cast<double>(tokens) / std::max(elapsed.count(), 1e-9);
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status finish(const Program& train, const State& base, Trainer& trainer, unsigned threads,
              UnitResult& result) {
    result.records_root = records_root(result.records);
    result.final_state = std::move(trainer).take_state();
    result.final_state_root = state_root(result.final_state, threads);
    GYM_TRY(result.delta, encode_delta(train, base, result.final_state));
    result.delta_root = blob::blob_root(result.delta, threads);
    GYM_TRY(const State delta, decode_delta(train, result.delta));
    result.delta_norm_bits = delta_norm_bits(delta);
    return {};
}

}  // namespace

Result<UnitResult> run_unit(const Program& train, const State& base, const blob::Dataset& dataset,
                            const UnitSpec& spec, const RunOptions& options) {
    const unsigned threads = options.engine.threads;
    GYM_CHECK(check_unit(train, base, dataset, spec, threads));
    GYM_TRY(State state, with_fresh_optimizer(train, base));
    const TrainSpec train_spec{
        {spec.job_seed, spec.round, spec.slot}, spec.steps, spec.checkpoint_every};
    GYM_TRY(Trainer trainer,
            Trainer::create(train, std::move(state), dataset, train_spec, options.engine));
    UnitResult result;
    const Speed speed;
    for (std::uint64_t step = 0; step < spec.steps; ++step) {
        if (options.cancel.stop_requested())
            return fail(ErrorCode::kCancelled, "stopped before step " + std::to_string(step));
        trainer.set_trace(step == options.trace_step ? options.trace
                                                     : std::function<void(const TraceEntry&)>{});
        GYM_TRY(const StepRecord record, trainer.step());
        result.records.push_back(record);
        result.tokens += trainer.tokens_per_step();
        result.last_loss = std::bit_cast<float>(record.loss_bits);
        if (options.on_record) options.on_record(record);
        if (options.progress)
            options.progress({step + 1, spec.steps, result.last_loss, speed.after(result.tokens)});
    }
    result.flops = trainer.flops_per_step() * spec.steps;
    GYM_CHECK(finish(train, base, trainer, threads, result));
    return result;
}

}  // namespace gym::engine
