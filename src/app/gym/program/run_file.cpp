#include "program/run_file.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/program/cost.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kRecordBytesMax = 128;
constexpr std::uint64_t kHeaderBytesMax = 64 << 10;

}  // namespace

RunFile::RunFile(std::string path, unsigned threads)
    : path_(std::move(path)),
      threads_(threads),
      pace_(kSaveEvery, std::chrono::steady_clock::now()) {}

bool RunFile::exists() const {
    std::error_code ignored;
    return !path_.empty() && std::filesystem::exists(path_, ignored);
}

Result<engine::SavedRun> RunFile::load() const {
    GYM_TRY(const Bytes content, read_file(path_, engine::kStateBytesMax));
    if (!engine::is_saved_run(content))
        return fail(ErrorCode::kConflict,
                    path_ + " exists and is not the file of a run: choose another --state, start " +
                        "from it with --from, or pass --restart to overwrite it");
    auto run = engine::decode_saved_run(content, threads_);
    if (!run.ok())
        return run.error().in(path_ + " (choose another --state, or overwrite it with --restart)");
    return run;
}

Status RunFile::check_space(const program::Program& program, std::uint64_t steps) const {
    if (path_.empty()) return {};
    return check_free_space(
        path_, program::state_bytes(program) + steps * kRecordBytesMax + kHeaderBytesMax);
}

void RunFile::after_step(const engine::Trainer& trainer, const engine::SavedRun& run) {
    const auto begin = std::chrono::steady_clock::now();
    // The last step's result is written at once.
    if (path_.empty() || run.complete() || !pace_.due(begin)) return;
    const auto state = trainer.state();
    const Status saved = state.ok() ? save(run, **state) : Status(state.error());
    pace_.saved(begin, std::chrono::steady_clock::now());
    if (!saved.ok() && !refused_)
        (void)std::fprintf(stderr, "warning: the run's progress is not saved: %s\n",
                           saved.error().message.c_str());
    refused_ = !saved.ok();
}

Status RunFile::save(const engine::SavedRun& run, const engine::State& state) const {
    if (path_.empty()) return {};
    const engine::SavedRunParts file = engine::encode_saved_run(run, state, threads_);
    const std::array<ByteView, 2> parts{file.header, file.state};
    return write_file_atomic(path_, parts, 0644);
}

}  // namespace gym::app
