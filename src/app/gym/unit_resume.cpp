#include "unit_resume.hpp"

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "gym/commit/sha256.hpp"
#include "gym/common/log.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kSaveEvery{30};

}  // namespace

UnitResume::UnitResume(std::filesystem::path folder, worker::CheckpointStore store,
                       const worker::CheckpointKey& key, unsigned threads)
    : folder_(std::move(folder)), store_(std::move(store)), key_(key), threads_(threads) {}

Result<UnitResume> UnitResume::open(const engine::UnitSpec& spec, const std::string& unit_file,
                                    unsigned threads) {
    GYM_CHECK(init_logging({"gym", "warn", ""}));
    const std::filesystem::path folder = unit_file + ".checkpoint";
    GYM_TRY(worker::CheckpointStore store, worker::CheckpointStore::open(folder));
    // One unit a folder: what tells units apart is the spec, which the store compares.
    const worker::CheckpointKey key{commit::sha256(as_bytes("gym unit run")), spec};
    UnitResume out{folder, std::move(store), key, threads};
    out.position_ = out.store_.load(key, threads);
    if (out.position_)
        (void)std::fprintf(stderr, "going on after step %zu of %u, saved in %s\n",
                           out.position_->records.size(), spec.steps, folder.c_str());
    return out;
}

void UnitResume::attach(engine::RunOptions& run, const std::stop_token& stop) {
    if (position_) run.resume = &*position_;
    plan_.emplace(store_, key_, kSaveEvery, stop, threads_);
    run.after_step = [this](const engine::Trainer& trainer, auto records) {
        plan_->after_step(trainer, records);
    };
}

Error UnitResume::explain(Error error) const {
    if (std::filesystem::exists(store_.path_of(key_.unit)))
        error.message += "; the same command goes on from " + folder_.string();
    else
        remove_folder();
    return error;
}

void UnitResume::finish() {
    store_.remove(key_.unit);
    remove_folder();
}

void UnitResume::remove_folder() const {
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored);
}

}  // namespace gym::app
