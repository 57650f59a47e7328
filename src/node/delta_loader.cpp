#include "gym/node/delta_loader.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gym/execution/run.hpp"
#include "gym/node/backoff.hpp"

namespace gym::node {
namespace {

std::string name_of(const DeltaRound& round, const game::OuterDelta& delta) {
    return "the delta of slot " + std::to_string(delta.slot) + " in round " +
           std::to_string(round.record.round);
}

Error wrong(const DeltaRound& round, const game::OuterDelta& delta, const Digest& computed) {
    return fail(ErrorCode::kMismatch, name_of(round, delta) + " has root " + delta.root.hex() +
                                          ", its unit gives " + computed.hex());
}

}  // namespace

DeltaLoader::Findings& DeltaLoader::begin(const DeltaRound& round) {
    const Digest hash = protocol::hash(round.record);
    const auto known = std::ranges::find(rounds_, hash, &Findings::round);
    if (known != rounds_.end()) {
        rounds_.splice(rounds_.begin(), rounds_, known);
        return rounds_.front();
    }
    rounds_.push_front({hash, {}, {}});
    if (rounds_.size() > kRoundsMax) rounds_.pop_back();
    return rounds_.front();
}

Status DeltaLoader::check_known(const DeltaRound& round, const game::OuterDelta& delta) {
    std::map<game::OuterDelta, Wrong>& all = begin(round).wrong;
    const auto known = all.find(delta);
    if (known == all.end()) return {};
    known->second.asked = true;
    return wrong(round, delta, known->second.computed);
}

Result<blob::VerifiedBlob> DeltaLoader::fetch(const DeltaRound& round,
                                              const game::OuterDelta& delta) {
    auto fetched = cache_.fetch(delta.root);
    std::map<Digest, unsigned>& tries = begin(round).tries;
    if (fetched.ok()) tries.erase(delta.root);
    if (fetched.ok() || !is_transient(fetched.error().code)) return fetched;
    if (++tries[delta.root] < kTriesMax) return fetched;
    return fail(ErrorCode::kNotFound,
                "requested " + std::to_string(kTriesMax) + " times: " + fetched.error().message);
}

Result<engine::Delta> DeltaLoader::open(const program::Program& train, const DeltaRound& round,
                                        const game::OuterDelta& delta) {
    GYM_CHECK(check_known(round, delta));
    GYM_TRY(auto reader, cache_.store().open_reader(delta.root));
    GYM_TRY(engine::Delta opened, engine::Delta::open(train, delta.root, std::move(reader)));
    GYM_CHECK(cache_.store().hold(delta.root));  // it is in use: BlobCache::remove_idle()
    begin(round).tries.erase(delta.root);
    return opened;
}

Result<blob::VerifiedBlob> DeltaLoader::load(const DeltaRound& round, const game::OuterDelta& delta,
                                             const DeltaRunOptions& options) {
    GYM_CHECK(check_known(round, delta));
    if (!round.inputs.dataset_blob) return cache_.fetch(delta.root);
    auto fetched = fetch(round, delta);
    if (fetched.ok() || is_transient(fetched.error().code)) return fetched;
    if (options.stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    spdlog::warn("{} cannot be had ({}): its unit is run again", name_of(round, delta),
                 fetched.error().message);
    return run_again(round, delta, options);
}

Result<blob::VerifiedBlob> DeltaLoader::run_again(const DeltaRound& round,
                                                  const game::OuterDelta& delta,
                                                  const DeltaRunOptions& options) {
    GYM_CHECK(check_known(round, delta));
    const protocol::SlotAssignment* const slot = round.record.find_slot(delta.slot);
    if (slot == nullptr)
        return fail(ErrorCode::kMismatch, name_of(round, delta) + ": the round has no such slot");
    GYM_TRY(const auto inputs, inputs_.load_train(round.record, *slot, round.inputs));
    engine::RunOptions run;
    run.engine = options.engine;
    run.progress = options.progress;
    run.cancel = options.stop;
    GYM_TRY(const execution::TrainRun again,
            execution::run_train(round.record, *slot, inputs, run));
    const blob::VerifiedBlob& made = again.result.delta;
    Findings& findings = begin(round);
    if (made.root() != delta.root) {
        findings.wrong.emplace(delta, Wrong{.computed = made.root()});
        return wrong(round, delta, made.root());
    }
    const Status kept = cache_.store().put(made);
    if (kept.ok())
        findings.tries.erase(delta.root);
    else
        spdlog::warn("{} is not kept, its unit is run once more when it is needed again: {}",
                     name_of(round, delta), kept.error().message);
    return made;
}

std::vector<WrongDelta> DeltaLoader::take_wrong(std::span<const Digest> records) {
    std::vector<WrongDelta> out;
    for (Findings& findings : rounds_) {
        if (std::ranges::find(records, findings.round) == records.end()) continue;
        for (auto& [delta, wrong] : findings.wrong) {
            if (!std::exchange(wrong.asked, false) || wrong.settled) continue;
            out.push_back(
                {findings.round, delta, wrong.computed, std::exchange(wrong.named, true)});
        }
    }
    return out;
}

void DeltaLoader::settle(const WrongDelta& wrong) {
    const auto round = std::ranges::find(rounds_, wrong.record, &Findings::round);
    if (round == rounds_.end()) return;
    const auto known = round->wrong.find(wrong.claimed);
    if (known != round->wrong.end()) known->second.settled = true;
}

}  // namespace gym::node
