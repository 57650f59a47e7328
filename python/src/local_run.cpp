#include "local_run.hpp"

#include <array>
#include <chrono>
#include <filesystem>

#include "gym/common/file.hpp"
#include "gym/engine/divergence.hpp"
#include "gym/program/codec.hpp"

namespace gym::python {
namespace {

constexpr std::chrono::seconds kSaveEvery{30};
using Clock = std::chrono::steady_clock;

Status check_same(const std::string& file, const char* what, const Digest& has,
                  const Digest& wanted) {
    if (has == wanted) return {};
    return fail(ErrorCode::kConflict, file + " holds a run with another " + what +
                                          ": name another state_file, or overwrite it with "
                                          "train(again=True)");
}

/// Other steps are another program where a preset's schedule ends with them: what is in the file
/// need not be lost for it.
Status check_same_program(const std::string& file, const Digest& has, const Digest& wanted) {
    if (has == wanted) return {};
    return fail(ErrorCode::kConflict,
                file +
                    " holds a run with another program: the learning rate of a preset ends its "
                    "schedule at `steps`, so other steps make another program. To continue from "
                    "these weights, pass init=\"" +
                    file +
                    "\" and name another state_file; train(again=True) begins anew and overwrites "
                    "the run");
}

/// The run in the file, which has to be `wanted`'s.
Result<engine::SavedRun> load_run(const std::string& file, const engine::RunOrigin& wanted,
                                  std::uint32_t steps, unsigned threads) {
    GYM_TRY(const Bytes content, read_file(file, engine::kStateBytesMax));
    if (!engine::is_saved_run(content))
        return fail(ErrorCode::kConflict,
                    file + " exists and is not the file of a run: name another state_file");
    auto run = engine::decode_saved_run(content, threads);
    if (!run.ok()) return run.error().in(file);
    const engine::RunOrigin& has = run->origin;
    GYM_CHECK(check_same_program(file, has.program_root, wanted.program_root));
    GYM_CHECK(check_same(file, "dataset", has.dataset_root, wanted.dataset_root));
    GYM_CHECK(check_same(file, "seed", has.seed, wanted.seed));
    GYM_CHECK(check_same(file, "start", has.start_root, wanted.start_root));
    if (run->steps_done() > steps)
        return fail(ErrorCode::kInvalidArgument,
                    file + " has " + std::to_string(run->steps_done()) +
                        " steps, which is more than " + std::to_string(steps));
    return run;
}

Result<engine::SavedRun> begin_run(engine::State start, const engine::RunOrigin& origin,
                                   const LocalRunSpec& spec, unsigned threads) {
    std::error_code ignored;
    const bool continues = !spec.state_file.empty() && !spec.restart &&
                           std::filesystem::exists(spec.state_file, ignored);
    if (continues) return load_run(spec.state_file, origin, spec.steps, threads);
    engine::SavedRun run;
    run.origin = origin;
    run.state = std::move(start);
    return run;
}

}  // namespace

LocalRun::LocalRun(std::shared_ptr<const blob::Dataset> dataset, std::string state_file,
                   unsigned threads, engine::SavedRun run, engine::Trainer trainer)
    : dataset_(std::move(dataset)),
      state_file_(std::move(state_file)),
      threads_(threads),
      run_(std::move(run)),
      trainer_(std::move(trainer)),
      pace_(kSaveEvery, Clock::now()) {}

Result<std::unique_ptr<LocalRun>> LocalRun::create(const program::Program& program,
                                                   engine::State start,
                                                   std::shared_ptr<const blob::Dataset> dataset,
                                                   const LocalRunSpec& spec,
                                                   const engine::EngineOptions& options) {
    if (!spec.state_file.empty()) GYM_CHECK(check_writable(spec.state_file));
    const engine::RunOrigin origin{program::program_root(program), dataset->root(), spec.seed,
                                   engine::state_root(start, options.threads), 0};
    GYM_TRY(engine::SavedRun run, begin_run(std::move(start), origin, spec, options.threads));
    run.steps_wanted = spec.steps;
    const engine::TrainSpec train{{spec.seed, 0, 0}, spec.steps, 0, run.steps_done()};
    GYM_TRY(engine::Trainer trainer,
            engine::Trainer::create(program, std::move(run.state), *dataset, train, options));
    return std::unique_ptr<LocalRun>(new LocalRun(
        std::move(dataset), spec.state_file, options.threads, std::move(run), std::move(trainer)));
}

Result<engine::StepRecord> LocalRun::step() {
    const std::lock_guard lock(mutex_);
    GYM_TRY(engine::StepRecord record, trainer_.step());
    run_.records.push_back(record);
    const auto begin = Clock::now();
    if (!state_file_.empty() && !run_.complete() && pace_.due(begin) &&
        !engine::spoils_state(record)) {
        (void)save_locked();  // the end of the run says if it still cannot be saved
        pace_.saved(begin, Clock::now());
    }
    return record;
}

std::optional<std::string> LocalRun::divergence() const {
    const std::lock_guard lock(mutex_);
    if (run_.records.empty()) return std::nullopt;
    return engine::divergence(run_.records.back());
}

Status LocalRun::save() {
    const std::lock_guard lock(mutex_);
    if (!run_.records.empty() && engine::divergence(run_.records.back())) return {};
    return save_locked();
}

Status LocalRun::save_locked() {
    if (state_file_.empty()) return {};
    GYM_TRY(const engine::State* now, trainer_.state());
    const engine::SavedRunParts file = engine::encode_saved_run(run_, *now, threads_);
    const std::array<ByteView, 2> parts{file.header, file.state};
    return write_file_atomic(state_file_, parts, 0644);
}

Result<engine::StepRecord> LocalRun::record(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    if (index < run_.records.size()) return run_.records[index];
    return fail(ErrorCode::kOutOfRange, "step " + std::to_string(index) + " was not taken yet");
}

std::size_t LocalRun::records() const {
    const std::lock_guard lock(mutex_);
    return run_.records.size();
}

std::uint64_t LocalRun::steps_done() const {
    const std::lock_guard lock(mutex_);
    return run_.steps_done();
}

Result<engine::State> LocalRun::state() const {
    const std::lock_guard lock(mutex_);
    GYM_TRY(const engine::State* now, trainer_.state());
    return *now;
}

}  // namespace gym::python
