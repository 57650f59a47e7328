#include "gym/engine/train.hpp"

#include <cstring>

#include "gym/blob/dataset.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/engine/positions.hpp"
#include "gym/engine/step_inputs.hpp"
#include "gym/kernels/philox.h"
#include "gym/program/cost.hpp"
#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"
#include "program_shape.hpp"
#include "runner.hpp"

namespace gym::engine {
namespace {

using program::Program;

Status check_spec(const TrainSpec& spec) {
    if (spec.steps == 0)
        return fail(ErrorCode::kInvalidArgument, "a training run needs at least one step");
    if (spec.first_step > spec.steps)
        return fail(ErrorCode::kOutOfRange, "a run of " + std::to_string(spec.steps) +
                                                " steps cannot continue from step " +
                                                std::to_string(spec.first_step));
    const kernels::RandomPosition last{spec.key.round, spec.key.slot, spec.steps - 1,
                                       kRandomOpBatch};
    if (!kernels::random_position_valid(last))
        return fail(ErrorCode::kOutOfRange,
                    "rounds go to 2^24, slots to 2^20 and the steps of a unit to 2^20");
    return {};
}

}  // namespace

struct Trainer::Impl {
    Impl(const Program& p, const blob::Dataset& d, const TrainSpec& t, std::unique_ptr<Runner> r)
        : program(p), dataset(d), spec(t), runner(std::move(r)) {}

    Program program;
    const blob::Dataset& dataset;
    TrainSpec spec;
    std::unique_ptr<Runner> runner;
    WindowShape shape;
    bool can_skip = false;
    std::uint64_t flops = 0;
    std::uint64_t next_step = 0;

    [[nodiscard]] Result<std::uint32_t> scalar_bits(std::string_view output) const;
    [[nodiscard]] Result<Digest> gradient_root() const;
    [[nodiscard]] bool is_checkpoint(std::uint64_t step) const {
        return step + 1 == spec.steps ||
               (spec.checkpoint_every != 0 && (step + 1) % spec.checkpoint_every == 0);
    }
    Result<Digest> run_step(std::uint64_t step);
};

Result<std::uint32_t> Trainer::Impl::scalar_bits(std::string_view name) const {
    GYM_TRY(const Bytes bytes, runner->output(name));
    std::uint32_t bits = 0;
    if (bytes.size() != sizeof bits)
        return fail(ErrorCode::kShapeMismatch,
                    "output '" + std::string(name) + "' is not a scalar");
    std::memcpy(&bits, bytes.data(), sizeof bits);
    return bits;
}

/// Root over the gradients' tensor roots, in the order of the program's outputs.
Result<Digest> Trainer::Impl::gradient_root() const {
    std::vector<std::string_view> gradients;
    for (const auto& output : program.outputs())
        if (output.name.starts_with(program::kGradientPrefix)) gradients.push_back(output.name);
    GYM_TRY(const std::vector<Digest> roots, runner->output_roots(gradients));
    return commit::merkle_root(roots);
}

/// @return the batch root.
Result<Digest> Trainer::Impl::run_step(std::uint64_t step) {
    GYM_TRY(const StepInputs inputs, step_inputs(program, dataset, spec.key, spec.steps, step));
    GYM_CHECK(runner->run(inputs.views(program)));
    return inputs.batch.root;
}

Result<Trainer> Trainer::create(const Program& train, State state, const blob::Dataset& dataset,
                                const TrainSpec& spec, const EngineOptions& options) {
    GYM_CHECK(check_spec(spec));
    if (train.find_output(program::kLossOutput) == program::kNoSlot ||
        train.find_output(program::kGradNormOutput) == program::kNoSlot)
        return fail(ErrorCode::kInvalidArgument,
                    "not a train program: it has no outputs 'loss' and 'grad_norm'");
    GYM_TRY(const WindowShape shape, window_shape(train));
    GYM_CHECK(check_vocabulary(train, dataset));
    // Fails before the first step, not in the middle of a run.
    const std::uint64_t window_length = std::uint64_t{shape.window_tokens} + 1;
    GYM_TRY([[maybe_unused]] const std::uint64_t windows,
            dataset.window_count(blob::Split::kTrain, window_length));
    EngineOptions numbered = options;
    numbered.first_run = spec.first_step;  // runs are steps of the unit
    GYM_TRY(auto runner, make_runner(train, std::move(state), numbered));
    auto impl = std::make_unique<Impl>(train, dataset, spec, std::move(runner));
    impl->shape = shape;
    impl->next_step = spec.first_step;
    impl->can_skip = train.find_output(program::kSkippedOutput) != program::kNoSlot;
    impl->flops = program::flops_per_step(train);
    return Trainer(std::move(impl));
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<StepRecord> Trainer::step() {
    const std::uint64_t step = impl_->next_step;
    if (step >= impl_->spec.steps)
        return fail(ErrorCode::kOutOfRange,
                    "all " + std::to_string(impl_->spec.steps) + " steps are done");
    StepRecord record;
    record.step = step;
    GYM_TRY(record.batch_root, impl_->run_step(step));
    GYM_TRY(record.loss_bits, impl_->scalar_bits(program::kLossOutput));
    GYM_TRY(record.grad_norm_bits, impl_->scalar_bits(program::kGradNormOutput));
    if (impl_->can_skip) {
        GYM_TRY(const std::uint32_t skipped, impl_->scalar_bits(program::kSkippedOutput));
        record.skipped = skipped != 0;  // the bits of +0 or of 1
    }
    if (impl_->is_checkpoint(step)) {
        GYM_TRY(record.gradient_root, impl_->gradient_root());
        GYM_TRY(record.state_root, impl_->runner->state_root());
    }
    ++impl_->next_step;
    return record;
}

void Trainer::set_trace(std::function<void(const TraceEntry&)> sink) {
    impl_->runner->set_trace(std::move(sink));
}
Result<const State*> Trainer::state() const {
    return impl_->runner->state();
}
Result<Digest> Trainer::state_root() const {
    return impl_->runner->state_root();
}
Result<State> Trainer::take_state() && {
    return impl_->runner->take_state();
}
std::uint64_t Trainer::tokens_per_step() const {
    return std::uint64_t{impl_->shape.windows} * impl_->shape.window_tokens;
}
std::uint64_t Trainer::flops_per_step() const {
    return impl_->flops;
}

}  // namespace gym::engine
