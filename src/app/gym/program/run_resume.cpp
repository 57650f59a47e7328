#include "program/run_resume.hpp"

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/log.hpp"
#include "program/run_file.hpp"

namespace gym::app {
RunResume::RunResume(std::filesystem::path folder, worker::CheckpointStore store,
                     const worker::CheckpointKey& key)
    : folder_(std::move(folder)), store_(std::move(store)), key_(key) {}

Result<RunResume> RunResume::open(std::string_view command, const engine::UnitSpec& spec,
                                  const std::string& output, unsigned threads) {
    GYM_CHECK(init_logging({"gym", "warn", ""}));
    const std::filesystem::path folder = output + ".checkpoint";
    GYM_TRY(worker::CheckpointStore store, worker::CheckpointStore::open(folder, nullptr));
    commit::Encoder name;
    name.string(command).fixed(worker::digest_of(spec));
    const worker::CheckpointKey key{commit::sha256(name.view()), spec};
    RunResume out{folder, std::move(store), key};
    out.position_ = out.store_.load(key, threads);
    if (out.position_)
        (void)std::fprintf(stderr, "resuming after step %zu of %u, saved in %s\n",
                           out.position_->records.size(), spec.steps, folder.c_str());
    return out;
}

void RunResume::save_until(const std::stop_token& stop) {
    plan_.emplace(store_, key_, kSaveEvery, stop);
}

void RunResume::after_step(const engine::Trainer& trainer,
                           std::span<const engine::StepRecord> records) {
    plan_->after_step(trainer, records);
}

void RunResume::attach(engine::RunOptions& run, const std::stop_token& stop) {
    run.resume = position();
    save_until(stop);
    run.after_step = [this](const engine::Trainer& trainer, auto records) {
        after_step(trainer, records);
    };
}

Error RunResume::explain(Error error) const {
    if (std::filesystem::exists(store_.path_of(key_.unit)))
        error.message += "; the same command resumes from " + folder_.string();
    else
        remove_folder();
    return error;
}

void RunResume::finish() {
    store_.remove(key_.unit);
    remove_folder();
}

void RunResume::remove_folder() const {
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored);
}

}  // namespace gym::app
