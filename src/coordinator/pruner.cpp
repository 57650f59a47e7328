#include "gym/coordinator/pruner.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "context.hpp"

namespace gym::coordinator {
namespace {

constexpr std::string_view kTryLock =
    "SELECT pg_try_advisory_xact_lock(hashtext('gym.coordinator.prune'), 0)";
constexpr std::size_t kBlobsPerQuestion = 1'024;
constexpr int kFirstBytes = 256;

}  // namespace

Result<PrunePass> Pruner::pass(const std::stop_token& stop) {
    PrunePass out;
    db::TransactOptions once;
    once.attempts_max = 1;
    // The transaction that holds the lock does nothing else. If it is lost, two passes at once do
    // no harm.
    const Status done = database_.transact(
        [&](db::Transaction& tx) -> Status {
            GYM_TRY(const db::Row row, tx.exec_one(kTryLock));
            out.alone = row.get<bool>(0);
            return out.alone ? pass_alone(stop, out) : Status();
        },
        once);
    if (out.rounds + out.blobs > 0)
        spdlog::info("retention: {} final rounds pruned, {} blobs of {} bytes erased", out.rounds,
                     out.blobs, out.bytes);
    else
        spdlog::debug("retention: nothing to erase among {} blobs", out.looked_at);
    GYM_CHECK(done);
    return out;
}

Status Pruner::pass_alone(const std::stop_token& stop, PrunePass& out) {
    GYM_CHECK(decide_rounds(out));
    std::vector<blob::StoredBlob> some;
    for (int i = 0; i < kFirstBytes; ++i) {
        if (stop.stop_requested() || out.looked_at >= kBlobsPerPassMax) break;
        GYM_TRY(const auto listed,
                blobs_.list_idle(next_, std::chrono::milliseconds(options_.grace_ms)));
        out.looked_at += listed.size();
        some.insert(some.end(), listed.begin(), listed.end());
        if (some.size() >= kBlobsPerQuestion) GYM_CHECK(sweep(std::exchange(some, {}), stop, out));
        ++next_;
    }
    return sweep(some, stop, out);
}

Status Pruner::decide_rounds(PrunePass& out) {
    GYM_TRY(
        const auto pruned,
        database_.transact([&](db::Transaction& tx) -> Result<std::vector<registry::PrunedRound>> {
            std::optional<registry::GameWatch> games;
            if (options_.dispute_game) {
                GYM_TRY(games, registry::find_game_watch(tx, *options_.dispute_game));
                // Nothing was read yet: every window may be open.
                if (!games) games = registry::GameWatch{*options_.dispute_game, 0, 0};
            }
            return registry::prune_rounds(tx, options_.retention, games, clock_.now_ms(),
                                          kRoundsPerPassMax);
        }));
    for (const registry::PrunedRound& round : pruned)
        spdlog::debug("retention: round {} of job {} is pruned{}", round.round,
                      short_id(round.job_id), round.keeps_state ? ", its base state stays" : "");
    out.rounds = pruned.size();
    rounds_pruned_ += pruned.size();
    return {};
}

Status Pruner::sweep(const std::vector<blob::StoredBlob>& idle, const std::stop_token& stop,
                     PrunePass& out) {
    GYM_TRY(const auto unneeded, give_up(idle));
    for (const blob::StoredBlob& blob : unneeded) {
        if (stop.stop_requested()) break;
        // Not if it was put or held since it was listed: then somebody is about to name it.
        GYM_TRY(const bool erased, blobs_.erase(blob));
        if (!erased) continue;
        ++out.blobs;
        out.bytes += blob.bytes;
        ++blobs_pruned_;
        bytes_pruned_ += blob.bytes;
    }
    return {};
}

Result<std::vector<blob::StoredBlob>> Pruner::give_up(std::span<const blob::StoredBlob> idle) {
    std::vector<Digest> roots;
    if (idle.empty()) return std::vector<blob::StoredBlob>();
    roots.reserve(idle.size());
    for (const blob::StoredBlob& blob : idle)
        if (claims_ == nullptr || !claims_->needs(blob.root)) roots.push_back(blob.root);
    GYM_CHECK(database_.transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(const auto named, registry::named_blobs(tx, roots));
        std::erase_if(roots, [&](const Digest& root) { return named.contains(root); });
        return registry::forget_uploads(tx, roots, clock_.now_ms() - options_.grace_ms);
    }));
    std::ranges::sort(roots);
    std::vector<blob::StoredBlob> out;
    for (const blob::StoredBlob& blob : idle)
        if (std::ranges::binary_search(roots, blob.root)) out.push_back(blob);
    return out;
}

}  // namespace gym::coordinator
