#include "local_run.hpp"

#include <string>
#include <utility>

namespace gym::python {

Result<std::unique_ptr<LocalRun>> LocalRun::create(const program::Program& program,
                                                   engine::State start,
                                                   std::shared_ptr<const blob::Dataset> dataset,
                                                   const LocalRunSpec& spec,
                                                   const engine::EngineOptions& options) {
    const engine::TrainSpec train{
        {spec.seed, 0, 0}, spec.steps, spec.checkpoint_every, spec.first_step};
    GYM_TRY(engine::Trainer trainer,
            engine::Trainer::create(program, std::move(start), *dataset, train, options));
    return std::unique_ptr<LocalRun>(new LocalRun(std::move(dataset), spec, std::move(trainer)));
}

Result<engine::StepRecord> LocalRun::step() {
    const std::lock_guard lock(mutex_);
    GYM_TRY(engine::StepRecord record, trainer_.step());
    records_.push_back(record);
    return record;
}

Result<engine::StepRecord> LocalRun::record(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    if (index < records_.size()) return records_[index];
    return fail(ErrorCode::kOutOfRange, "step " + std::to_string(index) + " was not taken yet");
}

std::uint64_t LocalRun::steps_done() const {
    const std::lock_guard lock(mutex_);
    return spec_.first_step + records_.size();
}

std::uint64_t LocalRun::tokens_per_step() const {
    return trainer_.tokens_per_step();
}

Result<engine::State> LocalRun::state() const {
    const std::lock_guard lock(mutex_);
    GYM_TRY(const engine::State* now, trainer_.state());
    return *now;
}

}  // namespace gym::python
