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
    GYM_TRY(result.final_state, std::move(trainer).take_state());
    result.final_state_root = state_root(result.final_state, threads);
    GYM_TRY(result.delta, encode_delta(train, base, result.final_state));
    result.delta_root = blob::blob_root(result.delta, threads);
    GYM_TRY(const State delta, decode_delta(train, result.delta));
    result.delta_norm_bits = delta_norm_bits(delta);
    return {};
}

Status check_position(const UnitPosition& position, unsigned threads) {
    for (std::size_t i = 0; i < position.records.size(); ++i)
        if (position.records[i].step != i)
            return fail(ErrorCode::kMismatch, "record " + std::to_string(i) + " is of step " +
                                                  std::to_string(position.records[i].step));
    if (position.records.empty() || !position.records.back().state_root) return {};
    const Digest root = state_root(position.state, threads);
    if (root == *position.records.back().state_root) return {};
    return fail(ErrorCode::kMismatch, "the state has root " + root.hex() + ", its record names " +
                                          position.records.back().state_root->hex());
}

/// The training state to start with, and the records that led to it into `result`.
Result<State> starting_state(const Program& train, const State& base, const RunOptions& options,
                             UnitResult& result) {
    if (options.resume == nullptr) return with_fresh_optimizer(train, base);
    GYM_CHECK(check_position(*options.resume, options.engine.threads));
    result.records = options.resume->records;
    if (!result.records.empty())
        result.last_loss = std::bit_cast<float>(result.records.back().loss_bits);
    return options.resume->state;
}

}  // namespace

Result<UnitResult> run_unit(const Program& train, const State& base, const blob::Dataset& dataset,
                            const UnitSpec& spec, const RunOptions& options) {
    const unsigned threads = options.engine.threads;
    GYM_CHECK(check_unit(train, base, dataset, spec, threads));
    UnitResult result;
    GYM_TRY(State state, starting_state(train, base, options, result));
    const std::uint64_t first_step = result.records.size();
    const TrainSpec train_spec{
        {spec.job_seed, spec.round, spec.slot}, spec.steps, spec.checkpoint_every, first_step};
    GYM_TRY(Trainer trainer,
            Trainer::create(train, std::move(state), dataset, train_spec, options.engine));
    result.tokens = trainer.tokens_per_step() * first_step;
    const std::uint64_t tokens_before = result.tokens;
    const Speed speed;
    bool cancelled = options.cancel.stop_requested();
    for (std::uint64_t step = first_step; step < spec.steps; ++step) {
        if (cancelled)
            return fail(ErrorCode::kCancelled, "stopped before step " + std::to_string(step));
        trainer.set_trace(step == options.trace_step ? options.trace
                                                     : std::function<void(const TraceEntry&)>{});
        GYM_TRY(const StepRecord record, trainer.step());
        result.records.push_back(record);
        result.tokens += trainer.tokens_per_step();
        result.last_loss = std::bit_cast<float>(record.loss_bits);
        if (options.on_record) options.on_record(record);
        if (options.progress)
            options.progress({step + 1, spec.steps, result.last_loss,
                              speed.after(result.tokens - tokens_before)});
        // Before after_step(): what saves itself there when it is cancelled sees it, too.
        cancelled = options.cancel.stop_requested();
        if (options.after_step) options.after_step(trainer, result.records);
    }
    result.flops = trainer.flops_per_step() * spec.steps;
    GYM_CHECK(finish(train, base, trainer, threads, result));
    return result;
}

}  // namespace gym::engine
