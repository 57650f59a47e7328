#include "gym/engine/unit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include "gym/blob/dataset.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/memory.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

Status expect_root(const char* what, const Digest& expected, const Digest& found) {
    if (expected == found) return {};
    return fail(ErrorCode::kMismatch, std::string("the ") + what + " has root " + found.hex() +
                                          ", the unit names " + expected.hex());
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

Status finish(const Unit& unit, Trainer trainer, unsigned threads, UnitResult& result) {
    result.tokens = trainer.tokens_per_step() * unit.spec.steps;
    result.flops = trainer.flops_per_step() * unit.spec.steps;
    result.records_root = records_root(result.records);
    if (!result.records.empty())
        result.last_loss = std::bit_cast<float>(result.records.back().loss_bits);
    GYM_TRY(result.final_state, std::move(trainer).take_state());
    result.final_state_root = state_root(result.final_state, threads);
    // Hashed where it was computed, and here. What came off a device was compared with what the
    // device had, so that a bit that differs now flipped in the host's memory.
    if (!result.records.empty() && result.records.back().state_root &&
        *result.records.back().state_root != result.final_state_root)
        return device_erred("cpu", "the final state is not what the last step had");
    GYM_TRY(Bytes delta, encode_delta(unit.train, unit.base, result.final_state));
    result.delta = blob::VerifiedBlob::hash(std::move(delta), threads);
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

/// A GPU's engine looks at the device's memory alone, and the kernel would end a process whose
/// host's is used up.
Status check_host(const Unit& unit, const RunOptions& options) {
    GYM_TRY(const DeviceChoice device, parse_device(options.engine.device));
    if (!device.cuda) return {};
    const std::uint64_t all = host_bytes_beside_gpu(unit.train);
    const std::uint64_t there = options.resume == nullptr ? 0 : options.resume->state.size_bytes();
    return check_memory("the training state on the host, beside the GPU,",
                        all - std::min(there, all));
}

/// The training state to start with, and the records that led to it into `result`.
Result<State> starting_state(const Unit& unit, const RunOptions& options, UnitResult& result) {
    if (options.resume == nullptr) return with_fresh_optimizer(unit.train, unit.base);
    GYM_CHECK(check_position(*options.resume, options.engine.threads));
    result.records = options.resume->records;
    return std::move(options.resume->state);
}

}  // namespace

Status check_inputs(const Unit& unit, unsigned threads) {
    const UnitSpec& spec = unit.spec;
    if (spec.steps == 0) return fail(ErrorCode::kInvalidArgument, "a unit needs at least one step");
    if (spec.steps > kUnitStepsMax)
        return fail(ErrorCode::kOutOfRange, "a unit has at most 2^20 steps");
    GYM_CHECK(expect_root("program", spec.program_root, program::program_root(unit.train)));
    GYM_CHECK(expect_root("dataset", spec.dataset_root, unit.dataset.root()));
    return expect_root("base state", spec.base_state_root, state_root(unit.base, threads));
}

Result<Trainer> run_steps(const Unit& unit, State before, const StepRange& steps,
                          const StepOptions& options) {
    const TrainSpec spec{{unit.spec.job_seed, unit.spec.round, unit.spec.slot},
                         unit.spec.steps,
                         unit.spec.checkpoint_every,
                         steps.begin};
    GYM_TRY(Trainer trainer,
            Trainer::create(unit.train, std::move(before), unit.dataset, spec, options.engine));
    const Speed speed;
    bool cancelled = options.cancel.stop_requested();
    for (std::uint64_t step = steps.begin; step < steps.end; ++step) {
        if (cancelled)
            return fail(ErrorCode::kCancelled, "stopped before step " + std::to_string(step));
        trainer.set_trace(step == options.trace_step ? options.trace
                                                     : std::function<void(const TraceEntry&)>{});
        GYM_TRY(const StepRecord record, trainer.step());
        if (options.progress)
            options.progress({step + 1, steps.end, std::bit_cast<float>(record.loss_bits),
                              speed.after(trainer.tokens_per_step() * (step + 1 - steps.begin))});
        // Before after_step(): what saves itself there when it is cancelled sees it, too.
        cancelled = options.cancel.stop_requested();
        if (options.after_step) GYM_CHECK(options.after_step(trainer, record));
    }
    trainer.set_trace({});
    return trainer;
}

Result<UnitResult> run_unit(const Unit& unit, const RunOptions& options) {
    const unsigned threads = options.engine.threads;
    GYM_CHECK(check_inputs(unit, threads));
    GYM_CHECK(check_host(unit, options));
    UnitResult result;
    GYM_TRY(State state, starting_state(unit, options, result));
    StepOptions steps{options.engine, options.progress,   {},
                      options.trace,  options.trace_step, options.cancel};
    steps.after_step = [&](const Trainer& trainer, const StepRecord& record) -> Status {
        result.records.push_back(record);
        if (options.after_step) options.after_step(trainer, result.records);
        return {};
    };
    GYM_TRY(Trainer trainer,
            run_steps(unit, std::move(state), {result.records.size(), unit.spec.steps}, steps));
    GYM_CHECK(finish(unit, std::move(trainer), threads, result));
    return result;
}

}  // namespace gym::engine
